# SPDX-License-Identifier: Apache-2.0
"""Reads a thread's events along the code of search.c and mpsc.h: each method is a function there.

If the events end, reading ends.  An event that cannot come at its place is a cell that no step
explains.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.maps.search import WORDS
from wakeproof.judge.conform.maps.search_steps import CARRIER
from wakeproof.judge.traces.concept import Cell, Not, Step, unexplained
from wakeproof.judge.traces.events import Event

WAKING = 3  # WP_WAKING
COUNT = 2  # carriers


class CutError(Exception):
    """There are no more events."""


class OtherError(Exception):
    """The next event belongs somewhere else."""


class Walk(ABC):
    """Reads the events of one thread into the cells `found`.

    As (carrier, begin, end), `holds` has the times at which the thread had a queue's ticket, and
    `unlinks` the times at which it had taken back the tail while the front was still there.
    """

    def __init__(self, who: str, events: Sequence[Event]) -> None:
        self.who, self.events, self.at = who, events, 0
        self.found: list[Cell] = []
        self.holds: list[tuple[int, float, float]] = []
        self.unlinks: list[tuple[int, float, float]] = []

    def run(self) -> None:
        """Read all events."""
        try:
            self.program()
        except CutError:
            return
        except OtherError:
            event = self.events[self.at]
            self.found.append(unexplained(event, f"no step for [{event.site}] here"))

    @abstractmethod
    def program(self) -> None:
        """Read the events of the thread's program."""

    def take(self, site: str) -> Event:
        """Return the next event, which is at `site`."""
        if self.at == len(self.events):
            raise CutError
        if self.events[self.at].site != site:
            raise OtherError
        self.at += 1
        return self.events[self.at - 1]

    def comes(self, site: str) -> bool:
        """Return whether the next event is at `site`."""
        return self.at < len(self.events) and self.events[self.at].site == site

    def step(
        self, action: str, first: Event, last: Event | None = None, *,
        before: dict[str, Any] | None = None, after: dict[str, Any] | None = None,
        to: str = "",
    ) -> None:  # fmt: skip
        """Add a step that was taken between the beginning of one event and the end of another."""
        event = replace(last or first, begin=first.begin)
        arguments = () if not action else (self.who, to) if to else (self.who,)
        self.found.append(Cell(event, (Step(action, arguments, before or {}, after or {}),)))

    @property
    def pc(self) -> str:
        """The place in the spec's state of the thread's program counter."""
        return f"at.{self.who}.pc"

    def word(self, event: Event, value: int) -> dict[str, Any]:
        """Return the condition that the word at the event's place has this value."""
        return {f"word.c{1 + event.place // CARRIER}": WORDS[value]}

    def search(self) -> None:
        """Read wp_search."""
        while True:
            start = self.take("search.5")
            self.step("Start", start, before=token(start.result))
            if start.result:
                return
            look = self.take("idle_set.3")
            self.step("Snapshot", look, before=idle(look.result))
            while self.comes("search.2"):
                if self.recruit():
                    return
            self.step("Stop", self.take("search.6"), after=token(0))
            if not self.recheck():
                return

    def recruit(self) -> bool:
        """Read the events that read a carrier's word and send this carrier to the victim."""
        look = self.take("search.2")
        if WORDS[look.result] != "PARKED":
            self.step("Recruit", look, before=self.word(look, look.result))
            return False
        send = self.take("search.1")
        now = send.operand if send.happened else send.result
        self.step("Recruit", send, before=self.word(send, send.result), after=self.word(send, now))
        if send.happened:
            self.take("futex_wake")
        return send.happened

    def recheck(self) -> bool:
        """Read wp__search_recheck."""
        self.take("search.7")
        look = self.take("idle_set.3")
        self.step("Recheck", look, before=idle(look.result))
        parked = []
        for index in range(COUNT):
            if look.result >> index & 1:
                at = self.take("search.4")
                self.step("LoadParked", at, before=self.word(at, at.result))
                parked += [index] if WORDS[at.result] == "PARKED" else []
        worth = [c for c in range(COUNT) if len(parked) > 1 or parked not in ([], [c])]
        return any(self.is_hit("scan") for _ in worth)

    def is_hit(self, mode: str) -> bool:
        """Read wp__carrier_is_hit: "scan" after a release, "look" before a sleep."""
        first, last, front = self.front()
        tail = f"{mode}_tail"
        self.step("IsHit", first, last, after={self.pc: tail if front else Not(tail)})
        if not front:
            return False
        behind = self.take("mpsc.12")
        is_one = behind.result == front
        hit = "search" if mode == "scan" else "clear"
        self.step("LoadTail", behind, after={self.pc: f"{mode}_word" if is_one else hit})
        if not is_one:
            return True
        self.take("mpsc.10")
        look = self.take("run_queues.1")
        self.step("LoadWaking", look, before=self.word(look, look.result))
        return look.result != WAKING

    def front(self) -> tuple[Event, Event, int]:
        """Read wp__mpsc_front: `first`, then `head`."""
        first = self.take("mpsc.9")
        last = first if first.result else self.take("mpsc.11")
        return first, last, last.result

    def enter(self, event: Event) -> None:
        """Note that the thread holds the ticket since this event."""
        self.holds.append((event.place // CARRIER, event.end, math.inf))

    def leave(self) -> None:
        """Read wp_biased_lock_release."""
        queue, begin, _ = self.holds[-1]
        self.holds[-1] = (queue, begin, self.take("biased_lock.5").begin)

    def pop(self) -> tuple[Event, bool]:
        """Read wp_mpsc_pop under the ticket: return its last access, and whether it got a node."""
        head = self.take("mpsc.15")
        if not head.result:
            first = self.take("mpsc.4")
            if not first.result:
                return replace(first, begin=head.begin), False
            self.take("mpsc.13")
            self.take("mpsc.8")
        if self.take("mpsc.5").result:
            return self.take("mpsc.6"), True
        self.take("mpsc.16")
        tail = self.take("mpsc.7")
        queue = tail.place // CARRIER
        self.unlinks.append((queue, tail.begin, math.inf))
        last = self.take("mpsc.6")
        self.unlinks[-1] = (queue, tail.begin, last.end)
        return last, True


def idle(word: int) -> dict[str, Any]:
    """Return the condition that the idle set is this word."""
    return {"idle": frozenset(f"c{1 + index}" for index in range(COUNT) if word >> index & 1)}


def token(taken: int) -> dict[str, Any]:
    """Return the condition that so many tokens are taken, of one."""
    return {"token.k1.who": Not("none") if taken else "none"}
