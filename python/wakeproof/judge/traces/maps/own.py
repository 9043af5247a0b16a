# SPDX-License-Identifier: Apache-2.0
"""Compares a thread's events with its own earlier events, for values that the spec does not have.

A ticket that is given back is the ticket that was drawn.  A node is linked at the place that its
push reserved.  The kernel guarantees this whatever the other threads do (biased_lock.h, mpsc.h,
idle_set.h).
"""

from __future__ import annotations

from collections.abc import Sequence

from wakeproof.judge.conform.maps.search_steps import CARRIER
from wakeproof.judge.traces.events import BASE, Event

INBOX = (512, 520)  # bytes in a carrier: `first` and `head` of its inbox


def disagrees(events: Sequence[Event]) -> tuple[int, str] | None:
    """Return the event of a thread in which the ticket or node is not that of earlier events."""
    own = Own()
    for index, event in enumerate(events):
        if not own.agrees(event):
            return index, f"no step: [{event.site}] disagrees with what its thread did before"
    return None


def of_carriers(events: Sequence[Event], *, busy: int) -> tuple[int, str] | None:
    """Return what `disagrees` does, for submissions to the queues of the first `busy` carriers.

    The inboxes, and the queues of the other carriers, must be empty at every check.
    """
    for index, event in enumerate(events):
        carrier, place = divmod(event.place, CARRIER)
        is_look = event.site in ("mpsc.4", "mpsc.9", "mpsc.11", "mpsc.15")
        if is_look and event.result and (carrier >= busy or place in INBOX):
            bad = index, f"no step: [{event.site}] finds something where nobody submits"
            return min(bad, disagrees(events[:index]) or bad)
    return disagrees(events)


class Own:
    """The things that one thread holds: a ticket, a node that it pushes, a node that it pops."""

    def __init__(self) -> None:
        self.ticket = self.node = self.popped = self.next = -1  # values; -1: not known
        self.cell = -1  # where a push links its node

    def agrees(self, event: Event) -> bool:
        """Follow the event; False: the thread cannot have done this."""
        if event.site in (
            "biased_lock.1",
            "biased_lock.2",
            "biased_lock.3",
            "biased_lock.4",
            "biased_lock.5",
        ):
            return self._of_ticket(event)
        if event.site in ("mpsc.1", "mpsc.2", "mpsc.3"):
            return self._of_push(event)
        if event.site == "idle_set.2":  # its own bit, which no other thread clears
            return bool(event.result & ~event.operand)
        return self._of_pop(event)

    def _of_ticket(self, event: Event) -> bool:
        match event.site:
            case "biased_lock.1" | "biased_lock.3":
                self.ticket = event.result
                return True
            case "biased_lock.2":
                return event.result <= self.ticket
            case "biased_lock.4":
                is_free = event.result == self.ticket
                takes = event.operand == self.ticket + 1 or not event.happened
                return takes and event.happened == is_free
        return event.operand == self.ticket + 1

    def _of_push(self, event: Event) -> bool:
        place = BASE + event.place
        if event.site == "mpsc.1":
            self.node = place
            return event.operand == 0
        if event.site == "mpsc.2":
            self.cell = event.result
            return event.operand == self.node
        return (place, event.operand) == (self.cell, self.node)

    def _of_pop(self, event: Event) -> bool:
        place = BASE + event.place
        match event.site:
            case "mpsc.15" | "mpsc.4":
                self.popped = event.result
            case "mpsc.13":
                return event.operand == self.popped
            case "mpsc.8":
                return event.operand == 0
            case "mpsc.5":
                self.next = event.result
                return place == self.popped
            case "mpsc.7":
                return event.happened == (event.result == self.popped)
            case "mpsc.6":
                return event.operand == self.next
        return True
