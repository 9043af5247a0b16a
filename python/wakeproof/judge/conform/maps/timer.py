# SPDX-License-Identifier: Apache-2.0
"""Timer: lock, deadline, the carrier's word and sleep, the armers' words, step by step.

One step takes the lock and changes `armed` under it.  A thread's word is read before it is changed
(vthread.10); these reads are hidden unless the next step depends on them.  The ghosts and the heap
are not compared: changes of the heap show in the earliest deadline and in the thread that is taken.
With two armers spurious wakeups are on, so waiters get the lock in any order, as in the spec.  A
spurious end of the carrier's sleep is then added to the spec.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.code import At, Step, lies
from wakeproof.judge.conform.concept import HIDDEN, WAIT, Concept, labels_of

WORD, EARLIEST, LOCK, ARMERS, NOW = 0, 1024, 1032, 1408, 2048  # bytes
ARMER, THREAD, ARMED = 264, 8, 232  # asserted in the scenario
FOREVER = 2**63 - 1
WORDS = ("RUNNING", "PARKED", "PARKED_POLLER", "WAKING")
ENDS, STATE, NUMBER = 20, 11, 32
HIDDEN_SITES = {
    "timer.9", "carrier.6", "mpsc.4", "mpsc.9", "mpsc.10", "mpsc.11", "mpsc.14", "mpsc.15",
    "vthread.10", "Ready",
}  # fmt: skip
CARRIER = {"Turn": "Turn", "carrier.1": "Advertise", "carrier.2": "Leave", "timer.7": "Clear"}
ARMING = {"timer.2": "Publish", "timer.4": "LoadArmed", "timer.10": "LoadWord", "timer.11": "Nudge",
          "vthread.2": "Resume", "vthread.4": "Park"}  # fmt: skip
WAITS = ("lock.2", "futex_wait")


def thread_at(at: At, armer: int) -> int:
    """Return the word of an armer's virtual thread."""
    return at.word(ARMERS + ARMER * armer + THREAD)


def armer_of(step: Step) -> int:
    """Return the armer that owns the memory of the step."""
    return (step.what.offset - ARMERS) // ARMER


def carrier_label(step: Step) -> str:
    """Return the carrier's steps."""
    is_over = step.post.pending(0).site != "vthread.5"
    if step.ends_sleep:
        if step.what.offset == LOCK:
            return WAIT
        return "Timeout" if step.ends_sleep == "late" else "Spurious"
    match step.site:
        case "timer.8":
            return "ReadUntil" if step.pre.word(WORD) else "Look"
        case "lock.1" | "lock.2":
            return WAIT if step.post.pending(0).site in WAITS else "Lock"
        case "lock.3":
            return "Unlock"
        case "timer.3":
            return "Settle"
        case "vthread.5" | "vthread.10":
            return f"Take a{1 + armer_of(step)}" if is_over else HIDDEN
        case "Push":
            return "Push carrier"
        case "carrier.5":
            return HIDDEN if WORDS[step.pre.word(WORD)] == "PARKED" else "Wait"
        case "futex_wait":
            if step.what.offset == LOCK:
                return WAIT
            return "Wait" if step.post.is_asleep(0) else HIDDEN
        case "futex_wake":
            return HIDDEN
    return CARRIER.get(step.site) or other(step)


def armer_label(step: Step, armer: int) -> str:
    """Return an armer's steps; an armer sleeps at the lock alone."""
    if step.ends_sleep:
        return WAIT
    has_parked = thread_at(step.pre, armer) >= NUMBER
    # A wake of the carrier has ended: it woke the carrier only if it made its system call.
    if step.site == "Lies" or lies(step, "Gave", truth=step.site == "futex_wake"):
        return f"Lies a{1 + armer}"
    match step.site:
        case "lock.1" | "lock.2":
            if step.post.pending(step.thread).site in WAITS:
                return WAIT
            return f"{'Cancel' if has_parked else 'Arm'} a{1 + armer}"
        case "lock.3":
            return f"{'UnlockCancelled' if has_parked else 'UnlockArmed'} a{1 + armer}"
        case "timer.3":
            return f"Withdraw a{1 + armer}"
        case "vthread.3":
            parks = thread_at(step.pre, armer) != thread_at(step.post, armer)
            return f"Park a{1 + armer}" if parks else HIDDEN
        case "Gave":
            return HIDDEN
        case "Ready":
            return HIDDEN if step.value else WAIT
        case "futex_wait":
            return WAIT
        case "futex_wake":
            return f"Call a{1 + armer}" if step.what.offset == WORD else HIDDEN
    return f"{ARMING[step.site]} a{1 + armer}" if step.site in ARMING else other(step)


