# SPDX-License-Identifier: Apache-2.0
"""The hypotheses on which a step rests: a text with these alone is weaker, and is asked first."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge import store
from wakeproof.judge.process import Children
from wakeproof.judge.prove import hints, smt
from wakeproof.judge.prove import run as judge
from wakeproof.judge.prove.obligations import Focused, Problem
from wakeproof.judge.prove.run import Proof
from wakeproof.judge.prove.solvers import Solver
from wakeproof.judge.verdicts import Rows

from .toys import problem, written

pytestmark = pytest.mark.slow  # each test starts SANY and solvers

SOMEBODY = ("taken >= 0", r"\A t \in Threads : \E u \in Threads : pc[t] = pc[u]")
"""A conjunct that gives a solver a new thread for each thread."""


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    with Children() as started:
        yield started


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory, children: Children) -> Problem:
    return problem(written(tmp_path_factory.mktemp("toy"), SOMEBODY), children)


def assertions(text: str) -> Counter[str]:
    """Return the assertions without the numbers of names that the translator has made.

    That strings are distinct is one assertion for each pair of them.
    """
    found: Counter[str] = Counter()
    for line in text.split("\n"):
        if line.startswith(f"{smt.ASSERT}(distinct "):
            found.update(map(" ".join, itertools.combinations(sorted(line.split("|")[1::2]), 2)))
        elif line.startswith(smt.ASSERT):
            found[re.sub(r"(\|made |!)\d+", r"\1", line)] += 1
    return found


def test_a_text_with_some_hypotheses_asserts_no_more_than_the_whole(toy: Problem) -> None:
    asked = [one for one in toy.obligations() if one.focus]
    assert len(asked) > 10
    for one in asked:
        assert one.focus is not None
        whole = assertions(one.focused)
        for names in ([], ["HolderIsIn"], ["LineWaits", "type of pc"]):
            some = assertions(one.focus.text(names))
            assert some <= whole
            assert some < whole, one.what


class Stronger(Focused):
    """A broken twin: it adds a hypothesis that nobody has made."""

    def text(self, names: Collection[str] | None = None) -> str:
        return super().text(names).replace("(check-sat)", "(assert false)\n(check-sat)")


def test_a_twin_that_asserts_more_is_seen(toy: Problem) -> None:
    twin = Stronger(toy, [smt.TRUE])
    assert not assertions(twin.text([])) <= assertions(Focused(toy, [smt.TRUE]).text())


def test_what_a_step_rests_on_suffices_and_what_it_does_not_name_is_not_needed(
    toy: Problem, children: Children
) -> None:
    with Solver("z3", children) as z3, Solver("cvc5", children) as cvc5:
        (one,) = (one for one in toy.obligations() if one.what == "IndInv => Exclusive")
        assert one.focus is not None
        core = z3.ask(one.focused, wants="core").core
        rests = one.focus.rests(core)
        # Exclusive says that two threads in the lock are one: each of them is the holder.
        assert rests == ["HolderIsIn"]
        for solver in (z3, cvc5):
            assert solver.ask(one.focus.text(rests), 20).answer == "unsat"
        assert z3.ask(one.focus.text(["LineWaits"]), 20).answer == "sat"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep results in a folder of the test; give the solvers less time: no formula is hard."""
    monkeypatch.setattr(store, "_folder", lambda: tmp_path / "judged")
    monkeypatch.setenv(store.FRESH, "1")
    monkeypatch.setattr(judge, "RESTING_S", 0.5)


def proved(toy: Problem, children: Children, known: hints.Hints) -> tuple[Proof, int]:
    """Return the proof of the toy with these hints, and how many times z3 was asked."""
    asked = []

    class Counting(Solver):
        def ask(self, text, *arguments, **options):  # type: ignore[no-untyped-def]
            asked.append(text)
            return super().ask(text, *arguments, **options)

    with Counting("z3", children) as z3, Solver("cvc5", children) as cvc5:
        work = judge._Work(children, z3, cvc5, Rows(), hints={"Toy": known})
        return judge._judged(work, toy, 4), len(asked)


@pytest.mark.rotates
@pytest.mark.usefixtures("impatient")
def test_wrong_hints_cost_time_and_no_verdict(toy: Problem, children: Children) -> None:
    first, without = proved(toy, children, {})
    assert first.verdict == "proved"
    assert first.rests["IndInv => Exclusive"] == ["HolderIsIn"]
    again, right = proved(toy, children, first.rests)
    assert (again.verdict, again.rests) == ("proved", first.rests)
    assert right == without
    wrong = {what: ["LineWaits", "no such hypothesis"] for what in list(first.rests)[:4]}
    misled, many = proved(toy, children, wrong)
    assert misled.verdict == "proved"
    assert many > without


@pytest.mark.rotates
@pytest.mark.usefixtures("impatient")
def test_hints_do_not_prove_what_does_not_hold(children: Children, tmp_path: Path) -> None:
    wrong = problem(written(tmp_path, SOMEBODY), children, "wrong")
    known = {one.what: ["HolderIsIn"] for one in wrong.obligations()}
    found, _ = proved(wrong, children, known)
    assert found.verdict.startswith("not proved")
    assert {one.conjunct for one in found.failures} >= {"HolderIsIn"}


def test_the_file_keeps_what_was_not_asked_and_replaces_what_was(tmp_path: Path) -> None:
    assert hints.read(tmp_path) == {}
    hints.write(tmp_path, {"A": {"Go keeps It": ["It", "type of pc"], "Stay keeps It": ["It"]}})
    hints.write(tmp_path, {"A": {"Go keeps It": ["Other"]}, "B": {}})
    assert hints.read(tmp_path) == {
        "A": {"Go keeps It": ["Other"], "Stay keeps It": ["It"]}, "B": {},
    }  # fmt: skip
    assert hints.merged([{"a": ["x"]}, {"a": ["y", "x"]}]) == {"a": ["x", "y"]}


@pytest.mark.parametrize("text", ["", "[1]", '{"A": 1}', '{"A": {"Go": 1}}'])
def test_a_damaged_file_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / hints.NAME).write_text(text)
    with pytest.raises(UsageError, match=r"hints\.json: .*; `wakeproof prove --lock` writes it"):
        hints.read(tmp_path)


def test_hints_are_kept_for_a_slow_proof_and_for_one_that_has_some() -> None:
    def proof(module: str, seconds: float) -> Proof:
        return Proof(module, module, (), "proved", z3_s=seconds, rests={"Go keeps It": ["It"]})

    found = judge.ProveReport((proof("Slow", judge.SLOW_S + 1), proof("Quick", 1)), 0)
    assert list(found.hints()) == ["Slow"]
    assert list(found.hints({"Quick"})) == ["Quick", "Slow"]
