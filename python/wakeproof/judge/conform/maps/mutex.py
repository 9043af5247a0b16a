# SPDX-License-Identifier: Apache-2.0
"""Mutex: the word, the list's lock, the waiters' states and the sleepers, step by step.

The queue of waiters is plain memory under the lock.  It shows in the waiters that an unlock
notifies, grants and wakes.  A load is hidden if the next step does not depend on its outcome.  A
compare-and-swap that fails is hidden too, because both sides then decide again.  Spurious wakeups
are on, in the spec as well, so waiters get the lock in any order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import HIDDEN, WAIT, Concept, labels_of
from wakeproof.judge.conform.maps.waiters import (
    EACH,
    STATE,
    WAITERS,
    end_label,
    futex_label,
    is_granted,
    short_label,
    sleeps,
)

WORD, LOCK = 0, 4  # bytes, asserted in the scenario
LOCKED, QUEUED, WOKEN, PASS = 1, 2, 4, 8
SAID = ("waits", "look", "granted")
NAMES = ("a", "b", "c")
SWAPPED = {"mutex.1": "Take", "mutex.2": "Take", "mutex.3": "Mark", "mutex.4": "Release",
           "mutex.5": "Release", "mutex.7": "TakeFirst", "mutex.8": "Forget",
           "mutex.14": "Unmark"}  # fmt: skip
NAMED = {"Begin": "Begin", "mutex.6": "LetGo", "mutex.11": "Tell", "mutex.12": "Renew",
         "mutex.13": "HandOver", "short_lock.2": "Unlock", "wait_queue.1": "Look",
         "wait_queue.2": "Grant"}  # fmt: skip
LOADS = ("mutex.9", "mutex.10", "mutex.15", "mutex.16", "mutex.17", "mutex.18", "mutex.19")


def code_label(step: Step) -> str:
    """Return the label of the spec's step that corresponds to a step of the code."""
    name, site = NAMES[step.thread], step.site
    if step.ends_sleep:
        return end_label(step, LOCK, name)
    if site in NAMED:
        return f"{NAMED[site]} {name}"
    if site in SWAPPED:
        return f"{SWAPPED[site]} {name}" if step.takes_place else WAIT
    if site in LOADS:
        return HIDDEN
    match site:
        case "short_lock.1":
            return short_label(step, LOCK, f"Lock {name}")
        case "futex_wait" | "futex_wake":
            return futex_label(step, LOCK, name)
        case "wait_queue.3":
            return f"Await {name}" if is_granted(step) else WAIT
    raise KeyError(site)


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return the word and the lock; per thread: the state of its waiter, asleep in its wait."""
    word = at.word(WORD)
    each = tuple(
        (
            SAID[at.word(WAITERS + EACH * index + STATE)],
            sleeps(at, index, LOCK),
        )
        for index in range(2)
    )
    bits = bool(word & LOCKED), bool(word & QUEUED), bool(word & WOKEN), word // PASS
    return bits, at.word(LOCK) != 0, each


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    each = tuple((state["said"][name], state["pc"][name] == "asleep") for name in NAMES[:2])
    word = state["word"]
    bits = word["locked"], word["queued"], word["woken"], word["passes"]
    return bits, state["lock"] != "no one", each


ACTIONS = (
    "Begin", "Take", "Busy", "Lock", "Again", "Mark", "Unlock", "Sleep", "Stray", "TimeOut", "Look",
    "TakeFirst", "Forget", "Stay", "Renew", "Unmark", "Await", "Release", "Slow", "HandOver",
    "LetGo", "Tell", "Grant", "Wake",
)  # fmt: skip
MUTEX = Concept(
    name="mutex",
    bounds="two OS threads, one of which may leave the line; two passes",
    threads=NAMES[:2],
    constants={
        "Threads": '{"a", "b"}', "Leavers": '{"b"}', "Passes": "2", "Miss": "1",
    },
    arguments=dict.fromkeys(ACTIONS, "Threads"),
    spec_label=labels_of(dict.fromkeys(("Busy", "Again", "Stay", "Slow"), HIDDEN)),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    flags=("--timeouts", "--any-spurious"),
    spec_twin="passes_uncounted",
    code_twins=("mutex_passes_uncounted", "mutex_misses_uncounted", "mutex_first_untold",
                "mutex_woken_kept"),
    blind=("InOrder",),  # one thread in line
)  # fmt: skip
