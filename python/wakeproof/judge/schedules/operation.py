# SPDX-License-Identifier: Apache-2.0
"""The operations of threads that other threads can notice, and which of them commute.

An operation makes one or two accesses: the number of an object in the run, and how it is touched.
Two operations of different threads commute if no access of one excludes one of the other.
"""

from __future__ import annotations

from typing import TypeAlias

Access: TypeAlias = tuple[int, int]
"""Object and way."""

READ, WRITE, PASS, READ_PART, WRITE_PART = range(5)
"""Ways.

Two READs commute, and two PASSes: time passes, on the clock that a READ looks at.  Who touches a
part of an object, which is an object as well, touches the whole by READ_PART or WRITE_PART.
"""
_COMMUTE = frozenset({
    (READ, READ), (PASS, PASS), (READ, READ_PART), (READ_PART, READ), (READ_PART, READ_PART),
    (READ_PART, WRITE_PART), (WRITE_PART, READ_PART), (WRITE_PART, WRITE_PART),
})  # fmt: skip

CLOCK = 0
"""The object that is the time; the others are counted from 1."""

NAMES = (
    "acquire", "try to acquire", "release", "look at", "put into", "get from", "start", "join",
    "end", "sleep", "read the time", "let others run", "run", "wait for callbacks",
    "schedule a callback", "choose", "begin",
)  # fmt: skip
(
    ACQUIRE, TRY, RELEASE, LOOK, PUT, GET, START, JOIN, END, SLEEP, TIME, YIELD, LINE, POLL, CALL,
    CHOOSE, BEGIN,
) = range(17)  # fmt: skip
"""Kinds of operations."""

WAITS = frozenset((ACQUIRE, GET, JOIN, POLL))
"""Those that may have to wait: for a free lock, an item, the end of a thread, a callback."""

PAUSES = frozenset((SLEEP, YIELD))
"""Those at which a thread lets others go first."""


PASSING = ((CLOCK, PASS),)
"""The accesses of a sleep, or of a pause without length."""


def commute(one: tuple[Access, ...], other: tuple[Access, ...]) -> bool:
    """Return whether the order of two operations of different threads makes no difference."""
    return not any(a == b and excludes(way, how) for a, way in one for b, how in other)


def excludes(way: int, other: int) -> bool:
    """Return whether the order of two accesses to one object makes a difference."""
    return (way, other) not in _COMMUTE
