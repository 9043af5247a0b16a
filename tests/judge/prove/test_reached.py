# SPDX-License-Identifier: Apache-2.0
"""A twin that no solver decides: TLC walks to the first step that breaks the invariant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from wakeproof import locations
from wakeproof.judge.process import Children
from wakeproof.judge.prove import modules, reached, subjects
from wakeproof.judge.prove import run as judge
from wakeproof.judge.prove.obligations import Problem
from wakeproof.judge.prove.run import Broken
from wakeproof.judge.prove.solvers import Solver
from wakeproof.judge.tlc import models
from wakeproof.judge.verdicts import Rows

pytestmark = pytest.mark.slow  # each test starts SANY and TLC

SPECS = locations.sources() / "specs"
UNDECIDED = Broken("BiasedLock_no_wait", "BiasedLock!SingleConsumer", "?", is_decided=False)


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    with Children() as started:
        yield started


@pytest.fixture(scope="module")
def problem(children: Children) -> Problem:
    ((_, subject),) = subjects.every(SPECS, "^BiasedLock$")
    return Problem(modules.read(models.folder(SPECS) / "BiasedLock.tla", children), subject)


def broken(defect: str, names: tuple[str, ...], children: Children) -> reached.Failure | None:
    made = models.folder(SPECS)
    home = models.home(made, "BiasedLock", defect)
    config = home / f"MCBiasedLock{'_' * bool(defect)}{defect}.cfg"
    return reached.broken(home / "MCBiasedLock.tla", config, names, ["IndInv"], children, 120)


def test_the_first_step_that_breaks_a_conjunct_is_shown_with_what_it_changes(
    children: Children,
) -> None:
    found = broken("no_wait", ("SingleConsumer",), children)
    assert found is not None
    assert (found.conjunct, found.has_example, found.is_type) == ("SingleConsumer", True, False)
    assert found.what == f"{found.step} keeps SingleConsumer"
    before = dict(found.before)
    assert all(before[name] == old != new for name, old, new in found.changes)
    # Before the step one thread is inside; the step lets the other in.
    ((_, old, new),) = [one for one in found.changes if one[0] == "thread"]
    assert (old.count('"inside"'), new.count('"inside"')) == (1, 2)


def test_without_the_defect_no_step_breaks_one(children: Children, problem: Problem) -> None:
    names = tuple(one.name for one in problem.conjuncts if problem.module.has(one.name))
    assert len(names) > 3
    assert broken("", names, children) is None


def test_a_twin_that_the_solvers_leave_open_is_decided_by_the_state_that_tlc_reaches(
    children: Children, problem: Problem
) -> None:
    made = models.folder(SPECS)
    with Solver("z3", children) as z3, Solver("cvc5", children) as cvc5:
        work = judge._Work(children, z3, cvc5, Rows())
        home = models.home(made, "BiasedLock", "no_wait")
        found = judge._reached(work, UNDECIDED, problem, home, "BiasedLock")
        right = replace(UNDECIDED, name="BiasedLock")
        assert judge._reached(work, right, problem, made, "BiasedLock") is None
    assert found is not None
    assert found.verdict.startswith("breaks ")
    assert found.verdict.endswith(", in a state that TLC reaches")
    assert (found.is_decided, found.holds) == (True, True)


def test_what_takes_too_long_is_left_undecided(children: Children) -> None:
    made = models.folder(SPECS)
    found = reached.broken(
        made / "MCBiasedLock.tla", made / "MCBiasedLock.cfg", ("SingleConsumer",), (), children,
        0.05,
    )  # fmt: skip
    assert found is None


def test_a_step_that_breaks_no_more_than_a_type_decides_nothing(children: Children) -> None:
    assert broken("no_wait", (), children) is None  # IndInv is broken, and no conjunct is named
