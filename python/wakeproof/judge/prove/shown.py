# SPDX-License-Identifier: Apache-2.0
"""Shows a counterexample to induction in values of TLA+: a state, a step, and what it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wakeproof.judge.prove import smt
from wakeproof.judge.prove.interpret import Model, Table
from wakeproof.judge.prove.obligations import Obligation, Problem
from wakeproof.judge.prove.paths import described
from wakeproof.judge.prove.smt import TEXT, THREAD, Declared
from wakeproof.judge.prove.solvers import Answer

_LONGEST = 8
"""The items of a sequence that a solver's model is asked for (`solver_child.NUMBERS`)."""


@dataclass(frozen=True)
class Failure:
    """An obligation that is not proved, and the state in which it fails, if one was found."""

    what: str
    conjunct: str
    is_type: bool
    answer: str  # "sat": there is a counterexample; "unknown": no solver knows
    step: str = ""  # "Claim(p1)"
    before: tuple[tuple[str, str], ...] = ()  # each variable and its value
    changes: tuple[tuple[str, str, str], ...] = ()  # what changes, from, to

    @property
    def has_example(self) -> bool:
        """Say whether a state is known in which the step breaks the conjunct."""
        return self.answer == "sat"


def failure(problem: Problem, obligation: Obligation, answer: Answer) -> Failure:
    """Return why an obligation is not proved."""
    found = Failure(obligation.what, obligation.conjunct, obligation.is_type, answer.answer)
    if not answer.universes and not answer.functions:
        return found
    model, threads = _model(problem, obligation.printer.symbols, answer)
    path = obligation.path
    at_first = path is not None and path in problem.initial
    state = path.next if path is not None and at_first else problem.state
    before = {name: model.concrete(value) for name, value in state.items()}
    changes: list[tuple[str, str, str]] = []
    if path is not None and not at_first:
        for name, value in path.next.items():
            if value is not problem.state[name]:
                changes += _changes(name, before[name], model.concrete(value), threads)
    meaning = {
        term: tla(model.evaluate(term), threads)
        for term in smt.subterms(path.guards if path else ())
        if term.op == "made" and not term.arguments and term.sort == THREAD
    }
    return Failure(
        found.what, found.conjunct, found.is_type, found.answer,
        described(obligation.call, meaning),
        tuple((name, tla(value, threads)) for name, value in before.items()), tuple(changes),
    )  # fmt: skip


def _model(
    problem: Problem, symbols: Mapping[str, Declared], answer: Answer
) -> tuple[Model, frozenset[str]]:
    """Return the solver's model, and the names of the threads that are no strings."""
    functions = {name.strip("|"): rows for name, rows in answer.functions.items()}
    names: dict[str, str] = {}
    for printed, declared in symbols.items():
        rows = functions.get(printed.strip("|"))
        if declared.is_string and rows:
            names[rows[0][1]] = declared.name
    threads = []
    for number, element in enumerate(answer.universes.get(THREAD, []), 1):
        if element not in names:
            names[element] = f"{_letter(problem, functions, element)}{number}"
            threads.append(names[element])
    for number, element in enumerate(answer.universes.get(TEXT, []), 1):
        names.setdefault(element, f"other string {number}")
    table: Table = {}
    for printed, declared in symbols.items():
        for arguments, value in () if declared.is_string else functions.get(printed.strip("|"), ()):
            known = tuple(names.get(one, one) for one in arguments)
            table[declared.name, known] = names.get(value, value)
            if declared.name.endswith(" length"):
                table[declared.name, known] = min(value, _LONGEST)
    universe = tuple(names[one] for one in answer.universes.get(THREAD, []))
    return Model(universe, table), frozenset(threads)


def _letter(problem: Problem, functions: Mapping[str, list[list[Any]]], element: str) -> str:
    """Return the first letter of a constant set that the thread is in: p of Producers."""
    for name in sorted(problem.subject.sets):
        if [[element], True] in functions.get(name, []):
            return name[0].lower()
    return "x"


def _changes(
    name: str, before: Any, after: Any, threads: frozenset[str]
) -> Iterator[tuple[str, str, str]]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key, value in before.items():
            yield from _changes(f"{name}[{tla(key, threads)}]", value, after[key], threads)
    else:
        yield name, tla(before, threads), tla(after, threads)


def tla(value: Any, threads: frozenset[str] = frozenset()) -> str:
    """Return a value as TLA+ writes it; `threads` are model values, all other names are strings."""
    match value:
        case bool():
            return str(value).upper()
        case str():
            return value if value in threads else f'"{value}"'
        case frozenset():
            return "{" + ", ".join(sorted(tla(one, threads) for one in value)) + "}"
        case tuple():
            return "<<" + ", ".join(tla(one, threads) for one in value) + ">>"
        case dict():
            pairs = [(key, tla(one, threads)) for key, one in value.items()]
            if all(isinstance(key, str) and key.isidentifier() and key not in threads
                   for key, _ in pairs):  # fmt: skip
                return "[" + ", ".join(f"{key} |-> {one}" for key, one in pairs) + "]"
            return "(" + " @@ ".join(f"{tla(key, threads)} :> {one}" for key, one in pairs) + ")"
    return str(value)
