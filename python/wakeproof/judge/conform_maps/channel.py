# SPDX-License-Identifier: Apache-2.0
"""Channel: the lock with what is done under it, grants, wakes and sleeps, step by step.

All of the channel is plain memory under its lock, so taking the lock is one step with what follows;
of it the count of items is observed, and the item that a waiting receiver was given.  Sleeps may
end for nothing, in the spec as well, so who waits for the lock gets it in any order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform_code import At, Step
from wakeproof.judge.conform_concept import HIDDEN, WAIT, Concept, labels_of

LOCK, COUNT, WAITERS, EACH, VALUE, STATE = 0, 12, 128, 80, 40, 52  # bytes, asserted in the scenario
GRANTED = 2
NAMES = ("a", "r", "closer")
WAITING = NAMES[:2]


def lock_label(step: Step) -> str:
    """Give what is done with the lock that the step has taken."""
    then = step.post.pending(step.thread)
    if then.offset == LOCK and then.site in ("L2", "futex_wait"):
        return WAIT
    return f"Locked {NAMES[step.thread]}"


def code_label(step: Step) -> str:
    """Give one step of the spec for each step of the code."""
    name = NAMES[step.thread]
    is_lock = step.what.offset == LOCK
    if step.ends_sleep:
        if is_lock:
            return WAIT
        return f"{'TimeOut' if step.ends_sleep == 'late' else 'Stray'} {name}"
    match step.site:
        case "Begin":
            return f"Begin {name}"
        case "L1" | "L2":
            return lock_label(step)
        case "L3":
            return f"Unlock {name}"
        case "YW1" | "YW3":
            is_granted = step.pre.word(step.what.offset) == GRANTED
            return f"Look {name}" if is_granted or step.site == "YW1" else WAIT
        case "YW2":
            return f"Grant {name}"
        case "futex_wait":
            return WAIT if is_lock else f"Sleep {name}"
        case "futex_wake":
            return HIDDEN if is_lock else f"Wake {name}"
    raise KeyError(step.site)


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return lock, count, what the receiver was given; of each waiter: granted, asleep."""
    each = tuple(
        (
            at.word(WAITERS + EACH * index + STATE) == GRANTED,
            at.is_asleep(index) and at.pending(index).offset != LOCK,
        )
        for index in range(len(WAITING))
    )
    return at.word(LOCK) != 0, at.word(COUNT), at.word(WAITERS + EACH + VALUE), each


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same of the spec."""
    each = tuple((name in state["granted"], state["pc"][name] == "asleep") for name in WAITING)
    told = state["told"]["r"]
    return state["lock"] != "no one", len(state["slots"]), told[1] if told[0] == "a" else 0, each


EVERY = ("Unlock", "Grant", "Wake")
LOCKS = ("Send", "Receive", "Cancel", "Close")
CHANNEL = Concept(
    name="channel",
    scenario="channel",
    test="conform_channel",
    module="Channel",
    bounds="a sender of two items, a receiver, a closer, one slot",
    threads=NAMES,
    constants={
        "Senders": '{"a"}', "Receivers": '{"r"}', "Items": "2", "Capacity": "1",
        "Twin": '"none"',
    },
    plain=("Close",),
    arguments={
        "Send": (('"a"',),),
        "Receive": (('"r"',),),
        **dict.fromkeys(
            ("Begin", "Cancel", "Sleep", "Stray", "TimeOut", "Look"), (('"a"',), ('"r"',))
        ),
        **dict.fromkeys(EVERY, (('"a"',), ('"r"',), ('"closer"',))),
    },
    spec_label=labels_of({**dict.fromkeys(LOCKS, "Locked"), "Close": "Locked closer"}),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    flags=("--timeouts", "--any-spurious"),
    spec_twin={"Twin": '"senders_forgotten"'},
    code_twins=("channel_senders_forgotten", "channel_close_forgets"),
    blind=("Fifo",),  # one sender, and what is received without a wait is not observed
)  # fmt: skip
CHANNEL_NONE = replace(
    CHANNEL,
    name="channel without slots",
    test="conform_channel_none",
    bounds="a sender of two items, a receiver, a closer, no slot",
    constants={**CHANNEL.constants, "Capacity": "0"},
    spec_twin={},
    code_twins=(),
)  # fmt: skip
