# SPDX-License-Identifier: Apache-2.0
"""Traces with one lie in them, which the judge must find.

An event is dropped, told twice, or told with another value, so that what is judged is not what it
was. Which one is drawn from a seed. Some lies are behaviours all the same: the replay, which shares
no code with TLC, says which.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from wakeproof.judge.trace_batch import Trace
from wakeproof.judge.trace_concept import Step, TraceConcept, cells
from wakeproof.judge.trace_events import Event, Round

DROPPED, TWICE, FLIPPED = "dropped", "told twice", "told with another value"
TRIES = 50
"""Draws per lie: many events are not judged, such as a choice of no consequence."""


def tampered(table: TraceConcept, rounds: Sequence[Round], count: int, seed: int) -> list[Trace]:
    """Return up to `count` traces of `rounds`, each with one lie, the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - the same lies again, no secret
    found: list[Trace] = []
    for _ in range(TRIES * count):
        one = draw.choice(rounds)
        thread = draw.choice([k for k, events in enumerate(one.threads) if events])
        index = draw.randrange(len(one.threads[thread]))
        how = (DROPPED, TWICE, FLIPPED)[len(found) % 3]
        lied = list(one.threads)
        lied[thread] = _lie(one.threads[thread], index, how)
        what = f"{table.concept.threads[thread]} {one.threads[thread][index]} {how}"
        try:
            lie = trace_of(table, Round(one.number, lied, one.returned), tampered=what)
        except (KeyError, IndexError):
            continue  # a value that no table has: no lie that anybody would believe
        if _judged(lie) != _judged(trace_of(table, one)):
            found.append(lie)
        if len(found) == count:
            break
    return found


def _judged(trace: Trace) -> list[list[tuple[Step, ...]]]:
    return [[cell.steps for cell in thread] for thread in trace.cells]


def trace_of(table: TraceConcept, one: Round, *, tampered: str = "") -> Trace:
    """Return a round's cells."""
    threads = tuple(
        tuple(cells(table, k, events, ends=one.returned[k])) for k, events in enumerate(one.threads)
    )
    return Trace(one.number, threads, tampered)


def _lie(events: Sequence[Event], index: int, how: str) -> list[Event]:
    event = events[index]
    put = {DROPPED: [], TWICE: [event, event], FLIPPED: [_flipped(event)]}[how]
    return [*events[:index], *put, *events[index + 1 :]]


def _flipped(event: Event) -> Event:
    other = 1 - event.result if event.result in (0, 1) else 0
    operand = other if event.operand == event.result else event.operand  # a store has both
    return replace(event, operand=operand, result=other, happened=not event.happened)
