# SPDX-License-Identifier: Apache-2.0
"""Wait queue: the steps under the lock, and the grants, wakes and sleeps of OS threads.

The queue is plain memory under its lock, so one step takes the lock and changes the queue.  The
queue decides which waiter a grant reaches.  Spurious wakeups are on, in the spec as well, so
waiters get the lock in any order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import HIDDEN, WAIT, Concept, labels_of
from wakeproof.judge.conform.maps.waiters import (
    end_label,
    futex_label,
    is_granted,
    lock_label,
    told,
)

LOCK, THINGS, HAS = 0, 4, 24  # bytes, asserted in the scenario
WAITING, GIVING = ("a", "b"), ("g", "h")
NAMES = (*WAITING, *GIVING)


def code_label(step: Step) -> str:
    """Return the label of the spec's step that corresponds to a step of the code."""
    name = NAMES[step.thread]
    if step.ends_sleep:
        return end_label(step, LOCK, name, "Spurious")
    match step.site:
        case "lock.1" | "lock.2":
            return lock_label(step, LOCK, f"Locked {name}")
        case "lock.3":
            return HIDDEN
        case "wait_queue.1":
            return f"Check {name}"
        case "wait_queue.2":
            return f"Store {name}"
        case "wait_queue.3":
            return f"Await {name}" if is_granted(step) else WAIT
        case "futex_wait" | "futex_wake":
            return futex_label(step, LOCK, name, "Park")
    raise KeyError(step.site)


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return the things in the object and with waiters; per waiter: granted, asleep."""
    has = sum(at.word(HAS + 4 * index) for index in range(len(WAITING)))
    return at.word(THINGS), has, told(at, len(WAITING), LOCK)


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    each = tuple(
        (state["state"][name] == "granted", state["pc"][name] == "asleep") for name in WAITING
    )
    return state["things"], state["got"], each


WAIT_QUEUE = Concept(
    name="wait_queue",
    bounds="two OS threads that wait, each once, and two things",
    threads=NAMES,
    constants={
        "Virtual": "{}", "Os": '{"a", "b"}', "Granters": '{"g", "h"}', "Waits": "1",
        "Strays": "0",
    },
    arguments={
        **dict.fromkeys(
            ("Begin", "Park", "Spurious", "TimeOut", "Check", "Cancel", "Await"), "Os"
        ),
        **dict.fromkeys(("Give", "Store", "Wake"), "Granters"),
    },
    spec_label=labels_of(dict.fromkeys(("Begin", "Cancel", "Give"), "Locked")),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    flags=("--timeouts", "--any-spurious"),
    spec_twin="grant_ignored",
    code_twins=("wait_queue_grant_ignored", "wait_queue_left_in_line", "wait_queue_leaves_early"),
    blind=("NoLostGrant", "NoStrayPermit"),  # only virtual threads can break these
)  # fmt: skip
