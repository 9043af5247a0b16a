# SPDX-License-Identifier: Apache-2.0
"""`wakeproof prove`: both solvers, what breaks a proof, and what proves nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Command

from wakeproof import locations
from wakeproof.judge.process import Children
from wakeproof.judge.prove import run as judge
from wakeproof.judge.prove import subjects
from wakeproof.judge.prove.command import counted
from wakeproof.judge.prove.run import Broken, ProveReport
from wakeproof.judge.prove.solvers import Solver
from wakeproof.judge.prove.subjects import TwinOf
from wakeproof.judge.tlc import models
from wakeproof.judge.verdicts import Rows

from .toys import problem, written

pytestmark = pytest.mark.slow  # each test starts SANY and solvers

TRIVIAL = "(set-logic ALL)(declare-fun p () Bool)(assert p)(assert (not p))(check-sat)"


def test_both_solvers_prove_a_right_lock_for_any_number_of_threads(tmp_path: Path) -> None:
    (proof,) = judge.prove_own(written(tmp_path)).proofs
    assert proof.verdict == "proved"
    assert proof.obligations > proof.paths > 0
    assert proof.conjuncts == (
        "IndTypes", "HolderIsIn", "LineWaits", "LineIsDistinct", "IndInv",
    )  # fmt: skip


@pytest.mark.parametrize("place", ["wait", "holder"])  # which is a variable's name, too
def test_a_wrong_lock_is_shown_by_the_step_that_breaks_a_conjunct(
    place: str, tmp_path: Path
) -> None:
    file = written(tmp_path)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"wait"', f'"{place}"'), encoding="utf-8")
    config = file.with_suffix(".cfg")
    config.write_text(config.read_text(encoding="utf-8").replace("right", "wrong"), "utf-8")
    (proof,) = judge.prove_own(file).proofs
    assert proof.verdict.startswith("not proved")
    (failed,) = (one for one in proof.failures if one.conjunct == "HolderIsIn")
    assert failed.has_example
    assert failed.step.startswith("Take(t")
    changed = {name: (old, new) for name, old, new in failed.changes}
    old, new = changed["holder"]
    assert old != new
    assert old.startswith("t")  # another thread
    assert new.startswith("t")


def test_what_no_state_satisfies_proves_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, ("Threads # {}", "Threads # {} /\\ Threads = {}"))
    (proof,) = judge.prove_own(file).proofs
    assert proof.verdict.startswith("says nothing: no state is known")


def test_a_solver_that_dies_gives_no_answer_and_the_next_text_is_asked_anew() -> None:
    with Children() as children, Solver("z3", children) as solver:
        assert solver.ask(TRIVIAL).answer == "unsat"
        child = solver._child
        assert child is not None
        children.kill(child)
        assert solver.ask(TRIVIAL).answer == "unknown"
        assert solver.ask(TRIVIAL).answer == "unsat"


@pytest.mark.parametrize("name", ["z3", "cvc5"])
def test_a_solver_that_cannot_read_a_text_does_not_know(name: str) -> None:
    with Children() as children, Solver(name, children) as solver:
        answer = solver.ask("(assert nonsense)(check-sat)")
        assert answer.answer == "unknown"
        assert answer.why


def test_each_twin_of_a_proved_claim_breaks_the_proof_at_more_than_a_type() -> None:
    found = judge.prove("^BiasedLock")
    assert found.holds, found
    assert {twin.name for twin in found.twins if twin.breaks} == {
        "BiasedLock_no_cas", "BiasedLock_no_wait", "BiasedLock_stealer_retries",
        "BiasedLock_stealer_waits",
    }  # fmt: skip
    assert {twin.name for twin in found.twins if not twin.is_addressed} == {
        "BiasedLock_lazy_stealer", "BiasedLock_owner_cas"
    }  # fmt: skip
    assert all(failed.changes for twin in found.twins for failed in twin.failures)


def test_a_twin_must_break_more_than_a_type(tmp_path: Path) -> None:
    with Children() as children, Solver("z3", children) as z3, Solver("cvc5", children) as cvc5:
        work = judge._Work(children, z3, cvc5, Rows())
        right = problem(written(tmp_path), children)
        twin = TwinOf("any", "Exclusive", right.subject, "")

        def broken(old: str, new: str) -> Broken:
            wrong = problem(written(tmp_path, (old, new)), children)
            return judge._broken(work, "Toy_any", twin, wrong, right.digests)

        counts = broken("taken < 2", "taken < 3")
        assert (counts.verdict, counts.holds) == ("breaks no more than a type", False)
        assert [(one.conjunct, one.is_type) for one in counts.failures] == [("IndTypes", True)]
        takes = broken('Mode = "right" => holder = None', "TRUE")
        assert (takes.verdict, takes.holds) == ("breaks HolderIsIn", True)


def test_a_twin_without_an_answer_is_not_decided_and_not_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "TWIN_S", 0.001)  # no solver answers in this time
    with Children() as children, Solver("z3", children) as z3, Solver("cvc5", children) as cvc5:
        work = judge._Work(children, z3, cvc5, Rows())
        right = problem(written(tmp_path), children)
        wrong = problem(written(tmp_path, ('Mode = "right" => holder = None', "TRUE")), children)
        twin = TwinOf("any", "Exclusive", right.subject, "")
        found = judge._broken(work, "Toy_any", twin, wrong, right.digests)
    assert found.verdict == "not decided: no solver found a counterexample in 0.001 s a formula"
    assert not found.holds
    assert ProveReport((found,), 1.0).verdict == "1 not decided"
    lost = Broken("Toy_other", "Exclusive", "the proof holds all the same")
    assert ProveReport((found, lost), 1.0).verdict == "1 WRONG, 1 not decided"


def test_what_was_judged_is_counted_in_words() -> None:
    assert counted(1, 1) == "1 proof, 1 twin that must break it"
    assert counted(2, 4) == "2 proofs, 4 twins that must break them"
    assert counted(1, 0) == "1 proof, 0 twins that must break it"


def test_every_twin_of_a_proved_module_is_addressed_or_says_why() -> None:
    specs = locations.sources() / "specs"
    for table in models.tables(specs):
        own = subjects.of_table(table)
        for twin in subjects.twins(table, own) if own else ():
            assert (twin.subject is None) == bool(twin.why)
            claim = any(twin.claim in subject.claims for subject in own)
            assert claim == (twin.subject is not None), (table.module, twin.defect, twin.why)


def test_answers_of_one_solver_alone_are_shown_as_such() -> None:
    assert judge._verdict([], {"z3"}) == "proved by z3 alone"
    assert judge._verdict([], set()) == "proved"


def test_the_command_proves_a_module_of_ones_own(wakeproof: Command, tmp_path: Path) -> None:
    ended = wakeproof("prove", str(written(tmp_path)), "--json")
    assert ended.returncode == 0, ended.stderr
    (proof,) = json.loads(ended.stdout)["proofs"]
    assert proof["verdict"] == "proved"
    assert proof["claims"] == ["Exclusive"]
