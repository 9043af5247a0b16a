# SPDX-License-Identifier: Apache-2.0
"""The events of real threads: rounds of a scenario as the recorder prints them.

Source: ``stress/harness/recorder/``: ``main.c`` (the format), ``access_log.h`` (what the stamps
mean).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from wakeproof.errors import JudgeError

BASE = 0x100000000000
"""The address of the scenario's state, as in the tables of ``conform.maps``."""


@dataclass(frozen=True, slots=True)
class Event:
    """One shared access, system call or choice of one thread."""

    thread: int
    begin: float  # stamp
    end: float  # stamp; infinite: it never came back
    site: str  # a label, as parker.1; a system call; in a scenario, its comment
    place: int  # offset in the scenario's state; -1: none
    operand: int
    result: int  # what it read, or what the call returned
    happened: bool  # False: a compare-and-swap that failed

    @property
    def is_pending(self) -> bool:
        """Return whether the thread was stopped in this event."""
        return self.end == math.inf

    def __str__(self) -> str:
        asked, got = (
            f"{v - BASE:+d}" if v >= BASE else f"{v}" for v in (self.operand, self.result)
        )
        end = "" if self.is_pending else f"..{self.end}"
        failed = "" if self.happened else " failed"
        return f"[{self.site}] {asked} -> {got}{failed} at {self.begin}{end}"


@dataclass
class Round:
    """One run of the scenario: the events of each thread, and whether the thread ended."""

    number: int
    threads: list[list[Event]] = field(default_factory=list)
    returned: list[bool] = field(default_factory=list)


def read(lines: Iterable[str], names: Mapping[tuple[str, int], str]) -> list[Round]:
    """Return the rounds.

    Args:
        lines: what the recorder printed.
        names: (file, line) -> label.

    Raises:
        JudgeError: the output is not complete.
    """
    rounds: list[Round] = []
    events: list[Event] = []
    last = ""
    for line in lines:
        mark, _, rest = line.rstrip("\n").partition(" ")
        if mark == "e":
            events.append(_event(rest.split(), names))
        elif mark == "x":
            rounds[-1].returned.append(rest.endswith("returned"))
            rounds[-1].threads.append(list(_whole(events, returned=rounds[-1].returned[-1])))
            events = []
        elif mark == "r":
            rounds.append(Round(int(rest)))
        last = line
    if last.strip() != f"end {len(rounds)}":
        raise JudgeError(f"what the recorder printed is not complete: {last.strip()!r}")
    return rounds


def _whole(events: list[Event], *, returned: bool) -> Iterator[Event]:
    """Yield the two halves of a site in a twin (``explore_labels.TWIN``) as one event.

    This event is judged as an event of the site, by the values that it read and wrote. A half that
    only reads is an operation that failed, unless the thread was stopped after it.
    """
    read: Event | None = None
    for event in events:
        half, _, label = event.site.rpartition(" ")
        if read and half != "writes":
            yield replace(read, happened=False)
        if half != "reads":
            result = read.result if read and half else event.result
            yield replace(event, site=label, result=result)
        read = replace(event, site=label) if half == "reads" else None
    if read and returned:
        yield replace(read, happened=False)


def _event(words: list[str], names: Mapping[tuple[str, int], str]) -> Event:
    thread, begin, end, file, line, name, place, operand, result, happened = words
    if name == "-":
        name = names.get((file, int(line)), f"{file}:{line}")
    return Event(
        int(thread), int(begin), int(end) or math.inf, name,
        _value(place) - BASE if place[0] == "@" else -1,
        _value(operand), _value(result), happened == "1",
    )  # fmt: skip


def _value(text: str) -> int:
    return BASE + int(text[1:]) if text[0] == "@" else int(text)
