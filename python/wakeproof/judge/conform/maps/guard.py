# SPDX-License-Identifier: Apache-2.0
"""Guard: symmetric and asymmetric with a sticky signal, and the rendezvous.

In the rendezvous the lock has no steps of its own.  One step takes the lock and makes the check or
the claim under it, and one step releases the lock and signals.  Spurious wakeups are on: a sleeper
may wake and find the lock free, so waiters get the lock in any order, as in the spec.  The table
still sees that no waiter depends on a spurious wakeup: after the release of a contended lock the
next step must be the system call.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.code import At, Step, lies, wakes_next
from wakeproof.judge.conform.concept import (
    DROPPED,
    HIDDEN,
    WAIT,
    Concept,
    Ghost,
    SpecLabel,
    labels_of,
)

THREADS = ("poller", "p1", "p2", "p3")
ASLEEP, QUEUE, RENDEZVOUS, EVENT = 0, 64, 128, (1 << 20) - 4096  # bytes
LOCK = RENDEZVOUS + 8
MOST = 9
"""The most answers that are counted, because a twin may give more and more."""


LABELS = {
    "guard.1": "Announce", "guard.2": "Fence", "guard.9": "Fence", "fence_heavy": "Fence",
    "guard.4": "SignalFence {}", "guard.5": "Look {}", "guard.10": "Look {}",
    "guard.6": "Claim {}", "guard.7": "Leave", "guard.8": HIDDEN, "event_signal": "Wake {}",
    "Check": "Check", "Push": "Push {}", "Lies": "Lies {}",
}  # fmt: skip


def code_label(step: Step) -> str:
    """Return the spec's step for an access, a fence or a signal."""
    match step.site:
        case "Poll":
            return (
                "Poll" if step.moves or seen_queue(step.pre) != seen_queue(step.post) else DROPPED
            )
        case "Block":
            if not step.moves:
                return DROPPED
            return "Block" if step.pre.word(EVENT) != step.post.word(EVENT) else "End timeout"
    return LABELS[step.site].format(THREADS[step.thread])


def seen_queue(at: At) -> int:
    """Return the items."""
    return at.word(QUEUE)


def after(answers: int, step: Step, label: str) -> int:
    """Count, as the spec does, claims of an announcement and returns that report no claim."""
    if label == "Announce":
        return 0
    if label.startswith("Claim") or label == "Leave":
        return min(answers + (step.pre.word(ASLEEP) == 1), MOST)
    return answers


def code_seen(at: At, answers: int) -> Hashable:
    """Return the promise to sleep, the items, the signal and the ghost."""
    queue = frozenset(f"p{1 + item}" for item in range(3) if at.word(QUEUE) >> item & 1)
    return at.word(ASLEEP), queue, at.word(EVENT) > 0, answers


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    return state["asleep"], state["queue"], state["token"], state["answers"]


EACH = ("Push", "SignalFence", "Look", "Claim", "Wake")
GUARD = Concept(
    name="guard symmetric",
    test="conform_guard",
    bounds="3 producers, a sticky signal",
    threads=THREADS,
    constants={
        "Producers": '{"p1", "p2", "p3"}', "Memory": '"SC"', "Fences": '"symmetric"',
        "Signals": '"sticky"', "Ends": '{"timeout"}',
    },
    plain=("Poll", "Announce", "Fence", "Check", "Block", "Leave"),
    arguments={"End": "Ends", **dict.fromkeys(EACH, "Producers")},
    spec_label=labels_of({}),
    spec_seen=spec_seen,
    code_label=code_label,
    code_seen=code_seen,
    ghost=Ghost(1, after),
    joins=(("Poll", "Take"), ("Poll", "Empty"), ("Block", "event_take")),
    joined="the caller's look at its queue, with the taking of an item",
    spec_twin="retract_forgets_work",
    code_twins=("guard_wake_unpaid", "conform_announce_lies"),
)  # fmt: skip
GUARD_ASYMMETRIC = replace(
    GUARD,
    name="guard asymmetric",
    test="conform_guard_asymmetric",
    constants={**GUARD.constants, "Fences": '"asymmetric"'},
    arguments={**GUARD.arguments, "Reach": "Producers"},
    spec_label=labels_of({"Reach": ""}),
    spec_twin="",
    code_twins=(),
)


def meeting_label(step: Step) -> str:
    """Return the label; lock.1 or lock.2 took the lock if no wait for the lock follows."""
    thread = THREADS[step.thread]
    is_poller = step.thread == 0
    if step.pre.word(LOCK) == 2 and step.post.word(LOCK) == 0 and not wakes_next(step, LOCK):
        return f"Unlock silently {thread}"
    if step.ends_sleep:
        if step.what.offset == LOCK:
            return WAIT
        return "End timeout" if step.ends_sleep == "late" else "End ok"
    match step.site:
        case "lock.1" | "lock.2":
            if step.post.pending(step.thread).site in ("lock.2", "futex_wait"):
                return WAIT
            return "Confirm" if is_poller else f"Claim {thread}"
        case "lock.4":
            return "Wait"
        case "lock.5":
            return f"{'Lies' if lies(step, 'Gave', truth=True) else 'Wake'} {thread}"
        case "guard.10" | "lock.3" if lies(step, "Gave", truth=False):  # it ended without a claim
            return f"Lies {thread}"
        case "lock.3" | "guard.12" | "futex_wake" | "Gave":
            return HIDDEN
        case "futex_wait":
            return WAIT if step.what.offset == LOCK else HIDDEN
    return code_label(step)


def meeting_seen(at: At, _ghost: object) -> Hashable:
    """Return the promise to sleep and the items."""
    queue = frozenset(f"p{1 + item}" for item in range(3) if at.word(QUEUE) >> item & 1)
    return at.word(RENDEZVOUS), queue


def meeting_spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    return state["asleep"], state["queue"]


MEETING_LABELS: SpecLabel = labels_of({"Unlock": ""})
GUARD_RENDEZVOUS = replace(
    GUARD,
    name="guard rendezvous",
    test="conform_guard_rendezvous",
    bounds="2 producers, a condition",
    constants={
        **GUARD.constants, "Producers": '{"p1", "p2"}', "Signals": '"rendezvous"',
        "Ends": '{"ok", "timeout"}',
    },
    plain=("Poll", "Announce", "Fence", "Check", "Confirm", "Wait", "Leave", "Unlock"),
    spec_label=MEETING_LABELS,
    spec_seen=meeting_spec_seen,
    code_label=meeting_label,
    code_seen=meeting_seen,
    ghost=None,
    flags=("--timeouts", "--any-spurious"),
    joins=(
        ("Poll", "Take"), ("Poll", "Empty"), ("lock.1", "guard.11"), ("lock.2", "guard.11"),
        ("lock.5", "futex_wake"), ("futex_wake", "lock.3"),
    ),
    joined="as above; the lock with the claim under it; the signal with giving the lock back",
    spec_twin="wait_once",
    code_twins=("guard_signal_outside_lock", "conform_signal_lies"),
)  # fmt: skip
