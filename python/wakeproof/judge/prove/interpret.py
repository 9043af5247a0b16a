# SPDX-License-Identifier: Apache-2.0
"""Finite models: evaluates terms, and makes concrete values of TLA+ of symbolic ones.

There are two uses.  A counterexample of a solver is shown in values of TLA+.  And the states of
TLC are put into the very terms that a proof uses, to compare the steps that these allow with those
that TLC takes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wakeproof.errors import JudgeError
from wakeproof.judge.prove import smt
from wakeproof.judge.prove.evaluate import Selection
from wakeproof.judge.prove.paths import Chosen, Open, Path
from wakeproof.judge.prove.shapes import (
    Function,
    Mixed,
    Names,
    Plain,
    Record,
    Sequence,
    Shape,
    Threads,
    Tuple,
)
from wakeproof.judge.prove.smt import BOOL, INT, TEXT, THREAD, Term
from wakeproof.judge.prove.values import (
    AnySet,
    FunctionSet,
    FunctionValue,
    NumberOrThread,
    PowerSet,
    ProductSet,
    RecordSet,
    RecordValue,
    SequenceSet,
    SequenceValue,
    SetValue,
    UnionSet,
    Value,
)

Table = dict[tuple[str, tuple[Any, ...]], Any]
"""The value of each function of logic for each list of arguments."""
_DEFAULTS: Mapping[str, Any] = {BOOL: False, INT: 0, TEXT: "", THREAD: ""}


@dataclass
class Model:
    """A finite interpretation: the threads, and what each function is."""

    threads: tuple[str, ...]
    table: Table
    selections: Mapping[str, Selection] = field(default_factory=dict)

    def evaluate(self, term: Term, meaning: Mapping[Term, Any] | None = None) -> Any:
        """Return the value of a term; `meaning` has its free and chosen variables.

        Raises:
            JudgeError: a quantifier ranges over all numbers.
        """
        return _evaluate(self, term, meaning or {})

    def range(
        self, sort: str, within: tuple[Term, Term] | None, meaning: Mapping[Term, Any]
    ) -> Iterator[Any]:
        """Yield what a variable may be."""
        if sort == THREAD:
            yield from self.threads
        elif sort == BOOL:
            yield from (False, True)
        elif sort == INT and within is not None:
            low, high = (self.evaluate(one, meaning) for one in within)
            yield from range(low, high + 1)
        else:
            raise JudgeError(f"a quantifier over all of {sort} has no finite model")

    def concrete(self, value: Value, meaning: Mapping[Term, Any] | None = None) -> Any:
        """Return a value as plain data, as `dot.value` reads what TLC prints."""
        meaning = meaning or {}
        match value:
            case Term():
                return self.evaluate(value, meaning)
            case NumberOrThread():
                is_number = self.evaluate(value.is_number, meaning)
                return self.evaluate(value.number if is_number else value.thread, meaning)
            case SetValue():
                return frozenset(self._elements(value, meaning))
            case FunctionValue():
                pairs = (
                    (at, value.at(_constant(at))) for at in self._elements(value.domain, meaning)
                )
                return {at: self.concrete(one, meaning) for at, one in pairs} or ()
            case RecordValue():
                return {name: self.concrete(one, meaning) for name, one in value.fields.items()}
            case SequenceValue():
                length = self.evaluate(value.length, meaning)
                places = (smt.integer(at + 1) for at in range(length))
                return tuple(self.concrete(value.at(at), meaning) for at in places)
        raise JudgeError(f"a {type(value).__name__} has no concrete value")

    def _elements(self, found: SetValue, meaning: Mapping[Term, Any]) -> Iterator[Any]:
        for one in found.generators:
            if not one.sort:
                if self.evaluate(one.guard(smt.TRUE), meaning):
                    yield self.concrete(one.value(smt.TRUE), meaning)
                continue
            for element in self.range(one.sort, one.within, meaning):
                term = _constant(element)
                if self.evaluate(one.guard(term), meaning):
                    yield self.concrete(one.value(term), meaning)

    def elements(self, found: AnySet, meaning: Mapping[Term, Any] | None = None) -> Iterator[Any]:
        """Yield the elements of a set.

        Raises:
            JudgeError: it has infinitely many.
        """
        meaning = meaning or {}
        match found:
            case SetValue():
                yield from self._elements(found, meaning)
            case PowerSet():
                base = list(self.elements(found.base, meaning))
                for size in range(len(base) + 1):
                    yield from map(frozenset, itertools.combinations(base, size))
            case FunctionSet():
                domain = list(self._elements(found.domain, meaning))
                for chosen in itertools.product(self.elements(found.range, meaning),
                                                repeat=len(domain)):  # fmt: skip
                    yield dict(zip(domain, chosen, strict=True)) or ()
            case RecordSet():
                parts = (self.elements(one, meaning) for one in found.fields.values())
                for chosen in itertools.product(*parts):
                    yield dict(zip(found.fields, chosen, strict=True))
            case ProductSet():
                yield from itertools.product(*(self.elements(one, meaning) for one in found.parts))
            case UnionSet():
                for one, test in zip(found.parts, found.tests, strict=True):
                    if self.evaluate(test, meaning):
                        yield from self.elements(one, meaning)
            case SequenceSet():
                raise JudgeError("a set of sequences has no finite model")

    def successors(self, path: Path) -> Iterator[dict[str, Any]]:
        """Yield the states to which a path leads."""
        for meaning in self._choices(path.chosen, {}):
            for model in self._filled(path.open, meaning):
                if all(model.evaluate(guard, meaning) for guard in path.guards):
                    yield {name: model.concrete(one, meaning) for name, one in path.next.items()}

    def _choices(
        self, chosen: tuple[Chosen, ...], meaning: dict[Term, Any]
    ) -> Iterator[dict[Term, Any]]:
        if not chosen:
            yield meaning
            return
        one, *others = chosen
        for value in self.range(one.term.sort, one.within, meaning):
            yield from self._choices(tuple(others), {**meaning, one.term: value})

    def _filled(self, left: tuple[Open, ...], meaning: Mapping[Term, Any]) -> Iterator[Model]:
        """Yield the model with each way to choose the values that a path leaves open."""
        if not left:
            yield self
            return
        one, *others = left
        for value in self.elements(one.among, meaning):
            table = dict(self.table)
            fill(table, one.shape, one.name, value)
            yield from replace(self, table=table)._filled(tuple(others), meaning)

    def selected(self, selection: Selection, meaning: Mapping[Term, Any]) -> list[Any]:
        """Return the items of a SelectSeq."""
        places = range(1, self.evaluate(selection.length, meaning) + 1)
        inner = [{**meaning, selection.place: at} for at in places]
        passing = [one for one in inner if self.evaluate(selection.passes, one)]
        return [self.evaluate(selection.item, one) for one in passing]


def _constant(value: Any) -> Term:
    if isinstance(value, bool):
        return smt.boolean(value)
    return smt.integer(value) if isinstance(value, int) else smt.string(value, THREAD)


def _evaluate(model: Model, term: Term, meaning: Mapping[Term, Any]) -> Any:
    if term in meaning:
        return meaning[term]
    arguments = term.arguments
    match term.op:
        case "true" | "false":
            return term.op == "true"
        case "int":
            return int(term.name)
        case "string":
            return term.name
        case "and":
            return all(_evaluate(model, one, meaning) for one in arguments)
        case "or":
            return any(_evaluate(model, one, meaning) for one in arguments)
        case "not":
            return not _evaluate(model, arguments[0], meaning)
        case "=>":
            left = _evaluate(model, arguments[0], meaning)
            return not left or _evaluate(model, arguments[1], meaning)
        case "ite":
            chosen = 1 if _evaluate(model, arguments[0], meaning) else 2
            return _evaluate(model, arguments[chosen], meaning)
        case "forall" | "exists":
            variable, *within, body = arguments
            bounds = (within[0], within[1]) if within else None
            found = (
                _evaluate(model, body, {**meaning, variable: one})
                for one in model.range(variable.sort, bounds, meaning)
            )
            return all(found) if term.op == "forall" else any(found)
    given = tuple(_evaluate(model, one, meaning) for one in arguments)
    match term.op:
        case "=":
            return given[0] == given[1]
        case "+":
            return given[0] + given[1]
        case "-":
            return given[0] - given[1]
        case "*":
            return given[0] * given[1]
        case "<":
            return given[0] < given[1]
        case "<=":
            return given[0] <= given[1]
        case "bound":
            raise JudgeError(f"{term.name} is bound by no quantifier")
    if (term.name, given) in model.table:
        return model.table[term.name, given]
    if term.op == "made" and term.name.startswith("selected "):
        return _selected(model, term, given, meaning)
    return _DEFAULTS[term.sort]


def _selected(model: Model, term: Term, given: tuple[Any, ...], meaning: Mapping[Term, Any]) -> Any:
    _, name, *part = term.name.split(" ")
    if name not in model.selections:
        return _DEFAULTS[term.sort]
    items = model.selected(model.selections[name], meaning)
    if part == ["length"]:
        return len(items)
    return items[given[0] - 1] if 1 <= given[0] <= len(items) else _DEFAULTS[term.sort]


def fill(
    table: Table, shape: Shape, name: str, value: Any, arguments: tuple[Any, ...] = ()
) -> None:
    """Put a concrete value of a variable into a table, as `shapes.declared` names its functions."""
    match shape:
        case Plain():
            table[name, arguments] = value
        case Mixed():
            is_number = isinstance(value, int)
            table[f"{name} is a number", arguments] = is_number
            table[f"{name} number" if is_number else f"{name} thread", arguments] = value
        case Threads():
            table.update({(f"{name} has", (*arguments, one)): True for one in value})
        case Names():
            table.update({(f"{name} has {one}", arguments): True for one in value})
        case Function():
            for at, one in value.items() if isinstance(value, dict) else enumerate(value, 1):
                fill(table, shape.result, name, one, (*arguments, at))
        case Record():
            for part, inner in shape.fields.items():
                fill(table, inner, f"{name}.{part}", value[part], arguments)
        case Sequence():
            table[f"{name} length", arguments] = len(value)
            for at, one in enumerate(value, 1):
                fill(table, shape.item, name, one, (*arguments, at))
        case Tuple():
            for at, (inner, one) in enumerate(zip(shape.items, value, strict=True), 1):
                fill(table, inner, f"{name}[{at}]", one, arguments)
