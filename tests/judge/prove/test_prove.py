# SPDX-License-Identifier: Apache-2.0
"""`wakeproof prove`: both solvers, what breaks a proof, and what proves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.conftest import Command
from tests.support.running import run

from wakeproof import locations
from wakeproof.judge import store
from wakeproof.judge.process import Children, LostChildError
from wakeproof.judge.prove import run as judge
from wakeproof.judge.prove import smt, solvers, subjects
from wakeproof.judge.prove.command import counted
from wakeproof.judge.prove.obligations import Focused, Obligation, Problem
from wakeproof.judge.prove.run import Broken, Proof, ProveReport
from wakeproof.judge.prove.smt import Printer
from wakeproof.judge.prove.solvers import Answer, Solver
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


def test_a_solver_that_is_killed_is_replaced_once() -> None:
    with Children() as children, Solver("z3", children) as solver:
        assert solver.ask(TRIVIAL).answer == "unsat"
        children.kill(solver._started())
        assert solver.ask(TRIVIAL).answer == "unsat"


def test_a_solver_that_is_killed_again_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with Children() as children, Solver("z3", children) as solver:
        start = solver._started
        killed = []

        def killing() -> subprocess.Popen[str]:
            killed.append(start())
            children.kill(killed[-1])
            return killed[-1]

        monkeypatch.setattr(solver, "_started", killing)
        with pytest.raises(LostChildError) as raised:
            solver.ask(TRIVIAL)
        assert f"(pid {killed[1].pid}) was killed" in str(raised.value)
        assert len(killed) == 2
        monkeypatch.undo()
        assert solver.ask(TRIVIAL).answer == "unsat"


def test_a_solver_that_is_late_is_killed_and_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers, "_LATE_S", 0.0)
    with Children() as children, Solver("z3", children) as solver:
        os.kill(solver._started().pid, signal.SIGSTOP)
        assert solver.ask(TRIVIAL, 0.2).answer == "unknown"
        assert solver._child is None
        monkeypatch.undo()
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
    monkeypatch.setattr(judge, "TWIN_S", 0.001)
    monkeypatch.setattr(Solver, "ask", lambda *_, **__: Answer("unknown"))  # in this time
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


class Scripted:
    """A solver that answers texts as a test says, whatever they say."""

    def __init__(self, name: str, **answers: str) -> None:
        self.name, self.answers = name, answers

    def ask(self, text: str, _timeout_s: float = 20, *, wants: str = "") -> Answer:
        kind = "core" if text == smt.reduced(FOCUSED, [0]) else KINDS[text]
        return Answer(self.answers.get(kind, "unknown"), 1.0, core=[0] if wants == "core" else ())


class Weaker:
    """The weaker texts of an obligation: with all hypotheses, and with `hint` alone."""

    def text(self, names: Collection[str] | None = None) -> str:
        return FOCUSED if names is None else f"(assert {' '.join(names)})"

    def rests(self, core: Sequence[int]) -> list[str]:
        return [f"hypothesis {number}" for number in core]


FOCUSED = "(assert a)\n(assert b)"
KINDS = {
    FOCUSED: "focused", "(assert whole)": "whole", "(assert hint)": "hint",
    "(assert hypothesis 0)": "rests",
}  # fmt: skip


def obligation(*, is_focused: bool = True) -> Obligation:
    def printer(script: str) -> Printer:
        made = Printer()
        made.text = lambda: script  # type: ignore[method-assign]
        return made

    focus = cast("Focused", Weaker()) if is_focused else None
    return Obligation("it holds", "It", False, None, None, printer("(assert whole)"), focus)


@pytest.mark.parametrize(
    ("answers", "hint", "verdict", "seconds", "rests"),
    [
        ({"focused": "unsat", "whole": "sat"}, None, "unsat", 1, ["hypothesis 0"]),
        # of a weaker text "sat" says nothing
        ({"focused": "sat", "whole": "unsat"}, None, "unsat", 2, []),
        ({"focused": "sat", "whole": "unknown"}, None, "unknown", 2, []),
        ({"focused": "unknown", "whole": "sat"}, None, "sat", 2, []),
        ({"hint": "unsat", "focused": "sat", "whole": "sat"}, ["hint"], "unsat", 1, ["hint"]),
        ({"hint": "sat", "focused": "unsat"}, ["hint"], "unsat", 2, ["hypothesis 0"]),
        ({"hint": "sat", "focused": "sat", "whole": "sat"}, ["hint"], "sat", 3, []),
    ],
)
def test_only_that_no_state_satisfies_a_weaker_text_decides(
    answers: dict[str, str], hint: list[str] | None, verdict: str, seconds: float,
    rests: list[str],
) -> None:  # fmt: skip
    work = SimpleNamespace(z3=Scripted("z3", **answers))
    found, on = judge._by_z3(work, obligation(), hint, 20)  # type: ignore[arg-type]
    assert (found.answer, found.seconds, on) == (verdict, seconds, rests)


@pytest.mark.parametrize(
    ("answers", "rests", "verdict"),
    [
        ({"rests": "unsat", "focused": "sat"}, ["hypothesis 0"], "unsat"),
        ({"rests": "sat", "focused": "unsat"}, ["hypothesis 0"], "unsat"),
        ({"rests": "sat", "focused": "sat"}, ["hypothesis 0"], "unknown"),
        ({"focused": "unsat"}, [], "unsat"),
    ],
)
def test_what_z3_rests_on_decides_only_if_cvc5_refutes_it(
    answers: dict[str, str], rests: list[str], verdict: str
) -> None:
    work = SimpleNamespace(cvc5=Scripted("cvc5", **answers))
    assert judge._by_cvc5(work, obligation(), rests, 20).answer == verdict  # type: ignore[arg-type]


@pytest.mark.parametrize("is_focused", [True, False])
@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ({"core": "unsat", "whole": "sat"}, "unsat"),
        ({"core": "sat", "whole": "unknown"}, "unknown"),  # z3 has left out too much
        ({"core": "sat"}, "unknown"),
    ],
)
def test_a_core_of_z3_decides_only_if_cvc5_refutes_it(
    answers: dict[str, str], verdict: str, is_focused: bool
) -> None:
    work = SimpleNamespace(z3=Scripted("z3"), cvc5=Scripted("cvc5", **answers))
    asked = obligation(is_focused=is_focused)
    if not is_focused:
        asked = replace(asked, printer=SimpleNamespace(text=lambda: FOCUSED))
    found = judge._by_core(work, asked, Answer("unsat"), Answer("unknown"), 20)  # type: ignore[arg-type]
    assert found.answer == verdict


def test_solvers_that_contradict_one_another_prove_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Solver.ask

    def lying(self: Solver, *arguments: Any, **options: Any) -> Answer:
        found = real(self, *arguments, **options)
        return replace(found, answer="sat") if self.name == "cvc5" else found

    monkeypatch.setattr(Solver, "ask", lying)
    (proof,) = judge.prove_own(written(tmp_path)).proofs
    assert proof.verdict.startswith("z3 and cvc5 contradict one another: ")
    assert not proof.holds


def test_a_formula_that_both_have_refuted_is_not_asked_again_and_a_changed_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_folder", lambda: tmp_path / "judged")
    monkeypatch.setenv(store.FRESH, "")
    asked: list[str] = []

    def counting(name: str) -> None:
        real = getattr(judge, name)

        def counted(*arguments: Any) -> Any:
            asked.append(name)
            return real(*arguments)

        monkeypatch.setattr(judge, name, counted)

    counting("_by_z3")
    counting("_by_cvc5")

    def proved(conjunct: str) -> Proof:
        asked.clear()
        file = written(tmp_path, ("taken >= 0", conjunct))
        with Children() as children, Solver("z3", children) as z3, Solver("cvc5", children) as cvc5:
            work = judge._Work(children, z3, cvc5, Rows())
            return judge._judged(work, problem(file, children), 20)

    first = proved("taken >= 0")
    assert first.verdict == "proved"
    assert len(asked) == 2 * first.obligations
    again = proved("taken >= 0")
    assert asked == []
    assert (again.verdict, again.z3_s) == (first.verdict, first.z3_s)
    other = proved("taken # 3")  # of which no state is reached either
    assert other.verdict == "proved"
    assert len(asked) > 0
    broken = proved("taken # 2")
    assert broken.verdict.startswith("not proved")
    proved("taken # 2")
    assert asked, "what is not refuted is asked again"


DIGESTS = """
from wakeproof import locations
from wakeproof.judge.process import Children
from wakeproof.judge.prove import modules, subjects
from wakeproof.judge.prove.obligations import Problem
from wakeproof.judge.tlc import models