def other(step: Step) -> str:
    """Return the label of a step that the spec does not have."""
    if step.site in HIDDEN_SITES:
        return HIDDEN
    raise KeyError(step.site)


def code_label(step: Step) -> str:
    """Return the spec's step that a step of the code is; hidden steps are named above."""
    if step.thread == 0:
        return carrier_label(step)
    if step.site == "Tick":
        return "Tick"
    if step.site == "vthread.1":
        return f"Unpark a{1 + armer_of(step)}"
    if step.site == "Push":
        return "Push unparker"
    return armer_label(step, step.thread // 2)


def code_seen(at: At, _ghost: object, armers: int = 1) -> Hashable:
    """Return the carrier's word, its sleep, deadline, lock and time; per armer: armed, its word."""
    words = tuple(
        (
            at.word(ARMERS + ARMER * armer + ARMED) != 0,
            1 + thread_at(at, armer) // NUMBER,
            thread_at(at, armer) & ENDS != 0,
            thread_at(at, armer) & STATE == 0,
        )
        for armer in range(armers)
    )
    earliest = at.word(EARLIEST, FOREVER)
    sleeps = at.is_asleep(0) and at.pending(0).offset == WORD
    return (WORDS[at.word(WORD)], sleeps, earliest if earliest != FOREVER else None,
            at.word(LOCK) != 0, at.word(NOW), words)  # fmt: skip


def spec_seen(state: Mapping[str, Any], armers: int = 1) -> Hashable:
    """Return the same observations of a state of the spec."""
    names = [f"a{1 + armer}" for armer in range(armers)]
    words = tuple(
        (
            name in state["armed"],
            state["number"][name],
            state["permit"][name] != "none",
            state["pc"][name] == "parked",
        )
        for name in names
    )
    earliest = state["earliest"] if state["earliest"] <= armers else None
    return (state["word"], state["pc"]["carrier"] == "queued", earliest,
            state["lock"] != "none", state["now"], words)  # fmt: skip


EACH = (
    "Arm", "Publish", "UnlockArmed", "LoadWord", "Nudge", "Call", "Park", "Resume", "LoadArmed",
    "Cancel", "Withdraw", "UnlockCancelled", "Take", "Unpark",
)  # fmt: skip
LOOP = (
    "Turn", "Look", "Lock", "Clear", "Settle", "Unlock", "Advertise", "ReadUntil", "Wait",
    "Timeout", "Leave", "Tick",
)  # fmt: skip
TIMER = Concept(
    name="timer",
    bounds="an armer elsewhere, an unpark, a deadline",
    threads=("carrier", "a1", "time", "unparker"),
    constants={
        "Armers": '{"a1"}', "Own": "{}", "Deadlines": "{1}", "Unparks": "1",
    },
    plain=LOOP,
    arguments={
        **dict.fromkeys(EACH, "Armers"), "Push": '{"carrier","unparker"}',
    },
    spec_label=labels_of({}),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    flags=("--timeouts",),
    joins=(("lock.1", "timer.1"), ("lock.2", "timer.1"), ("lock.1", "timer.5"),
    ("lock.2", "timer.5"), ("timer.5", "timer.6")),
    joined="the lock with what it says of the timer", spec_twin="check_first",
    code_twins=("timer_nudge_silent", "timer_armed_first", "conform_nudge_lies",
                "conform_cancel_lies"),
)  # fmt: skip


def keeps(
    action: str, arguments: tuple[str, ...], _pre: Mapping[str, Any], post: Mapping[str, Any]
) -> bool:
    """Keep the steps in which the armers take their own deadlines, 1 and 2."""
    return action != "Arm" or post["deadline"][arguments[0]] == int(arguments[0][1:])


SPURIOUS = r"""BoundInit == TRUE
Spurious == /\ Is("queued") /\ To("wait")
            /\ UNCHANGED <<Heap, earliest, lock, word, Thread, now, first, Carrier, hand, left>>
            /\ UNCHANGED Ghosts"""
TIMER_TWO = replace(
    TIMER,
    name="timer two",
    test="conform_timer_two",
    bounds="two armers elsewhere, with deadlines 1 and 2",
    threads=("carrier", "a1", "time", "a2"),
    constants={
        **TIMER.constants, "Armers": '{"a1", "a2"}', "Deadlines": "{1, 2}", "Unparks": "0",
    },
    code_seen=lambda at, ghost: code_seen(at, ghost, 2),
    spec_seen=lambda state: spec_seen(state, 2),
    keeps=keeps,
    flags=("--timeouts", "--any-spurious"),
    declares=SPURIOUS,
    bounded={"*": "TRUE"},
    added=("Spurious",),
    spec_twin="",
    code_twins=("timer_earliest_late",),
    is_quick=False,
)  # fmt: skip
