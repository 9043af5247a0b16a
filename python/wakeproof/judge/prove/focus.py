# SPDX-License-Identifier: Apache-2.0
"""A weaker text that is easier to refute: what holds before a step, at the elements of the goal.

A hypothesis such as "for each carrier there is a thread that ..." gives a solver a new thread for
each carrier that it is used for, and this thread may be a carrier again: the solver chooses
instances without end.  Most proofs need such a hypothesis only for the elements of which the goal
speaks.  So the goal's elements get names first, and the hypothesis is replaced by its instances at
these names.  All other hypotheses stay as they are.

An instance follows from its hypothesis.  So if no state satisfies the weaker text, then none
satisfies the whole one.  The reverse does not hold: that the weaker text can be satisfied says
nothing, and the whole text must be asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from wakeproof.judge.prove import smt
from wakeproof.judge.prove.smt import THREAD, Term


def opened(goal: Iterable[Term]) -> tuple[list[Term], list[Term]]:
    """Return formulas whose outer "there is" are replaced by names, and the names.

    Args:
        goal: formulas that are asserted: the negation of what must be proved, for one.
    """
    numbers = itertools.count()
    names: list[Term] = []

    def parts(term: Term, is_positive: bool) -> Iterator[Term]:
        match term.op:
            case "not":
                yield from parts(term.arguments[0], not is_positive)
            case "and" | "or" if (term.op == "and") is is_positive:
                for one in term.arguments:
                    yield from parts(one, is_positive)
            case "=>" if not is_positive:
                yield from parts(term.arguments[0], True)
                yield from parts(term.arguments[1], False)
            case "exists" | "forall" if (term.op == "exists") is is_positive:
                name = smt.made(f"element of the goal {next(numbers)}", term.arguments[0].sort)
                names.append(name)
                yield from parts(
                    smt.replaced(term.arguments[-1], term.arguments[0], name), is_positive
                )
            case _:
                yield term if is_positive else smt.negation(term)

    return [part for one in goal for part in parts(one, True)], names


def at_names(hypothesis: Term, names: Sequence[Term]) -> Term:
    """Return a hypothesis, or its instances at `names` if it says that something exists for each.

    Args:
        hypothesis: what holds before the step.
        names: the elements of the goal.
    """
    if not makes_elements(hypothesis):
        return hypothesis
    match hypothesis.op:
        case "and":
            return smt.conjunction(at_names(one, names) for one in hypothesis.arguments)
        case "=>":
            left, right = hypothesis.arguments
            return smt.implication(left, at_names(right, names))
        case "or":
            return smt.disjunction(at_names(one, names) for one in hypothesis.arguments)
        case "forall" if hypothesis.arguments[0].sort == THREAD:
            variable, body = hypothesis.arguments[0], hypothesis.arguments[-1]
            return smt.conjunction(
                at_names(smt.replaced(body, variable, one), names)
                for one in names
                if one.sort == THREAD
            )
    return hypothesis


@cache
def makes_elements(term: Term, is_positive: bool = True, below: bool = False) -> bool:
    """Say whether a "there is" stands below a "for all" of threads, in what is asserted."""
    match term.op:
        case "forall" | "exists":
            for_all = (term.op == "forall") is is_positive
            if not for_all and below:
                return term.arguments[0].sort == THREAD
            is_wide = for_all and term.arguments[0].sort == THREAD
            return makes_elements(term.arguments[-1], is_positive, below or is_wide)
        case "not":
            return makes_elements(term.arguments[0], not is_positive, below)
        case "=>":
            left, right = term.arguments
            return makes_elements(left, not is_positive, below) or makes_elements(
                right, is_positive, below
            )
        case "ite" | "=":
            return any(
                makes_elements(one, sign, below)
                for one in term.arguments if one.sort == smt.BOOL
                for sign in (True, False)
            )  # fmt: skip
        case _:
            return any(makes_elements(one, is_positive, below) for one in term.arguments)
