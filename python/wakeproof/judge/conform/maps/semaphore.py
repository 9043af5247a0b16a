# SPDX-License-Identifier: Apache-2.0
"""Semaphore: the word, the list's lock, granted and sleeping threads, step by step.

The list and the served number are plain memory under the lock.  They decide which waiter gets the
next grant.  A load is hidden if the next step does not depend on its outcome.  Spurious
wakeups are on, in the spec as well, so waiters get the lock in any order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
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

WORD, LOCK = 0, 4  # bytes, asserted in the scenario
QUEUED, PERMIT = 1, 2
NAMES = ("a", "b", "c")
NAMED = {"semaphore.4": "Serve", "lock.3": "Unlock", "wait_queue.2": "Grant",
         "semaphore.3": "Release", "semaphore.1": "Take", "semaphore.2": "Mark"}  # fmt: skip


def code_label(step: Step) -> str:
    """Return the label of the spec's step that corresponds to a step of the code."""
    name = NAMES[step.thread]
    if step.ends_sleep:
        return end_label(step, LOCK, name)
    match step.site:
        case "Begin":
            return f"Begin {name}"
        case "lock.1" | "lock.2":
            return lock_label(step, LOCK, f"Lock {name}")
        case "semaphore.1" | "semaphore.2" | "semaphore.3":
            changes = step.pre.word(WORD) != step.post.word(WORD)
            return f"{NAMED[step.site]} {name}" if changes else WAIT
        case "semaphore.4" | "lock.3" | "wait_queue.2":
            return f"{NAMED[step.site]} {name}"
        case "semaphore.5" | "semaphore.7" | "semaphore.8":
            return HIDDEN
        case "futex_wait" | "futex_wake":
            return futex_label(step, LOCK, name)
        case "wait_queue.1":
            return f"Look {name}"
        case "wait_queue.3":
            return f"Await {name}" if is_granted(step) else WAIT
    raise KeyError(step.site)


def code_seen(at: At, _ghost: object, threads: int = 2) -> Hashable:
    """Return the permits, the bit and the lock; per thread: granted, asleep in its wait."""
    word = at.word(WORD)
    return word // PERMIT, bool(word & QUEUED), at.word(LOCK) != 0, told(at, threads, LOCK)


def spec_seen(state: Mapping[str, Any], threads: int = 2) -> Hashable:
    """Return the same observations of a state of the spec."""
    each = tuple(
        (name in state["granted"], state["pc"][name] == "asleep") for name in NAMES[:threads]
    )
    return state["permits"], state["queued"], state["lock"] != "no one", each


ACTIONS = (
    "Begin", "Take", "Miss", "Lock", "Mark", "Unlock", "Sleep", "Stray", "Look", "TimeOut",
    "Cancel", "Await", "Release", "Slow", "ServeLine", "Grant", "Wake",
)  # fmt: skip
SEMAPHORE = Concept(
    name="semaphore",
    bounds="an OS thread that wants one of two permits, one that wants both or leaves",
    threads=NAMES[:2],
    constants={
        "Threads": '{"a", "b"}', "Leavers": '{"b"}', "Large": '{"b"}', "Permits": "2",
    },
    arguments=dict.fromkeys(ACTIONS, "Threads"),
    spec_label=labels_of({"Miss": HIDDEN, "Slow": HIDDEN, "Cancel": "Serve", "ServeLine": "Serve"}),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    flags=("--timeouts", "--any-spurious"),
    spec_twin="grant_ignored",
    code_twins=("semaphore_grant_ignored", "semaphore_leaves_silent"),
    blind=("InOrder",),  # one thread in line
)  # fmt: skip
SEMAPHORE_THREE = replace(
    SEMAPHORE,
    name="semaphore three",
    test="conform_semaphore_three",
    bounds="three OS threads that want one, both and one of two permits",
    threads=NAMES,
    constants={
        **SEMAPHORE.constants, "Threads": '{"a", "b", "c"}', "Leavers": "{}",
    },
    code_seen=lambda at, ghost: code_seen(at, ghost, 3),
    spec_seen=lambda state: spec_seen(state, 3),
    spec_twin="serves_one",
    code_twins=("semaphore_serves_one", "semaphore_overtakes"),
    blind=(),
    is_quick=False,
    is_long=True,
)  # fmt: skip
