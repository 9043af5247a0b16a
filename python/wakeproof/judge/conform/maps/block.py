# SPDX-License-Identifier: Apache-2.0
"""The ends of a block of the guard: a nap after a heavy fence that failed, a deadline, a handler.

The table also compares what the poller learns about its wake (`answers`).  Before a thread queues,
the explorer decides whether a signal handler runs, and limits how often one runs.  So the generated
module also decides it there (`asked`), once, in hidden steps.  Handlers that run in a wait for the
lock are outside of the bounds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from wakeproof.judge.conform.code import CHOOSE, LOAD, At, Step
from wakeproof.judge.conform.concept import DROPPED, HIDDEN, WAIT, Ghost, labels_of
from wakeproof.judge.conform.maps import guard
from wakeproof.judge.conform.maps.guard import ASLEEP, EACH, EVENT, MOST, RENDEZVOUS


def told(step: Step) -> int:
    """Return what the poller learns after this step of its own; 1: no claim of its wake.

    The answer is what the poller stores next, apart from the release of the lock.  No other thread
    changes it.
    """
    at, dump = step.post, step.dump
    for _ in range(MOST):
        if at.pending(0).site == "Told":
            return at.pending(0).operand
        edges = range(bisect_left(dump.source, at.state), bisect_right(dump.source, at.state))
        at = dump.at(next((dump.target[e] for e in edges if dump.thread[e] == 0), at.state))
    return 0


def answers_after(answers: int, step: Step, label: str, promise: int) -> int:
    """Count the claims of an announcement, and how often the poller learns that there was none."""
    if label == "Announce":
        return 0
    answers += label.startswith("Claim") and step.pre.word(promise) == 1
    return min(answers + (told(step) if label == "Leave" else 0), MOST)


def nap_label(step: Step) -> str:
    """Return the spec's step for an access, a fence or a signal."""
    match step.site:
        case "guard.9" | "fence_heavy":
            return HIDDEN
        case "Told":
            return HIDDEN
        case "Fails":
            return "FenceFails" if step.value else "Fence"
        case "Nap" | "event_take":
            if not step.moves:
                return DROPPED
            return "Block" if step.pre.word(EVENT) != step.post.word(EVENT) else "NapEnds"
    return guard.code_label(step)


GUARD_NAP = replace(
    guard.GUARD_ASYMMETRIC,
    name="guard nap",
    scenario="block",
    test="conform_guard_nap",
    bounds="2 producers, a sticky signal, a heavy fence that may fail; a choice stands for that",
    constants={
        **guard.GUARD_ASYMMETRIC.constants,
        "Producers": '{"p1", "p2"}', "Fences": '"failing"', "Ends": "{}",
    },
    plain=("Poll", "Announce", "Fence", "FenceFails", "Check", "Block", "NapEnds", "Leave"),
    arguments=dict.fromkeys((*EACH[:1], *EACH[2:], "Reach"), "Producers"),
    code_label=nap_label,
    ghost=Ghost(1, lambda answers, step, label: answers_after(answers, step, label, ASLEEP)),
    joins=(("Poll", "Take"), ("Poll", "Empty"), ("Nap", "event_take")),
    spec_twin="heavy_after_recheck",
    code_twins=("conform_failure_unread",),
)  # fmt: skip


class Blocker(NamedTuple):
    """The ghost: the answers, whether the poller waits for the lock, the signals it has seen."""

    answers: int = 1
    wants_lock: bool = False
    signals: int = 0


def is_handler(step: Step) -> bool:
    """Return whether the explorer decides here that a handler runs."""
    return step.site == "futex_wait" and step.what.kind == CHOOSE and step.value == 1


def block_label(step: Step) -> str:
    """Return the rendezvous's label; a handler ends a wait if the wait's count is unchanged."""
    if step.site == "Told":
        return HIDDEN
    if step.site == "futex_wait" and step.what.kind == CHOOSE:
        return WAIT
    if step.site == "futex_wait" and step.what.kind == LOAD:
        return "End interrupted" if step.value == step.memory.signals else HIDDEN
    return guard.meeting_label(step)


def block_after(memory: Blocker, step: Step, label: str) -> Blocker | None:
    """Refuse a handler if no thread waits for a signal."""
    if is_handler(step) and (step.thread or memory.wants_lock):
        return None
    memory = memory._replace(answers=answers_after(memory.answers, step, label, RENDEZVOUS))
    if step.thread == 0 and step.site == "lock.2":
        return memory._replace(wants_lock=True)
    if step.site == "lock.4":
        return memory._replace(wants_lock=False, signals=step.value)
    return memory


def block_seen(at: At, memory: Blocker) -> Hashable:
    """Return the promise to sleep, the items and the answers."""
    return guard.meeting_seen(at, None), memory.answers


def block_spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    return guard.meeting_spec_seen(state), state["answers"]


DECLARES = r"""VARIABLES left, asked, gives_up
BoundInit == left = 1 /\ asked = "settled" /\ gives_up \in BOOLEAN
Asked(to) == /\ asked = "open" /\ poller \in {"waiting", "woken"}
             /\ asked' = to /\ UNCHANGED <<vars, gives_up>>
Settle == Asked("settled") /\ UNCHANGED left
Handle == left > 0 /\ Asked("spent") /\ left' = left - 1"""
GUARD_INTERRUPTED = replace(
    guard.GUARD_RENDEZVOUS,
    name="guard interrupted",
    scenario="block",
    test="conform_guard_interrupted",
    bounds="2 producers, a condition, a handler that may end one wait",
    constants={
        **guard.GUARD_RENDEZVOUS.constants, "Ends": '{"ok", "timeout", "interrupted"}',
    },
    spec_label=labels_of({"Unlock": "", "Settle": "", "Handle": ""}),
    spec_seen=block_spec_seen,
    code_label=block_label,
    code_seen=block_seen,
    ghost=Ghost(Blocker(), block_after),
    flags=(*guard.GUARD_RENDEZVOUS.flags, "--spurious", "1"),
    declares=DECLARES,
    bounded={
        "Wait": r"""/\ asked' = (IF left > 0 THEN "open" ELSE "settled")
                   /\ UNCHANGED <<left, gives_up>>""",
        "End": r"""/\ asked = (IF $1 = "interrupted" THEN "spent" ELSE "settled")
                  /\ UNCHANGED <<left, asked, gives_up>>""",
        "Confirm": r"""asked # "open" /\ asked' = "settled" /\ UNCHANGED <<left, gives_up>>""",
        "Unlock": r"""/\ rc = "interrupted" => (poller' = "leave") = gives_up
                     /\ UNCHANGED <<left, asked, gives_up>>""",
        "*": "UNCHANGED <<left, asked, gives_up>>",
    },
    added=("Settle", "Handle"),
    starts="Start",
    spec_twin="interrupt_leaves",
    code_twins=("conform_interrupt_unleft",),
    is_quick=False,
    looks_ahead=True,
)  # fmt: skip
