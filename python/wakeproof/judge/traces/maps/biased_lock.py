# SPDX-License-Identifier: Apache-2.0
"""BiasedLock on real cores: the spec's numbers are distances from `serving` at [biased_lock.2].

The numbers of the code are compared with the numbers that the thread drew (``own``), and with the
earlier values of the counters (`wrong`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wakeproof.judge.conform.maps.biased_lock import BIASED_LOCK, THREADS
from wakeproof.judge.traces.concept import NOTHING, Cell, Step, TraceConcept
from wakeproof.judge.traces.events import Event, Round
from wakeproof.judge.traces.maps.own import disagrees


def explain(thread: int, events: Sequence[Event]) -> list[Cell]:
    """Return a step per event; a read of `serving` that ends no wait is no step."""
    found = []
    my = 0
    for event in events:
        if event.site == "biased_lock.1":
            my = event.result
        found.append(Cell(event, (_step(THREADS[thread], event, my),)))
    return found


def _step(who: str, event: Event, my: int) -> Step:
    match event.site:
        case "biased_lock.1":
            return Step("Acquire")
        case "biased_lock.2":
            return Step("Enter" if event.result == my else NOTHING, (),
                        {"my.owner": my - event.result})  # fmt: skip
        case "biased_lock.3":
            return Step("Look", (who,))
        case "biased_lock.4":
            where = "inside" if event.happened else "idle"
            return Step("Claim", (who,), {}, {f"thread.{who}": where})
        case "biased_lock.5":
            return Step("Release", (who,))
    raise KeyError(event.site)


def wrong(one: Round) -> str:
    """Return an access that saw a smaller counter than an earlier access left; counters grow."""
    for counter in (
        ("biased_lock.1", "biased_lock.4"),
        ("biased_lock.2", "biased_lock.3", "biased_lock.5"),
    ):
        its = [e for events in one.threads for e in events if e.site in counter]
        for event in its:
            before = (other for other in its if other.end < event.begin)
            if any(_numbers(other)[1] > _numbers(event)[0] for other in before):
                return f"[{event.site}] sees a number that its counter had passed"
    return ""


def _numbers(event: Event) -> tuple[int, int]:
    """Return the value that an access saw in its counter, and the value that it left there."""
    match event.site:
        case "biased_lock.1":
            return event.result, event.result + 1
        case "biased_lock.5":
            return event.operand - 1, event.operand
    return (
        event.result,
        event.operand if event.site == "biased_lock.4" and event.happened else event.result,
    )


BIASED_LOCK_TRACES = TraceConcept(
    concept=replace(BIASED_LOCK, bounds="owner, 2 stealers", declares="", bounded={}),
    explain=explain,
    at_end=lambda thread: (Step(NOTHING, (), {f"thread.{THREADS[thread]}": "idle"}),),
    disagrees=disagrees,
    wrong=wrong,
    twins=("biased_lock_no_cas", "biased_lock_reads_next"),
)
