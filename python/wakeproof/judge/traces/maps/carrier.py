# SPDX-License-Identifier: Apache-2.0
"""Carrier on real cores: a submitter and two rounds of a searcher; real futexes and eventfd.

A push is one step of the spec, taken when the push is published.  A check of the carrier's own
queue is one step, taken at its first read: with one task and one submitter, no thread sees half of
a push.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from wakeproof.judge.conform.maps.carrier import CARRIER_ONE, FIRST, HIDDEN_SITES, THREADS, WORDS
from wakeproof.judge.traces.concept import NOTHING, Cell, Not, Step, TraceConcept
from wakeproof.judge.traces.events import Event
from wakeproof.judge.traces.maps.own import of_carriers

Steps = tuple[Step, ...]
AGAIN = -4  # WP_AGAIN


def explain(thread: int, events: Sequence[Event]) -> list[Cell]:
    """Return the steps of a thread's events; checks by a parked owner differ from others."""
    found = []
    is_parked = False
    for event in events:
        if thread == 0 and event.site in ("carrier.1", "carrier.2"):
            is_parked = event.site == "carrier.1"
        each = _of_owner(event, is_parked) if thread == 0 else _of_waker(thread, event)
        found += [Cell(event, steps) for steps in each]
    return found


def _of_owner(event: Event, is_parked: bool) -> tuple[Steps, ...]:
    match event.site:
        case "End" | "carrier.5":
            was = {} if event.site == "End" else {"word": WORDS[event.result]}
            return ((Step("End" if event.site == "End" else "Test", (), was),),)
        case "mpsc.9" if event.place == FIRST:
            return (_looked(bool(event.result), is_parked),)
        case "carrier.1":
            place = WORDS[event.operand]
            return ((Step("Advertise", (place,), {}, {"word": place}),),)
        case "futex_wait":
            return _waited(event)
        case "Select":
            return ((Step(("Select", "Deschedule")[event.result]),),)
        case "Selecting":
            return ((Step("Ready"),),) if event.result else ()
        case "Readable":
            step = Step(
                "Readable" if event.result else NOTHING, (), {"eventfd": bool(event.result)}
            )
            return ((step,),)
        case "event_take":
            return ((Step("Drain", (), {"eventfd": bool(event.result)}),),)
        case "carrier.2":
            return ((Step("Leave", (), {"word": WORDS[event.result]},
                          {"word": WORDS[event.operand]}),),)  # fmt: skip
    return _unseen(event)


def _looked(found: bool, is_parked: bool) -> Steps:
    if is_parked:
        return (Step("Recheck", (), {}, {"pc.owner": "leave" if found else Not("leave")}),)
    return (Step("Poll", (), {}, {"pc.owner": "run" if found else "park"}),)


def _waited(event: Event) -> tuple[Steps, ...]:
    """Return the steps of a wait: queue, wake; a wait without return may not have queued."""
    if event.is_pending:
        return ((Step("Wait"), Step(NOTHING)),)
    if event.result == AGAIN:
        return ((Step("Wait", (), {}, {"pc.owner": "test"}),),)
    woken = {"pc.owner": "test"}
    return (Step("Wait", (), {}, {"pc.owner": "queued"}),), (Step(NOTHING, (), woken),)


def _of_waker(thread: int, event: Event) -> tuple[Steps, ...]:
    who = THREADS[thread]
    match event.site:
        case "mpsc.3":
            return ((Step("Push", (who,)),),)
        case "carrier.4" | "LoadWord":
            return ((Step("LoadWord", (who,), {"word": WORDS[event.result]}),),)
        case "carrier.3" | "Signal":
            now = WORDS[event.operand if event.happened else event.result]
            return ((Step("Signal", (who,), {"word": WORDS[event.result]}, {"word": now}),),)
        case "event_signal":
            return ((Step("Call", (who,), {}, {"eventfd": True}),),)
        case "futex_wake":
            sleeps = {"pc.owner": "queued" if event.result else Not("queued")}
            return ((Step("Call", (who,), sleeps),),)
        case "search.5":
            return ((Step("Search"),),) if who == "searcher" and event.result == 0 else ()
        case "Victim":
            return ()
    return _unseen(event)


def _unseen(event: Event) -> tuple[Steps, ...]:
    """Return the steps of objects that the spec lacks: queues, tickets, idle set and token."""
    hidden = HIDDEN_SITES | {"search.5", "Place", "mpsc.1", "mpsc.2", "mpsc.3", "mpsc.5", "mpsc.6",
                             "mpsc.8", "mpsc.9", "mpsc.13", "biased_lock.1",
                             "biased_lock.2"}  # fmt: skip
    if event.site in hidden:
        return ()
    raise KeyError(event.site)


def at_end(thread: int) -> Steps:
    """Return the ends: the submitter is done, and the searcher has given up or called."""
    return (Step(NOTHING, (), {f"pc.{THREADS[thread]}": "done" if thread == 2 else "start"}),)


CARRIER_TRACES = TraceConcept(
    concept=CARRIER_ONE,
    explain=explain,
    at_end=at_end,
    disagrees=partial(of_carriers, busy=1),
    limit=200,
    twins=("carrier_wake_forgotten",),
)
