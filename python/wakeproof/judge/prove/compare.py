# SPDX-License-Identifier: Apache-2.0
"""The text that is proved is the text that is checked: the translation's steps against TLC's.

The translation must begin in the initial states of TLC's dump of a small configuration, in all of
them and in no others.  Each state of the dump is put into the terms of the proof: from each the
paths must lead to the states to which TLC goes, to all of them and to no others, and each conjunct
of the invariant must be true.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from wakeproof.judge.prove.interpret import Model, Table, fill
from wakeproof.judge.prove.obligations import Problem
from wakeproof.judge.prove.shapes import Function, Plain, Record, Sequence, Shape, Threads
from wakeproof.judge.prove.smt import THREAD
from wakeproof.judge.tlc import dot
from wakeproof.judge.tlc.dot import StateGraph


def differences(problem: Problem, constants: Mapping[str, str], graph: StateGraph) -> Iterator[str]:
    """Yield in which states the translation and TLC differ, in words; nothing if they agree."""
    values = {name: dot.value(text) for name, text in constants.items()}
    free = {name: value for name, value in values.items() if name not in problem.subject.modes}
    states = [graph.state(number) for number in range(len(graph.texts))]
    threads = {one for value in free.values() if isinstance(value, frozenset) for one in value}
    for state in states:
        for name, shape in problem.shapes.items():
            threads |= set(_threads(shape, state[name]))
    universe = tuple(sorted(threads))
    known = {_frozen(state): number for number, state in enumerate(states)}
    after: dict[int, set[int]] = defaultdict(set)
    for source, target, _ in graph.edges:
        after[source].add(target)
    nowhere = Model(universe, _constants(free), problem.evaluator.selections)
    first = set()
    for path in problem.initial:
        for state in nowhere.successors(path):
            found = known.get(_frozen(state))
            if found in graph.starts:
                first.add(found)
            else:
                yield f"TLC does not begin in {state}"
    for number in set(graph.starts) - first:
        yield f"the translation does not begin in {graph.texts[number]}"
    for number, state in enumerate(states):
        model = Model(universe, _table(problem, free, state), problem.evaluator.selections)
        where = f"state {number}: {graph.texts[number]}"
        for conjunct, holds in zip(problem.conjuncts, _conjuncts(problem), strict=True):
            if not model.evaluate(holds):
                yield f"{where}: {conjunct.name} is false"
        mine: set[int] = set()
        for path in problem.paths:
            for successor in model.successors(path):
                found = known.get(_frozen(successor))
                if found is None or found not in after[number]:
                    action = path.action.name if path.action else ""
                    yield f"{where}: TLC does not take {action} to {successor}"
                else:
                    mine.add(found)
        for target in after[number] - mine:
            yield f"{where}: the translation does not go to {graph.texts[target]}"


def _conjuncts(problem: Problem) -> Iterator[Any]:
    yield from problem.before[len(problem.before) - len(problem.conjuncts) :]


def _constants(free: Mapping[str, Any]) -> Table:
    table: Table = {}
    for name, value in free.items():
        if isinstance(value, frozenset):
            table.update({(name, (one,)): True for one in value})
        else:
            table[name, ()] = value
    return table


def _table(problem: Problem, free: Mapping[str, Any], state: Mapping[str, Any]) -> Table:
    table = _constants(free)
    for name, shape in problem.shapes.items():
        fill(table, shape, name, state[name])
    return table


def _threads(shape: Shape, value: Any) -> Iterator[str]:
    """Yield the threads in a value."""
    match shape:
        case Plain(sort=sort):
            if sort == THREAD:
                yield value
        case Threads(sort=sort):
            if sort == THREAD:
                yield from value
        case Function():
            for at, one in value.items() if isinstance(value, dict) else ():
                if shape.sort == THREAD:
                    yield at
                yield from _threads(shape.result, one)
        case Record():
            for name, part in shape.fields.items():
                yield from _threads(part, value[name])
        case Sequence():
            for one in value:
                yield from _threads(shape.item, one)


def _frozen(value: Any) -> Any:
    """Return a value as one that can be a key; a function without a domain is the empty tuple."""
    if isinstance(value, Mapping):
        return frozenset((key, _frozen(one)) for key, one in value.items()) or ()
    if isinstance(value, tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, frozenset):
        return frozenset(map(_frozen, value)), "set"
    return value
