# SPDX-License-Identifier: Apache-2.0
"""Close: the lock of the turn, sleeps, signals, wakes, the steps of a close, and its result.

Some memory is plain: it is under the lock, or belongs to the close that has the turn.  It shows in
the steps that follow.  The scenario owns the list for which a close waits, and no other thread
locks the list.  For the spec, that wait ends with the choice of the list and of whether a handler
runs; its other steps are hidden.  No handler runs in another wait.  Spurious wakeups are on, in the
spec as well, so waiters get the lock in any order.  A close has returned when its result shows.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.code import CHOOSE, At, Step
from wakeproof.judge.conform.concept import HIDDEN, WAIT, Concept, Ghost, labels_of

LOCK, LEFT, GROUP, SAYS = 0, 4, 128, 136  # bytes, asserted in the scenario
INTERRUPTED = 1
LISTED, RUNS, STOPPING, EXITED = 1, 2, 4, 8
SAID = ("", "closed", "again")
THREADS = ("exits", "a", "b", "runs")
THREE = ("exits", "a", "b", "c")
"""The carrier's exit, the closers, and the carrier's run or one more closer."""
NAMED = {"lock.5": "Signal", "Stop": "SendStops", "Join": "Join", "HandBack": "HandBack",
         "Says": "Return"}  # fmt: skip


def carrier_label(step: Step) -> str:
    """Return the carrier's steps."""
    match step.site:
        case "Look":
            return WAIT
        case "Run" | "Exit":
            return step.site if step.takes_place else WAIT
        case "End":
            return "End"
    raise KeyError(step.site)


def lock_label(step: Step, name: str) -> str:
    """Return the steps of the lock, which a waiter may repeat."""
    then = step.post.pending(step.thread)
    match step.site:
        case "lock.1" | "lock.2" if not step.ends_sleep:
            return WAIT if then.site in ("lock.2", "futex_wait") else f"Lock {name}"
        case "lock.3":
            return f"Unlock {name}"
        case "futex_wake":
            return HIDDEN
        case "futex_wait":
            return WAIT
    raise KeyError(step.site)


def left_label(step: Step, name: str) -> str:
    """Return the steps of the condition."""
    if step.ends_sleep:
        return f"{'GiveUp' if step.ends_sleep == 'late' else 'Stray'} {name}"
    match step.site:
        case "lock.4":
            return HIDDEN
        case "futex_wait":
            return f"Sleep {name}" if step.post.is_asleep(step.thread) else HIDDEN
        case "futex_wake":
            return f"Wake {name}"
    return f"{NAMED[step.site]} {name}"


def code_label(step: Step, threads: tuple[str, ...] = THREADS) -> str:
    """Return the label of the spec's step that corresponds to a step of the code."""
    name = threads[step.thread]
    if name in ("exits", "runs"):
        return carrier_label(step)
    if step.what.offset == LOCK:
        return lock_label(step, name)
    if step.what.offset == LEFT:
        return left_label(step, name)
    if step.site in NAMED:
        return f"{NAMED[step.site]} {name}"
    if step.site == "Ends" and step.value == INTERRUPTED:
        return f"Interrupted {name}"
    if step.site in ("Ends", "Listed"):
        is_over = step.post.pending(step.thread).site == "lock.1"
        return f"Waited {name}" if is_over else WAIT
    if step.site in ("lock.1", "lock.3", "lock.4", "futex_wait"):  # of a list
        return WAIT
    raise KeyError(step.site)


def after(hit: frozenset[int], step: Step, label: str) -> frozenset[int] | None:
    """Keep the closers with a wait that a handler ends: only one for a list with a task."""
    if label.startswith("Interrupted"):
        return hit | {step.thread} if step.pre.word(GROUP) & LISTED else None
    if step.site == "futex_wait" and step.what.kind == CHOOSE:
        is_turn = step.post.pending(step.thread).offset in (LOCK, LEFT)
        return hit if bool(step.value) == (step.thread in hit and not is_turn) else None
    return hit


