# SPDX-License-Identifier: Apache-2.0
"""Condition: its queue, the queue of its mutex, and how a waiter goes from one to the other.

As in the spec, one step takes the lock of the condition's queue and does what follows under it.
The waiter's steps in the mutex's queue have the labels of the mutex's own table.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import HIDDEN, WAIT, Concept
from wakeproof.judge.conform.maps import mutex
from wakeproof.judge.conform.maps.waiters import (
    EACH,
    STATE,
    WAITERS,
    end_label,
    futex_label,
    lock_label,
    short_label,
)

WAITING, LINE, ENDED = 48, 52, 72  # bytes, asserted in the scenario
WAITER, SIGNALLER, LOCKER = NAMES = mutex.NAMES
ENDED_AS = ("", "signalled", "late")
OF_SIGNALLER = {"mutex.1": "TakeFor", "mutex.2": "TakeFor", "mutex.3": "MarkFor"}


def code_label(step: Step) -> str:
    """Return the label of the spec's step that corresponds to a step of the code."""
    name, site = NAMES[step.thread], step.site
    if step.what.offset == LINE:
        return _line_label(step, name)
    if site in ("condition.1", "condition.2"):
        return f"{'Ask' if site == 'condition.1' else 'Say'} {name}"
    if name != SIGNALLER:
        return mutex.code_label(step)
    if site in OF_SIGNALLER:
        return f"{OF_SIGNALLER[site]} {name}" if step.takes_place else WAIT
    match site:
        case "short_lock.1":
            return short_label(step, mutex.LOCK, f"LockFor {name}")
        case "short_lock.2":
            return f"UnlockFor {name}"
    return mutex.code_label(step)


def _line_label(step: Step, name: str) -> str:
    """Return the step of the condition's lock; waits for this lock are no steps of the spec."""
    if step.ends_sleep:
        return end_label(step, LINE, name)
    match step.site:
        case "lock.1" | "lock.2":
            return lock_label(step, LINE, f"Line {name}")
        case "lock.3":
            return f"Leave {name}"
    return futex_label(step, LINE, name)


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return the mutex's word, the locks, WAITING, the wait's end; per waiter: told, asleep."""
    word = at.word(mutex.WORD)
    bits = tuple(bool(word & bit) for bit in (mutex.LOCKED, mutex.QUEUED, mutex.WOKEN))
    ended = ENDED_AS[at.word(ENDED)] if at.pending(0).site == "end" else ""
    return (
        (*bits, word // mutex.PASS, at.word(mutex.LOCK) != 0),
        (at.word(WAITING) != 0, at.word(LINE) != 0, ended),
        tuple(
            (
                mutex.SAID[at.word(WAITERS + EACH * index + STATE)],
                at.is_asleep(thread) and at.pending(thread).offset not in (mutex.LOCK, LINE),
            )
            for thread, index in ((0, 0), (2, 1))
            if thread < at.dump.threads
        ),
    )


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    word = state["word"]
    has_ended = state["pc"][WAITER] == "idle" and state["stage"][WAITER] != "waits"
    ended = "late" if state["where"][WAITER] == "out" else "signalled"
    return (
        (word["locked"], word["queued"], word["woken"], word["passes"], state["lock"] != "no one"),
        (state["waiting"], state["clock"] != "no one", ended if has_ended else ""),
        tuple(
            (state["said"][name], state["pc"][name] == "asleep")
            for name in (WAITER, LOCKER)
            if name in state["pc"]
        ),
    )


SHOWN = {
    "GetIn": "Line", "Check": "Line", "GetOut": "Line", "TakeOff": "Line",
    "SayIn": "Say", "SayOut": "Say", "SayRest": "Say",
    "IsIn": "Leave", "Stays": "Leave", "IsOut": "Leave", "WasMoved": "Leave", "TriesIt": "Leave",
    "HasMoved": "Leave",
    "Park": "Sleep", "ItsSleep": "Sleep", "Late": "TimeOut", "LookFirst": "Look", "ItsLook": "Look",
    **dict.fromkeys(("Busy", "Again", "Stay", "Slow", "MissFor", "AgainFor"), HIDDEN),
}  # fmt: skip
ITS_STEPS = (
    "Take", "Busy", "Lock", "Again", "Mark", "Unlock", "ItsSleep", "ItsLook", "TakeFirst", "Forget",
    "Stay", "Renew", "Await", "Release", "Slow", "HandOver", "LetGo", "Tell", "Grant", "Wake",
    "Stray",
)  # fmt: skip


def spec_label(
    action: str, arguments: tuple[str, ...], _pre: Mapping[str, Any], _post: Mapping[str, Any]
) -> str:
    """Return a step's name; a step of the mutex is the argument of ``OfMutex``: ``Takea``."""
    (argument,) = arguments
    if action == "OfMutex":
        action, argument = argument[:-1], argument[-1]
    name = SHOWN.get(action, action)
    return f"{name} {argument}" if name else HIDDEN


def _of_mutex(names: tuple[str, ...]) -> str:
    return ",".join(f'{step}("{name}")' for step in ITS_STEPS for name in names)


CONDITION = Concept(
    name="condition",
    module="ConditionSteps",
    bounds="an OS thread that waits, perhaps too late, and one that signals",
    threads=NAMES[:2],
    constants={
        "Threads": '{"a", "b"}', "Leavers": "{}", "Passes": "2", "Miss": "1",
        "Waiters": '{"a"}', "Hasty": '{"a"}', "Signallers": '{"b"}', "Lockers": "{}",
    },
    arguments={
        **dict.fromkeys(
            ("GetIn", "SayIn", "IsIn", "Park", "Late", "LookFirst", "Check", "Stays", "GetOut",
             "SayOut", "IsOut", "TriesIt", "WasMoved"), "Waiters",
        ),
        **dict.fromkeys(
            ("Ask", "TakeOff", "TakeFor", "MissFor", "LockFor", "AgainFor", "MarkFor", "UnlockFor",
             "SayRest", "HasMoved"), "Signallers",
        ),
        "OfMutex": _of_mutex(NAMES[:2]),
    },
    spec_label=spec_label,
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    flags=("--timeouts", "--any-spurious"),
    spec_twin="wakes_unlocked",
    code_twins=("condition_wakes_unlocked", "condition_moved_is_deaf", "condition_swallows",
                "condition_unlocks_first"),
)  # fmt: skip
CONDITION_WANTED = replace(
    CONDITION,
    name="condition wanted",
    test="conform_condition_wanted",
    bounds="the same, and one that locks and unlocks the mutex",
    threads=NAMES,
    constants={**CONDITION.constants, "Threads": '{"a", "b", "c"}', "Lockers": '{"c"}'},
    arguments={**CONDITION.arguments, "OfMutex": _of_mutex(NAMES)},
    is_quick=False,
)  # fmt: skip
