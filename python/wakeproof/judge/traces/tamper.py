# SPDX-License-Identifier: Apache-2.0
"""Traces with one lie in them, which the judge must find.

A lie drops a step of the spec, repeats it, moves it past a step of another thread on the same
place, or changes the value of an event. The last event of a thread is never changed, because no
later event would contradict the lie. A seed decides which event is changed. A few traces with a lie
are still behaviours of the spec; the replay, which shares no code with TLC, finds these.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wakeproof.judge.traces.batch import Trace, is_known
from wakeproof.judge.traces.concept import Cell, TraceConcept, cells, unexplained
from wakeproof.judge.traces.events import Event, Round

DROPPED, TWICE, FLIPPED, MOVED = KINDS = (
    "dropped", "told twice", "told with another value", "moved past another"
)  # fmt: skip
TRIES = 200
"""Draws per lie: some change nothing that is judged, or are found without TLC."""


@dataclass
class Lies:
    """The lies that were drawn, and those that TLC is to judge."""

    traces: list[Trace] = field(default_factory=list)
    unseen: Counter[str] = field(default_factory=Counter)  # kind -> changed nothing that is judged
    by_table: Counter[str] = field(default_factory=Counter)  # kind -> found without the spec


def tampered(table: TraceConcept, rounds: Sequence[Round], count: int, seed: int) -> Lies:
    """Return up to `count` traces of each kind, each with one lie, the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - the same lies again, no secret
    lies = Lies()
    for kind in KINDS:
        for _ in range(TRIES * count):
            if sum(trace.lie == kind for trace in lies.traces) == count:
                break
            one = draw.choice(rounds)
            told = trace_of(table, one)
            lie = _lie(table, one, told, kind, draw)
            if lie is None:
                continue
            if (_steps(lie), lie.needs) == (_steps(told), told.needs):
                lies.unseen[kind] += 1
            elif not is_known(table, lie):
                lies.by_table[kind] += 1
            else:
                lies.traces.append(lie)
    return lies


def trace_of(table: TraceConcept, one: Round, *, lie: str = "", tampered: str = "") -> Trace:
    """Return a round's cells; if the round is wrong under any spec, the reason comes first."""
    threads = [cells(table, k, e, ends=one.returned[k]) for k, e in enumerate(one.threads)]
    why = table.wrong(one)
    if why:
        k = next(k for k, events in enumerate(one.threads) if events)
        threads[k].insert(0, unexplained(one.threads[k][0], why))
    return Trace(one.number, tuple(map(tuple, threads)), tampered, lie)


def _lie(
    table: TraceConcept, one: Round, told: Trace, kind: str, draw: random.Random
) -> Trace | None:
    """Return the trace with a lie of this kind in a random thread, if that thread allows one."""
    thread = draw.randrange(len(one.threads))
    events = one.threads[thread][:-1] if kind == FLIPPED else _events(told.cells[thread])[:-1]
    if not events:
        return None
    event = draw.choice(events)
    what = f"{table.concept.threads[thread]} {event} {kind}"
    if kind == FLIPPED:
        flipped = _with(one, thread, event, _flipped(event))
        return trace_of(table, flipped, lie=kind, tampered=what)
    put = [] if kind == DROPPED else [event, event]
    if kind == MOVED:
        past = _past(told, thread, event)
        if not past:
            return None
        after = draw.choice(past)
        what = f"{what}: {after}"
        put = [replace(event, begin=after.end + 0.25, end=after.end + 0.5)]
        moved = _with(one, thread, event, put[0])
        if table.wrong(moved):
            return trace_of(table, moved, lie=kind, tampered=what)
    own = _retold(told.cells[thread], event, put)
    lied = (*told.cells[:thread], own, *told.cells[thread + 1 :])
    return Trace(one.number, lied, what, kind)


def _with(one: Round, thread: int, event: Event, other: Event) -> Round:
    """Return the round with another event in place of one."""
    own = [other if e is event else e for e in one.threads[thread]]
    return Round(one.number, [*one.threads[:thread], own, *one.threads[thread + 1 :]], one.returned)


def _retold(own: tuple[Cell, ...], event: Event, put: list[Event]) -> tuple[Cell, ...]:
    """Return the cells of a thread, with one event's cells repeated for each event in `put`."""
    its = [cell for cell in own if cell.event is event]
    index = own.index(its[0])
    new = [replace(cell, event=other) for other in put for cell in its]
    return (*own[:index], *new, *own[index + len(its) :])


def _past(told: Trace, thread: int, event: Event) -> list[Event]:
    """Return the other threads' events at the same place before the thread's next event."""
    begins = [cell.event.begin for cell in told.cells[thread] if cell.event]
    until = min((begin for begin in begins if begin > event.begin), default=0)
    return [
        other
        for k, of in enumerate(told.cells) if k != thread
        for other in _events(of)
        if event.end < other.begin and other.end < until and _conflict(event, other)
    ]  # fmt: skip


def _conflict(one: Event, other: Event) -> bool:
    """Return whether two accesses of a place differ in what they read or wrote."""
    calls = one.site.startswith("futex") or other.site.startswith("futex")
    return one.place == other.place >= 0 and not calls and _did(one) != _did(other)


def _did(event: Event) -> tuple[int, int]:
    return event.operand if event.happened else 0, event.result


def _events(own: Sequence[Cell]) -> list[Event]:
    """Return the events of a thread that are steps of the spec."""
    found = [c.event for c in own if c.event and any(step.action for step in c.steps)]
    return [event for n, event in enumerate(found) if not n or event is not found[n - 1]]


def _steps(trace: Trace) -> list[list[object]]:
    return [[cell.steps for cell in thread] for thread in trace.cells]


def _flipped(event: Event) -> Event:
    other = 1 - event.result if event.result in (0, 1) else 0
    operand = other if event.operand == event.result else event.operand  # a store has both
    return replace(event, operand=operand, result=other, happened=not event.happened)
