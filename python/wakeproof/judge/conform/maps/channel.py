# SPDX-License-Identifier: Apache-2.0
"""Channel: the lock with what is done under it, grants, wakes and sleeps, step by step.

All of the channel is plain memory under its lock, so one step takes the lock and changes it.
Observed are the number of items, the item that a waiting receiver is given, and the item that it
returned last.  Spurious wakeups are on, in the spec as well, so waiters get the lock in any order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import WAIT, Concept, labels_of
from wakeproof.judge.conform.maps.waiters import (
    EACH,
    WAITERS,
    end_label,
    futex_label,
    is_granted,
    short_label,
    told,
)

LOCK, COUNT, VALUE, RECEIVED = 0, 12, 40, 296  # bytes, asserted in the scenario
NAMES = ("a", "r", "closer")
WAITING = NAMES[:2]


def code_label(step: Step) -> str:
    """Return the label of the spec's step that corresponds to a step of the code."""
    name = NAMES[step.thread]
    if step.ends_sleep:
        return end_label(step, LOCK, name)
    match step.site:
        case "Begin":
            return f"Begin {name}"
        case "short_lock.1":
            return short_label(step, LOCK, f"Locked {name}")
        case "short_lock.2":
            return f"Unlock {name}"
        case "wait_queue.1" | "wait_queue.3":
            return f"Look {name}" if step.site == "wait_queue.1" or is_granted(step) else WAIT
        case "wait_queue.2":
            return f"Grant {name}"
        case "futex_wait" | "futex_wake":
            return futex_label(step, LOCK, name)
    raise KeyError(step.site)


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return the lock, the count and the receiver's items; per waiter: granted, asleep."""
    items = at.word(WAITERS + EACH + VALUE), at.word(RECEIVED)
    return at.word(LOCK) != 0, at.word(COUNT), items, told(at, len(WAITING), LOCK)


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    each = tuple((name in state["granted"], state["pc"][name] == "asleep") for name in WAITING)
    told = state["told"]["r"]
    received = max((item for _, item in state["received"]), default=0)
    items = told[1] if told[0] == "a" else 0, received
    return state["lock"] != "no one", len(state["slots"]), items, each


EVERY = ("Unlock", "Grant", "Wake")
LOCKS = ("Send", "Receive", "Cancel", "Close")
CHANNEL = Concept(
    name="channel",
    bounds="a sender of two items, a receiver, a closer, one slot",
    threads=NAMES,
    constants={
        "Senders": '{"a"}', "Receivers": '{"r"}', "Items": "2", "Capacity": "1",
    },
    plain=("Close",),
    arguments={
        "Send": "Senders",
        "Receive": "Receivers",
        **dict.fromkeys(
            ("Begin", "Cancel", "Sleep", "Stray", "TimeOut", "Look"), "Senders+Receivers"
        ),
        **dict.fromkeys(EVERY, 'Senders+Receivers+{"closer"}'),
    },
    spec_label=labels_of({**dict.fromkeys(LOCKS, "Locked"), "Close": "Locked closer"}),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    flags=("--timeouts", "--any-spurious"),
    spec_twin="senders_forgotten",
    code_twins=("channel_senders_forgotten", "channel_close_forgets", "channel_sender_first"),
)  # fmt: skip
CHANNEL_NONE = replace(
    CHANNEL,
    name="channel without slots",
    test="conform_channel_none",
    bounds="a sender of two items, a receiver, a closer, no slot",
    constants={**CHANNEL.constants, "Capacity": "0"},
    spec_twin="",
    code_twins=(),
    blind=("Fifo",),  # with one sender, one item at a time waits
)  # fmt: skip