specs = locations.sources() / "specs"
((_, subject),) = subjects.every(specs, "^Carrier$")
with Children() as children:
    problem = Problem(modules.read(models.folder(specs) / "Carrier.tla", children), subject)
    print(*(one.digest for one in problem.obligations()))
"""


def test_a_formula_has_the_same_text_in_every_process() -> None:
    # Carrier names several strings beside threads; a set of them has another order in each process.
    printed = [run([sys.executable, "-c", DIGESTS], PYTHONHASHSEED=seed) for seed in "12"]
    assert len(printed[0].stdout.split()) > 100, printed[0].stderr
    assert printed[0].stdout == printed[1].stdout


def test_the_lock_takes_all_proofs_or_none(wakeproof: Command, tmp_path: Path) -> None:
    for option in (("-t", "Parker"), ("--no-twins",), (str(written(tmp_path)),)):
        ended = wakeproof("prove", "--lock", *option)
        assert ended.returncode == 2
        assert "--lock is for all proofs and twins" in ended.stderr


def test_a_twin_is_asked_again_only_if_a_formula_of_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_folder", lambda: tmp_path / "judged")
    monkeypatch.setenv(store.FRESH, "")
    twin = TwinOf("wrong", "Exclusive", None, "")
    file = written(tmp_path)
    with Children() as children, Solver("z3", children) as z3, Solver("cvc5", children) as cvc5:
        work = judge._Work(children, z3, cvc5, Rows())
        right = problem(file, children).digests
        defect = problem(file, children, mode="wrong")
        first = judge._broken(work, "Toy_wrong", twin, defect, right)
        assert first.breaks
        unused = judge._Work(children, None, None, Rows())  # type: ignore[arg-type]
        assert judge._broken(unused, "Toy_wrong", twin, defect, right) == first
        types = replace(defect.subject, types=("TypeOK", *(one.name for one in defect.conjuncts)))
        with pytest.raises(AttributeError):  # what broke would say only a type now
            judge._broken(unused, "Toy_wrong", twin, Problem(defect.module, types), right)
        with pytest.raises(AttributeError):  # another formula: a solver is needed
            judge._broken(unused, "Toy_wrong", twin, defect, right | {defect_of(defect, right)})


def defect_of(problem: Problem, right: frozenset[str]) -> str:
    return next(one.digest for one in problem.obligations() if one.digest not in right)
