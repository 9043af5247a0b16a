# SPDX-License-Identifier: Apache-2.0
"""The evidence of a proof: what is kept, that z3 repeats it, and that lying steps prove nothing."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command

from wakeproof.judge.process import Children
from wakeproof.judge.prove import evidence
from wakeproof.judge.prove import run as judge
from wakeproof.judge.prove.solvers import Answer, Solver

from .toys import written

HEAD = """(set-logic ALL)
(declare-sort Text 0)
(declare-sort Thread 0)
(declare-fun |in| (Thread) Bool)
(declare-fun |saw| (Thread Thread) Bool)
(declare-fun |me| () Thread)
"""
CHAIN = (
    HEAD
    + """(assert (forall ((t!0 Thread)) (exists ((t!1 Thread)) (|saw| t!0 t!1))))
(assert (forall ((t!2 Thread)) (forall ((t!3 Thread)) (=> (|saw| t!2 t!3) (|in| t!3)))))
(assert (forall ((t!4 Thread)) (not (|in| t!4))))
(check-sat)
"""
)
"""Somebody sees another, who is therefore in; but nobody is in."""

OPEN = (
    HEAD
    + """(assert (exists ((t!0 Thread)) (|in| t!0)))
(assert (not (|in| |me|)))
(check-sat)
"""
)
"""A text that a state satisfies: another thread than `me` is in."""


@pytest.fixture
def solvers() -> Iterator[dict[str, Solver]]:
    with Children() as children, Solver("z3", children) as z3, Solver("cvc5", children) as cvc5:
        yield {"z3": z3, "cvc5": cvc5}


def ground(solvers: dict[str, Solver], text: str, steps: Any) -> Answer:
    return solvers["z3"].ask(text, 20, wants="ground", steps=steps)


def steps_of(solvers: dict[str, Solver], text: str) -> dict[str, Any]:
    found = solvers["cvc5"].ask(text, 20, wants="proof")
    assert found.answer == "unsat"
    assert found.proof
    return dict(found.steps)


def test_the_archive_holds_for_each_formula_a_proof_and_a_ground_text_that_solvers_refute(
    tmp_path: Path, solvers: dict[str, Solver]
) -> None:
    (proof,) = judge.prove_own(written(tmp_path), folder=tmp_path / "kept").proofs
    assert proof.kept is not None
    assert proof.obligations == proof.kept.formulas == proof.kept.proofs == proof.kept.ground
    with zipfile.ZipFile(proof.kept.file) as archive:
        index = json.loads(archive.read("index.json"))
        assert index["claims"] == ["Exclusive"]
        assert len(index["formulas"]) == proof.obligations
        for row in index["formulas"]:
            text = archive.read(f"{row['file']}.ground.smt2").decode()
            assert "forall" not in text
            assert "exists" not in text
            assert b":rule" in archive.read(f"{row['file']}.cpc")
            assert solvers["cvc5"].ask("(set-logic ALL)\n" + text).answer == "unsat"
            assert f"; {row['formula']}" in archive.read(f"{row['file']}.smt2").decode()
    assert list((tmp_path / "kept").iterdir()) == [Path(proof.kept.file)]


def test_z3_repeats_the_steps_and_none_of_them_can_be_left_out(solvers: dict[str, Solver]) -> None:
    steps = steps_of(solvers, CHAIN)
    assert ground(solvers, CHAIN, steps).answer == "unsat"
    assert steps["instances"]
    assert steps["names"]
    for kind in ("instances", "names"):
        assert ground(solvers, CHAIN, steps | {kind: []}).answer == "sat", kind


def test_an_instance_of_another_thread_does_not_refute(solvers: dict[str, Solver]) -> None:
    steps = steps_of(solvers, CHAIN)
    others = [(formula, ["|me|"] * len(terms)) for formula, terms in steps["instances"]]
    assert ground(solvers, CHAIN, steps | {"instances": others}).answer == "sat"


NAMED = {"kind": "other than", "names": ["|name 0|"],
         "formula": "(forall ((t!0 Thread)) (not (|in| t!0)))"}  # fmt: skip


def lying(**steps: Any) -> dict[str, Any]:
    return {"constants": [("|name 0|", "Thread")], "names": [], "instances": [], "rewrites": [],
            **steps}  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        # the name of what is known: it would follow that `me` is in
        (lying(names=[NAMED | {"names": ["|me|"]}]), "NotNewError: no new names: me"),
        # one name for two things
        (lying(names=[NAMED, {"kind": "equal", "names": ["|name 0|"], "formula": "|me|"}]),
         "NotNewError: no new names: name 0"),
        # a name that means something by itself
        (lying(names=[{"kind": "equal", "names": ["|name 0|"],
                       "formula": "(ite (= |name 0| |me|) |me| |name 0|)"}]),
         "NotNewError: no new names: name 0"),
        # an instance of what holds for some
        (lying(instances=[("(exists ((t!0 Thread)) (|in| t!0))", ["|me|"])]),
         "ValueError: no formula about all"),
    ],
)  # fmt: skip
def test_a_step_that_does_not_follow_is_refused(
    steps: dict[str, Any], why: str, solvers: dict[str, Solver]
) -> None:
    found = ground(solvers, OPEN, steps)
    assert found.answer == "unknown"
    assert found.why.startswith(why)


@pytest.mark.parametrize(
    "equality",
    [
        "(= (exists ((t!0 Thread)) (|in| t!0)) (forall ((t!1 Thread)) (|in| t!1)))",
        "(= (exists ((t!0 Thread)) (|in| t!0)) (|in| |me|))",
    ],
)
def test_a_rewrite_that_z3_does_not_prove_is_left_out(
    equality: str, solvers: dict[str, Solver]
) -> None:
    steps = lying(rewrites=[equality], instances=[("(forall ((t!1 Thread)) (|in| t!1))", ["|me|"])])
    found = ground(solvers, OPEN, steps)
    assert (found.answer, found.lost) == ("sat", 1)


def test_an_interrupt_leaves_no_part_of_an_archive(
    tmp_path: Path, solvers: dict[str, Solver], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> Answer:
        raise KeyboardInterrupt

    monkeypatch.setattr(evidence, "_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evidence.keep(tmp_path, "Toy", (), (), solvers["z3"], solvers["cvc5"], 20)
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_is_kept(wakeproof: Command, tmp_path: Path) -> None:
    ended = wakeproof("prove", str(written(tmp_path)), "--evidence", str(tmp_path / "kept"))
    assert ended.returncode == 0, ended.stderr
    assert "z3 refutes" in ended.stdout
    ended = wakeproof("prove", str(written(tmp_path)), "--evidence", str(written(tmp_path)))
    assert ended.returncode == 2
    assert len(ended.stderr.strip().splitlines()) == 1
    assert "Toy.tla: it is a file" in ended.stderr
