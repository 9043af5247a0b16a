# SPDX-License-Identifier: Apache-2.0
"""The weaker text: every hypothesis implies its instances, and a goal's elements get names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wakeproof.judge.process import Children
from wakeproof.judge.prove import focus, smt
from wakeproof.judge.prove.smt import BOOL, INT, THREAD, Printer, Term
from wakeproof.judge.prove.solvers import Solver

X, Y = smt.bound("x", THREAD), smt.bound("y", THREAD)
A, B = (smt.symbol(name, THREAD) for name in "ab")
P = smt.symbol("p", BOOL)


def near(one: Term, other: Term) -> Term:
    return smt.symbol("near", BOOL, (one, other))


def awake(one: Term) -> Term:
    return smt.symbol("awake", BOOL, (one,))


def every(variable: Term, body: Term) -> Term:
    return smt.quantified("forall", variable, body, None)


def some(variable: Term, body: Term) -> Term:
    return smt.quantified("exists", variable, body, None)


WAKER = every(X, some(Y, near(X, Y)))
NOT_ALL = every(X, smt.negation(every(Y, near(X, Y))))
LATE = every(X, smt.implication(awake(X), some(Y, near(X, Y))))
EITHER = smt.disjunction((every(X, some(Y, near(X, Y))), every(X, awake(X))))
WHEN = smt.implication(P, WAKER)
EQUAL = every(X, smt.equal(awake(X), some(Y, near(X, Y))))
CHOICE = every(X, smt.choice(P, some(Y, near(X, Y)), every(Y, near(Y, X))))
SHAPES = (WAKER, NOT_ALL, LATE, EITHER, WHEN, EQUAL, CHOICE, smt.conjunction((LATE, NOT_ALL)))


def answer(*formulas: Term) -> str:
    printer = Printer()
    printer.add(formulas)
    with Children() as children, Solver("z3", children) as z3:
        return z3.ask(printer.text(), 20).answer


def strengthened(hypothesis: Term, names: list[Term]) -> Term:
    """A broken twin of at_names, which puts names in place of what exists, too."""
    if hypothesis.op in ("forall", "exists"):
        body = smt.replaced(hypothesis.arguments[-1], hypothesis.arguments[0], names[0])
        return strengthened(body, names)
    arguments = hypothesis.arguments
    if hypothesis.op == "=>":
        return smt.implication(arguments[0], strengthened(arguments[1], names))
    return hypothesis


@pytest.mark.parametrize("hypothesis", SHAPES, ids=map(str, range(len(SHAPES))))
def test_a_hypothesis_implies_its_instances(hypothesis: Term) -> None:
    weaker = focus.at_names(hypothesis, [A, B])
    assert weaker is not hypothesis
    assert not focus.makes_elements(weaker)
    assert answer(hypothesis, smt.negation(weaker)) == "unsat"


@pytest.mark.parametrize("hypothesis", [WAKER, LATE])
def test_a_twin_that_names_what_exists_is_stronger(hypothesis: Term) -> None:
    assert answer(hypothesis, smt.negation(strengthened(hypothesis, [A, B]))) == "sat"


@pytest.mark.parametrize(
    "hypothesis",
    [
        every(X, awake(X)), some(X, every(Y, near(X, Y))), smt.negation(some(X, awake(X))), P,
        every(smt.bound("i", INT), some(Y, awake(Y))),
    ],
)  # fmt: skip
def test_a_hypothesis_that_makes_no_elements_stays(hypothesis: Term) -> None:
    assert focus.at_names(hypothesis, [A]) is hypothesis


@pytest.mark.parametrize(
    ("goal", "elements"),
    [
        (lambda: smt.negation(WAKER), 1),
        (lambda: smt.negation(LATE), 1),
        (lambda: smt.conjunction((some(X, awake(X)), some(Y, near(Y, Y)))), 2),
        (lambda: smt.negation(smt.disjunction((every(X, awake(X)), P))), 1),
        (lambda: every(X, awake(X)), 0),
    ],
)
def test_what_a_goal_says_to_exist_gets_a_name(goal: Callable[[], Term], elements: int) -> None:
    opened, names = focus.opened([goal()])
    assert len(names) == elements
    both = smt.conjunction(opened)
    assert answer(goal()) == answer(both) == "sat"
    assert answer(both, smt.negation(goal())) == "unsat"  # a goal with names implies the goal


def test_a_step_that_needs_the_hypothesis_elsewhere_is_not_refuted_by_the_weaker_text() -> None:
    # Of the names of the goal alone nothing follows: the goal is about no element.
    goal = [smt.negation(P), every(X, every(Y, smt.negation(near(X, Y))))]
    opened, names = focus.opened(goal)
    assert names == []
    assert answer(WAKER, *goal) == "unsat"
    assert answer(focus.at_names(WAKER, names), *opened) == "sat"


def test_a_core_keeps_the_declarations_and_what_it_numbers() -> None:
    printer = Printer()
    printer.add([awake(A), smt.negation(awake(B)), smt.negation(awake(A)), P])
    script = printer.text()
    with Children() as children, Solver("z3", children) as z3:
        core = z3.ask(script, 20, wants="core").core
        assert core == [0, 2]
        assert z3.ask(smt.reduced(script, core), 20).answer == "unsat"
        assert z3.ask(smt.reduced(script, [0, 1, 3]), 20).answer == "sat"
