# SPDX-License-Identifier: Apache-2.0
"""The rendezvous of the guard on real cores: real locks, sleeps and deadlines.

The spec takes the lock together with the check or the claim under it, and releases the lock
together with the wait or the signal.  No other thread can see a state in between.  So each such
step is taken at its last access: the check, the claim or the release.

The lock and the condition themselves are no part of the spec.  After an access of them that needs
a system call, this call must follow, on the right word; no other call may follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wakeproof.judge.conform.maps.guard import GUARD_RENDEZVOUS, LOCK, THREADS
from wakeproof.judge.traces.concept import NOTHING, Cell, Step, TraceConcept
from wakeproof.judge.traces.events import Event
from wakeproof.judge.traces.maps.guard import (
    at_end,
    choices_disagree,
    of_poller,
    of_producer,
)

LATE = (-1, -3)  # WP_TIMEOUT, WP_INTERRUPTED
COND = LOCK + 4
CONTENDED = 2  # the lock's word: held, and somebody may sleep
HIDDEN = ("lock.1", "lock.2", "lock.4", "lock.5", "futex_wait", "futex_wake")
Steps = tuple[Step, ...]


@dataclass
class _Poller:
    """The state of the poller: the end of its wait and the result, or that it is about to wait."""

    woken: bool = False
    late: bool = False
    waits: bool = False


@dataclass
class _Calls:
    """The call that the lock and the condition need next: a site, its place, its operand."""

    due: tuple[str, int, int] | None = None
    seen: int | None = None  # the count that lock.4 read; the wait is for another one

    def agrees(self, event: Event) -> bool:
        """Follow the event; False: a different call must come now, or no call."""
        is_call = event.site in ("lock.2", "futex_wait", "futex_wake")
        this = (event.site, event.place, event.operand)
        if this != self.due and (self.due or is_call):
            return False
        if event.site == "lock.3" and event.result not in (1, CONTENDED):
            return False
        self.due = self._next(event)
        return True

    def _next(self, event: Event) -> tuple[str, int, int] | None:
        match event.site:
            case "lock.1" if not event.happened:
                return "lock.2", LOCK, CONTENDED
            case "lock.2" if event.result:
                return "futex_wait", LOCK, CONTENDED
            case "futex_wait" if event.place == LOCK:
                return "lock.2", LOCK, CONTENDED
            case "lock.4":
                self.seen = event.result
                return "lock.3", LOCK, 0
            case "lock.5":
                return "futex_wake", COND, 1
            case "lock.3" if event.result == CONTENDED:
                return "futex_wake", LOCK, 1
            case "lock.3" | "futex_wake" if event.place == LOCK and self.seen is not None:
                seen, self.seen = self.seen, None
                return "futex_wait", COND, seen
        return None


def disagrees(events: Sequence[Event]) -> tuple[int, str] | None:
    """Return the event at which a required wake of the lock or the condition is missing."""
    chosen, called = choices_disagree(events), _calls_disagree(events)
    return min((bad for bad in (chosen, called) if bad), default=None)


def _calls_disagree(events: Sequence[Event]) -> tuple[int, str] | None:
    calls = _Calls()
    for index, event in enumerate(events):
        due = calls.due
        if not calls.agrees(event):
            want = f"[{due[0]}] of {due[2]} at {due[1]:+d}" if due else "another event"
            return index, f"no step: {want} is due"
    return None


def explain(thread: int, events: Sequence[Event]) -> list[Cell]:
    """Return the steps of the spec that may explain a thread's events."""
    at = _Poller()
    found: list[Cell] = []
    claimed = False
    woken = 0  # by the signal
    for index, event in enumerate(events):
        then = events[index + 1].site if index + 1 < len(events) else ""
        if thread == 0:
            found += [Cell(event, steps) for steps in _of_poller(at, event, then)]
            continue
        claimed = bool(event.result) if event.site == "guard.11" else claimed
        woken = event.result if event.site == "futex_wake" and event.place == COND else woken
        step = _of_producer(THREADS[thread], event, claimed, woken)
        found += [Cell(event, (step,))] if step else []
    return found


def _of_poller(at: _Poller, event: Event, then: str) -> list[Steps]:
    is_lock = event.place == LOCK
    if event.site in ("lock.1", "lock.2") and (
        event.happened if event.site == "lock.1" else not event.result
    ):
        return _locked(at, then)
    match event.site:
        case "guard.12":
            where = "wait" if event.result else "leave"
            return [(Step("Confirm", (), {"asleep": event.result}, {"poller": where}),)]
        case "lock.4":
            at.waits = True
        case "lock.3":
            step = Step("Wait" if at.waits else "Unlock")
            at.waits = False
            return [(step,)]
        case "futex_wait" if not is_lock and not event.is_pending:
            at.woken, at.late = True, event.result in LATE
            return [(Step("End", ("timeout",)),)] if at.late else []
    other = None if event.site in HIDDEN else of_poller(event)
    return [(other,)] if other else []


def _locked(at: _Poller, then: str) -> list[Steps]:
    """Return the steps that end a wait, if there was one, and then check, if there is a read."""
    found: list[Steps] = []
    if at.woken and not at.late:
        found.append((Step(NOTHING, (), {"poller": "woken"}), Step("End", ("ok",))))
    if at.woken and at.late and then:
        found.append((Step("Confirm", (), {"rc": "timeout"}, {"poller": "leave"}),))
    at.woken = at.late = False
    return found


def _of_producer(who: str, event: Event, claimed: bool, woken: int) -> Step | None:
    """Return a producer's step; a thread that the producer's signal woke was waiting."""
    if event.site == "lock.3":
        return Step("Wake", (who,), {"poller": "waiting"} if woken else {}) if claimed else None
    return None if event.site in HIDDEN else of_producer(who, event)


RENDEZVOUS_TRACES = TraceConcept(
    concept=GUARD_RENDEZVOUS,
    explain=explain,
    at_end=at_end,
    disagrees=disagrees,
    limit=64,
    twins=("guard_signal_outside_lock", "guard_signal_silent", "guard_release_silent"),
)
