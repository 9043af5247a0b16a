# SPDX-License-Identifier: Apache-2.0
"""Latch: the word, the opener's grants and wakes, the waiters' sleeps and results, step by step.

An attempt that does not get the lock is a step of a loop that waits.  A waiter has returned when
its result shows, which is one step together with its last step in the latch.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import HIDDEN, WAIT, Concept

BASE = 0x100000000000
WORD, DONE, TOLD = 0, 8, 128  # bytes, asserted in the scenario
EACH, STATE, RESULT = 88, 52, 80
OPEN, LOCKED, GRANTED = 1, 2, 2
NAMES = ("a", "b")


def head(word: int) -> str:
    """Return the newest waiter in the list; "" if the list is empty."""
    place = (word & ~LOCKED) - BASE - TOLD
    return NAMES[place // EACH] if word & ~LOCKED else ""


OPENER = {
    "Work": "Work", "latch.1": "Open", "latch.4": "Publish", "wait_queue.2": "Grant",
    "futex_wake": "Wake",
}  # fmt: skip


def opener_label(step: Step) -> str:
    """Return the opener's steps."""
    match step.site:
        case "latch.6":
            return WAIT if step.value & LOCKED else HIDDEN
        case "latch.3":
            return "Lock" if step.pre.word(WORD) != step.post.word(WORD) else WAIT
    return OPENER[step.site]


def waiter_label(step: Step, name: str) -> str:
    """Return a waiter's steps."""
    if step.ends_sleep:
        return f"TimeOut {name}"
    word = step.post.word(WORD)
    match step.site:
        case "latch.6":
            return WAIT if step.value != OPEN and step.value & LOCKED else HIDDEN
        case "latch.2":
            return f"Take {name}"
        case "latch.3":
            return f"Take {name}" if step.pre.word(WORD) != word else WAIT
        case "latch.5":
            is_pushed = head(step.pre.word(WORD)) != name == head(word)
            return f"Push {name}" if is_pushed else f"Remove {name}"
        case "futex_wait":
            return f"Sleep {name}"
        case "wait_queue.1":
            return f"Return {name}"
        case "wait_queue.3":
            return f"Return {name}" if step.pre.word(step.what.offset) == GRANTED else WAIT
    raise KeyError(step.site)


def code_label(step: Step) -> str:
    """Return the label of the spec's step that corresponds to a step of the code."""
    return waiter_label(step, NAMES[step.thread - 1]) if step.thread else opener_label(step)


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return event, lock and newest waiter; per waiter: granted, asleep, its result."""
    word = at.word(WORD)
    each = tuple(
        (
            at.word(TOLD + EACH * index + STATE) == GRANTED,
            at.is_asleep(1 + index),
            ("", "in", "out")[at.word(TOLD + EACH * index + RESULT)],
        )
        for index in range(len(NAMES))
    )
    if word == OPEN:
        return "open", False, "", each, at.word(DONE)
    return "shut", bool(word & LOCKED), head(word), each, at.word(DONE)


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    each = tuple(
        (
            name in state["granted"],
            state["pc"][name] == "asleep",
            state["pc"][name] if state["pc"][name] in ("in", "out") else "",
        )
        for name in NAMES
    )
    newest = state["list"][0] if state["list"] else ""
    return state["word"], state["locked"], newest, each, int(state["done"])


def spec_label(
    action: str, arguments: tuple[str, ...], _pre: Mapping[str, Any], _post: Mapping[str, Any]
) -> str:
    """Return action and waiter; that a waiter is late shows in its earlier steps."""
    return " ".join((action, *arguments[:1]))


LATCH = Concept(
    name="latch",
    bounds="two OS threads that wait, each once",
    threads=("opener", *NAMES),
    constants={"Waiters": '{"a", "b"}'},
    plain=("Work", "Open", "Lock", "Publish", "Grant", "Wake"),
    arguments={
        **dict.fromkeys(("Push", "Sleep", "Return", "TimeOut", "Remove"), "Waiters"),
        "Take": 'Waiters {"begin"} {"push"} | Waiters {"late"} {"remove"}',
    },
    spec_label=spec_label,
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    flags=("--timeouts",),
    joins=tuple(
    (site, "Result") for site in ("latch.2", "latch.5", "wait_queue.1", "wait_queue.3")),
    joined="the last step of a wait with the result that it returns", spec_twin="leaves_early",
    code_twins=("latch_wakes_one", "latch_leaves_early"),
)  # fmt: skip
