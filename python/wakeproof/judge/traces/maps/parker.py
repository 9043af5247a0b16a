# SPDX-License-Identifier: Apache-2.0
"""Parker on real cores, with real sleeps and deadlines.

The owner in the code does not know whether it has seen all data.  So the unparkers in the spec have
one round more than those in the code, and the owner in the spec has never seen all data.
"""

from __future__ import annotations

from dataclasses import replace

from wakeproof.judge.conform.maps.parker import BITS, PARKER, ROUNDS, THREADS
from wakeproof.judge.traces.concept import NOTHING, Not, Step, TraceConcept, each
from wakeproof.judge.traces.events import Event

Steps = tuple[Step, ...]
AGAIN, LATE = -4, (-1, -3)  # WP_AGAIN; WP_TIMEOUT, WP_INTERRUPTED


def bits(word: int) -> frozenset[str]:
    """Return the bits of the word."""
    return frozenset(name for bit, name in BITS if word & bit)


def explain(thread: int, event: Event) -> tuple[Steps, ...]:
    """Return the steps of the spec that may explain one event."""
    who = THREADS[thread]
    was = {"word": bits(event.result)}
    match event.site:
        case "Begin":
            return ((Step("Begin", after={"owner": ("try", "peek")[event.result]}),),)
        case "parker.1":
            now = {"word": bits(event.operand)} if event.happened else was
            return ((Step("Try", (), was, now), Step("Peek", (), was, now)),)
        case "parker.2":
            now = {"word": bits(event.operand)} if event.happened else was
            return ((Step("Arm", (), was, now),),)
        case "parker.3":
            return ((Step("Leave", (), was, {"word": bits(event.result & event.operand)}),),)
        case "parker.4":
            now = {"word": bits(event.result | event.operand)}
            return ((Step("Unpark", (who,), was, now),),)
        case "parker.5":
            return ((Step("Close", (), was, {"word": bits(event.result | event.operand)}),),)
        case "Write":
            return ((Step("Write", (who,), {}, {f"data.{who}": event.operand}),),)
        case "futex_wait":
            return waited(event)
        case "futex_wake":
            sleeps = {"owner": "asleep" if event.result else Not("asleep")}
            return ((Step("Wake", (who,), sleeps),),)
    raise KeyError(event.site)


def waited(event: Event) -> tuple[Steps, ...]:
    """Return a wait's steps: queue, then leave; a wait without return may not have queued."""
    if event.is_pending:
        return ((Step("Wait"), Step(NOTHING)),)
    if event.result == AGAIN:
        return ((Step("Wait", (), {}, {"owner": "leave"}),),)
    queued = (Step("Wait", (), {}, {"owner": "asleep"}),)
    if event.result in LATE:
        return queued, (Step("EndWait", ("TRUE",)),)
    return queued, (Step(NOTHING, (), {"owner": "leave"}), Step("EndWait", ("FALSE",)))


def at_end(thread: int) -> Steps:
    """Return the ends: the owner has its result, an unparker has no round left in the code."""
    who = THREADS[thread]
    if thread == 0:
        return (Step(NOTHING, (), {"owner": "end"}),)
    return (Step(NOTHING, (), {f"thread.{who}": "done" if who == "closer" else "write"}),)


PARKER_TRACES = TraceConcept(
    concept=replace(
        PARKER,
        bounds="2 unparkers x 2 rounds of 3, a closer",
        constants={**PARKER.constants, "Rounds": str(ROUNDS + 1)},
        keeps=lambda _action, _arguments, _pre, post: max(post["data"].values()) <= ROUNDS,
    ),
    explain=each(explain),
    at_end=at_end,
    twins=("parker_wake_forgotten",),
)