def code_seen(at: At, _ghost: object, closers: str = "ab") -> Hashable:
    """Return the lock and the group's bits; per closer: whether it sleeps, its result."""
    group = at.word(GROUP)
    carrier = "exited" if group & EXITED else "runs" if group & RUNS else "polls"
    each = tuple(
        (
            at.is_asleep(thread) and at.pending(thread).offset == LEFT,
            SAID[at.word(SAYS + 8 * (thread - 1))],
        )
        for thread in range(1, 1 + len(closers))
    )
    return at.word(LOCK) != 0, bool(group & LISTED), bool(group & STOPPING), carrier, each


LOCKING = ("misses", "enters", "away", "signals", "wakes", "gone")


def spec_seen(state: Mapping[str, Any], closers: str = "ab") -> Hashable:
    """Return the same observations of a state of the spec."""
    where = state["at"]
    each = tuple(
        (where[name] == "waits", state["says"][name] if where[name] == "out" else "")
        for name in closers
    )
    is_locked = any(at in LOCKING for at in where.values())
    return is_locked, bool(state["listed"]), state["isStopping"], state["carrier"], each


ACTIONS = (
    "Enter", "Sleep", "Stray", "GiveUp", "GoAway", "LetGo", "Signal", "Wake", "Unlock", "Begin",
    "AllEnded", "TimeIsOver", "Interrupted", "SendStops", "Join", "HandBack", "Enough", "Return",
)  # fmt: skip
LOCKS = dict.fromkeys(("Enter", "GoAway", "LetGo"), "Lock")
GROUP_CLOSE = Concept(
    name="group_close",
    bounds="a close that waits for a task, one that cancels, a carrier",
    threads=THREADS,
    constants={
        "Closers": '{"a", "b"}', "Cancellers": '{"b"}', "Patient": '{"a"}', "Tasks": '{"t"}',
        "Held": "{}",
    },
    plain=("Run", "End", "Exit"),
    arguments=dict.fromkeys(ACTIONS, "Closers"),
    spec_label=labels_of(
        {**LOCKS, "Begin": HIDDEN, "AllEnded": "Waited", "TimeIsOver": "Waited"}
    ),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    ghost=Ghost(frozenset[int](), after),
    flags=("--timeouts", "--any-spurious", "--spurious", "1"),
    spec_twin="woken_gives_up",
    code_twins=("group_close_leaves_silent", "group_close_stops_forgotten"),
    blind=("SleepsForHeld", "Returns"),  # no task has a scheduler
)  # fmt: skip
GROUP_CLOSE_IN_TIME = replace(
    GROUP_CLOSE,
    name="group_close in time",
    test="conform_group_close_in_time",
    bounds="a close that waits for a task, one that waits in time, a carrier",
    constants={**GROUP_CLOSE.constants, "Cancellers": "{}"},
    spec_twin="",
    code_twins=(),
)  # fmt: skip
GROUP_CLOSE_THREE = replace(
    GROUP_CLOSE,
    name="group_close three",
    test="conform_group_close_three",
    bounds="three that cancel, no task, a carrier that exits",
    threads=THREE,
    constants={
        **GROUP_CLOSE.constants, "Closers": '{"a", "b", "c"}', "Cancellers": '{"a", "b", "c"}',
        "Patient": "{}", "Tasks": "{}",
    },
    code_label=lambda step: code_label(step, THREE),
    code_seen=lambda at, ghost: code_seen(at, ghost, "abc"),
    spec_seen=lambda state: spec_seen(state, "abc"),
    spec_twin="leaves_silent",
    code_twins=("group_close_drains_outside",),
    blind=(*GROUP_CLOSE.blind, "WaitsForAll", "WaitsForWhatRuns"),
    flags=GROUP_CLOSE.flags[:2],  # no close waits for a list
    is_quick=False,
)  # fmt: skip
