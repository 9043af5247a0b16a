# SPDX-License-Identifier: Apache-2.0
"""Traces with one lie in them, which the judge must find.

An event is dropped, told twice, or told with another value: one that is a step of the spec, and not
its thread's last, after which nobody would miss it. Which one is drawn from a seed. A few of these
are behaviours all the same: the replay, which shares no code with TLC, says which.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from wakeproof.errors import JudgeError
from wakeproof.judge.trace_batch import Trace
from wakeproof.judge.trace_concept import Step, TraceConcept, cells
from wakeproof.judge.trace_events import Event, Round

DROPPED, TWICE, FLIPPED = "dropped", "told twice", "told with another value"
TRIES = 50
"""Draws per lie: some change nothing that is judged, or tell of a value that no table has."""


def tampered(table: TraceConcept, rounds: Sequence[Round], count: int, seed: int) -> list[Trace]:
    """Return up to `count` traces of `rounds`, each with one lie, the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - the same lies again, no secret
    found: list[Trace] = []
    for _ in range(TRIES * count):
        if len(found) == count:
            break
        one = draw.choice(rounds)
        told = trace_of(table, one)
        thread = draw.randrange(len(one.threads))
        events = _steps(told, thread)[:-1]
        if not events:
            continue
        how, event = (DROPPED, TWICE, FLIPPED)[len(found) % 3], draw.choice(events)
        lied = list(one.threads)
        lied[thread] = _lie(one.threads[thread], event, how)
        what = f"{table.concept.threads[thread]} {event} {how}"
        try:
            lie = trace_of(table, Round(one.number, lied, one.returned), tampered=what)
        except (JudgeError, IndexError):
            continue
        if _judged(lie) != _judged(told):
            found.append(lie)
    return found


def _steps(trace: Trace, thread: int) -> list[Event]:
    """Return the events of a thread that are steps of the spec."""
    cells_of = trace.cells[thread]
    return [c.event for c in cells_of if c.event and any(step.action for step in c.steps)]


def _judged(trace: Trace) -> list[list[tuple[Step, ...]]]:
    return [[cell.steps for cell in thread] for thread in trace.cells]


def trace_of(table: TraceConcept, one: Round, *, tampered: str = "") -> Trace:
    """Return a round's cells.

    Raises:
        JudgeError: an event's site, or a value in it, is none that the table knows.
    """
    try:
        threads = tuple(
            tuple(cells(table, k, events, ends=one.returned[k]))
            for k, events in enumerate(one.threads)
        )
    except KeyError as error:
        raise JudgeError(
            f"{table.name}: round {one.number}: judge/trace_maps knows no {error}; what is new in "
            "kernel or scenario must be told to the table"
        ) from error
    return Trace(one.number, threads, tampered)


def _lie(events: Sequence[Event], event: Event, how: str) -> list[Event]:
    index = next(n for n, one in enumerate(events) if one.end == event.end)
    put = {DROPPED: [], TWICE: [events[index]] * 2, FLIPPED: [_flipped(events[index])]}[how]
    return [*events[:index], *put, *events[index + 1 :]]


def _flipped(event: Event) -> Event:
    other = 1 - event.result if event.result in (0, 1) else 0
    operand = other if event.operand == event.result else event.operand  # a store has both
    return replace(event, operand=operand, result=other, happened=not event.happened)
