# SPDX-License-Identifier: Apache-2.0
"""The guard with a place to block, on real cores: real locks, sleeps and deadlines.

The spec takes the lock together with the look or the claim under it and gives it back together with
the wait or the signal; nobody else can see between. So each such step is taken at its last access:
the look, the claim, the release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wakeproof.judge.conform_maps.guard import GUARD_RENDEZVOUS, LOCK, THREADS
from wakeproof.judge.trace_concept import NOTHING, Cell, Step, TraceConcept
from wakeproof.judge.trace_events import Event
from wakeproof.judge.trace_maps.guard import at_end, of_poller, of_producer

LATE = (-1, -3)  # WP_TIMEOUT, WP_INTERRUPTED
HIDDEN = ("L1", "L2", "L4", "L5", "futex_wait", "futex_wake")
Steps = tuple[Step, ...]


@dataclass
class _Poller:
    """What the poller is at: its wait has ended, with what; it is about to wait."""

    woken: bool = False
    late: bool = False
    waits: bool = False


def explain(thread: int, events: Sequence[Event]) -> list[Cell]:
    """Give the steps of a thread's events."""
    at = _Poller()
    found: list[Cell] = []
    claimed = False
    for index, event in enumerate(events):
        then = events[index + 1].site if index + 1 < len(events) else ""
        if thread == 0:
            found += [Cell(event, steps) for steps in _of_poller(at, event, then)]
            continue
        claimed = bool(event.result) if event.site == "G11" else claimed
        step = _of_producer(THREADS[thread], event, claimed)
        found += [Cell(event, (step,))] if step else []
    return found


def _of_poller(at: _Poller, event: Event, then: str) -> list[Steps]:
    is_lock = event.place == LOCK
    if event.site in ("L1", "L2") and (event.happened if event.site == "L1" else not event.result):
        return _locked(at, then)
    match event.site:
        case "G12":
            where = "wait" if event.result else "leave"
            return [(Step("Confirm", (), {"asleep": event.result}, {"poller": where}),)]
        case "L4":
            at.waits = True
        case "L3":
            step = Step("Wait" if at.waits else "Unlock")
            at.waits = False
            return [(step,)]
        case "futex_wait" if not is_lock and not event.is_pending:
            at.woken, at.late = True, event.result in LATE
            return [(Step("End", ("timeout",)),)] if at.late else []
    other = None if event.site in HIDDEN else of_poller(event)
    return [(other,)] if other else []


def _locked(at: _Poller, then: str) -> list[Steps]:
    """Return what ended the wait, if one has; the look comes with its read, if there is one."""
    found: list[Steps] = []
    if at.woken and not at.late:
        found.append((Step(NOTHING, (), {"poller": "woken"}), Step("End", ("ok",))))
    if at.woken and at.late and then:
        found.append((Step("Confirm", (), {"rc": "timeout"}, {"poller": "leave"}),))
    at.woken = at.late = False
    return found


def _of_producer(who: str, event: Event, claimed: bool) -> Step | None:
    if event.site == "L3":
        return Step("Wake", (who,)) if claimed else None
    return None if event.site in HIDDEN else of_producer(who, event)


RENDEZVOUS_TRACES = TraceConcept(
    concept=GUARD_RENDEZVOUS,
    explain=explain,
    at_end=at_end,
    limit=64,
    twins=("guard_signal_outside_lock",),
)
