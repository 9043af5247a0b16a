# SPDX-License-Identifier: Apache-2.0
"""Guard on real cores, with a real eventfd: symmetric, and asymmetric with a real membarrier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from wakeproof.judge.conform.maps.guard import GUARD, GUARD_ASYMMETRIC, THREADS
from wakeproof.judge.traces.concept import NOTHING, Step, TraceConcept, each
from wakeproof.judge.traces.events import Event

ITEMS = 3
Steps = tuple[Step, ...]


def items(word: int) -> frozenset[str]:
    """Return the items of the queue."""
    return frozenset(f"p{1 + item}" for item in range(ITEMS) if word >> item & 1)


def explain(thread: int, event: Event) -> tuple[Steps, ...]:
    """Return the steps of the spec that may explain one event."""
    step = of_poller(event) if thread == 0 else of_producer(THREADS[thread], event)
    return ((step,),) if step else ()


def of_poller(event: Event) -> Step | None:
    """Return the poller's step, None if the event is no step of the spec."""
    queue = {"queue": items(event.result)}
    match event.site:
        case "Poll" | "guard.8":
            return None
        case "Take":
            left = {"queue": items(event.result & event.operand)}
            return Step("Poll" if left != queue else NOTHING, (), queue, left)
        case "Empty":
            sleeps = {"poller": "announce"}
            return Step(NOTHING, (), queue) if event.result else Step("Poll", (), queue, sleeps)
        case "guard.1":
            return Step("Announce", (), {}, {"asleep": event.operand})
        case "guard.2" | "guard.9":
            return Step("Fence")
        case "Check":
            return Step("Check", (), queue)
        case "Block":
            return Step("End", ("timeout",)) if event.result else None
        case "event_take":
            return Step("Block") if event.result else Step(NOTHING, (), {"token": False})
        case "guard.7":
            return Step("Leave", (), {"asleep": event.result}, {"asleep": event.operand})
    raise KeyError(event.site)


def of_producer(who: str, event: Event) -> Step | None:
    """Return a producer's step, None if the event is no step of the spec."""
    match event.site:
        case "Push":
            return Step("Push", (who,), {"queue": items(event.result)},
                        {"queue": items(event.result | event.operand)})  # fmt: skip
        case "guard.4":
            return Step("SignalFence", (who,))
        case "guard.8":
            return None
        case "guard.5" | "guard.10":
            return Step("Look", (who,), {"asleep": event.result})
        case "guard.6" | "guard.11":
            return Step("Claim", (who,), {"asleep": event.result}, {"asleep": event.operand})
        case "event_signal":
            return Step("Wake", (who,))
    raise KeyError(event.site)


def choices_disagree(events: Sequence[Event]) -> tuple[int, str] | None:
    """Return the first event of the poller that differs from its last choice."""
    for index, (chosen, event) in enumerate(pairwise(events), start=1):
        if chosen.site == "Poll":
            takes = ("Take", ~(1 << chosen.result))
            due = ("Empty", 0) if chosen.result == ITEMS else takes
            if (event.site, event.operand) != due:
                return index, f"no step: [{event.site}] is not item {chosen.result}"
        if chosen.site == "Block" and event.site != ("event_take", "guard.7")[chosen.result]:
            return index, f"no step: [{event.site}] is not what was chosen"
    return None


def at_end(thread: int) -> Steps:
    """Return the end of a producer, after one push; the poller never ends."""
    return (Step(NOTHING, (), {f"producer.{THREADS[thread]}": "done"} if thread else {}),)


GUARD_TRACES = TraceConcept(
    concept=GUARD,
    explain=each(explain),
    at_end=at_end,
    disagrees=choices_disagree,
    twins=("guard_wake_unpaid",),
)
GUARD_ASYMMETRIC_TRACES = replace(
    GUARD_TRACES,
    concept=GUARD_ASYMMETRIC,
    hidden=tuple(("Reach", (who,)) for who in THREADS[1:]),
    twins=(),
)
