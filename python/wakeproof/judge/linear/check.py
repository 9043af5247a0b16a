# SPDX-License-Identifier: Apache-2.0
"""Checks that a sequential specification allows every history in a graph of states.

The search is breadth first over pairs of a state of the code and a state of the spec's automaton,
so the first return that it cannot explain ends a run of the smallest length.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass

from wakeproof.judge.conform.code import CHOOSE, Dump
from wakeproof.judge.linear.spec import CALL, RETURN, Automaton, Event, Spec


@dataclass(frozen=True)
class Row:
    """A step of a run: the thread, the text, and whether it is a call or return."""

    thread: int
    text: str
    is_event: bool


@dataclass(frozen=True)
class Checked:
    """The result of the check of one graph."""

    pairs: int  # of states of the code and of the automaton
    sets: int  # states of the automaton
    returned: dict[str, int]  # "pop 0" -> edges with that return
    counterexample: tuple[Row, ...]  # empty: every history is explained


def check(dump: Dump, spec: Spec) -> Checked:
    """Check every history of `dump`."""
    moves = Moves(dump)
    automaton = Automaton(spec, dump.threads)
    known = {0: [automaton.start]}  # state of the code -> least states of the automaton with it
    pairs = [(0, automaton.start)]
    parent = array("i", [-1])
    by: list[tuple[int, ...]] = [()]
    returned: Counter[str] = Counter()
    for number, (state, at) in enumerate(pairs):
        for edges in moves.out_of(state):
            event = moves.events[edges[0]]
            then = at
            if event is not None:
                then = automaton.after(at, event)
                if event.kind == RETURN:
                    returned[f"{event.operation} {event.number}"] += 1
                if then == Automaton.DEAD:
                    run = [*_way(number, parent, by), *edges]
                    rows = _rows(dump, run, moves.events)
                    return Checked(len(pairs), len(automaton), dict(returned), rows)
            target = dump.target[edges[-1]]
            if automaton.is_new(then, known.setdefault(target, [])):
                pairs.append((target, then))
                parent.append(number)
                by.append(edges)
    return Checked(len(pairs), len(automaton), dict(returned), ())


class Moves:
    """The moves that are sufficient for the check.

    Shorter intervals between call and return allow fewer orders.  So only the shortest intervals
    are checked: a return comes as early as it can, and a call as late as it can, together with the
    thread's next step.  A choice of the scenario is made immediately, as it touches no memory.
    """

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self.events = _events(dump)
        self._first = _offsets(dump)
        self._hasty = [
            {p for p, what in positions.items()
             if what.kind == CHOOSE or what.site.startswith(RETURN)}
            for positions in dump.positions
        ]  # fmt: skip
        self._known: dict[int, list[tuple[int, ...]]] = {}

    def out_of(self, state: int) -> list[tuple[int, ...]]:
        """Return the moves out of the state: the edges of each, one after the other."""
        found = self._known.get(state)
        if found is None:
            found = self._known[state] = self._moves(state)
        return found

    def _moves(self, state: int) -> list[tuple[int, ...]]:
        for thread in range(self.dump.threads):
            if self.dump.states[state][thread] in self._hasty[thread]:
                return [(edge,) for edge in self._steps(state, thread)]
        moves: list[tuple[int, ...]] = []
        for edge in range(self._first[state], self._first[state + 1]):
            event = self.events[edge]
            then = self._steps(self.dump.target[edge], event.thread) if event else []
            # A mark is a move of its own: the automaton sees one event per move.
            moves += [(edge, after) for after in then if not self.events[after]] or [(edge,)]
        return moves

    def _steps(self, state: int, thread: int) -> list[int]:
        return [
            edge for edge in range(self._first[state], self._first[state + 1])
            if self.dump.thread[edge] == thread and not self.dump.is_drain[edge]
        ]  # fmt: skip


def _events(dump: Dump) -> list[Event | None]:
    """Return for each edge the call or return that it is; None: another step."""
    marks: list[dict[int, Event]] = [{} for _ in range(dump.threads)]
    for thread, positions in enumerate(dump.positions):
        for position, what in positions.items():
            kind, _, operation = what.site.partition(" ")
            if kind in (CALL, RETURN):
                marks[thread][position] = Event(kind, thread, operation, what.operand)
    return [
        None if is_drain else marks[thread].get(dump.states[source][thread])
        for source, thread, is_drain in zip(dump.source, dump.thread, dump.is_drain, strict=True)
    ]


def _offsets(dump: Dump) -> list[int]:
    """Return the first edge of each state: they are in the order of their states."""
    first = [0] * (len(dump.states) + 1)
    for source in dump.source:
        first[source + 1] += 1
    for state in range(len(dump.states)):
        first[state + 1] += first[state]
    return first


def _way(number: int, parent: array[int], by: list[tuple[int, ...]]) -> list[int]:
    edges: list[int] = []
    while parent[number] >= 0:
        edges[:0] = by[number]
        number = parent[number]
    return edges


def _rows(dump: Dump, run: list[int], events: list[Event | None]) -> tuple[Row, ...]:
    rows = []
    for edge in run:
        event = events[edge]
        thread = dump.thread[edge]
        site = dump.at(dump.source[edge]).pending(thread).site
        text = f"[{site}] {dump.value[edge]}"
        if dump.is_drain[edge]:
            text = f"(a store reaches memory: {dump.value[edge]})"
        if event:
            sign = "" if event.kind == CALL else "-> "
            text = f"{event.kind} {event.operation} {sign}{event.number}"
        rows.append(Row(thread, text, event is not None))
    return tuple(rows)
