# SPDX-License-Identifier: Apache-2.0
"""Io: the steps of calls, of attempts, of the queue of a direction, of edges and of the close.

The queue is plain memory under the lock of the direction, so one step takes that lock and does what
follows under it.  An edge takes the lock and counts; other threads read that count without the
lock.  The grants that follow are hidden, because a grant and the park that it ends are one step of
the spec (in WaitQueue they are two).  Spurious wakeups are on, so waiters get the lock in any
order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import HIDDEN, WAIT, Concept, Ghost

USERS, LOCK, EDGES, SHUT, EMPTY, SYSTEM, RETIRED = 4, 8, 12, 16, 96, 104, 512  # bytes: the scenario
WAITERS, EACH, LINE, STATE = 128, 80, 16, 52
CLOSING, FREED, USER = 1, 2, 4
OPEN, EDGE, FINISHED, DATA = 1, 2, 4, 8
GRANTED = 2
READERS = ("a", "b")
BLIND = ("EndWakesWaiter", "EndWalksListed", "ClosedInTheEnd", "IoCompletionAtHome")
"""Here no poller ends, no group of a reader is closed, and no thread registers the descriptor."""
Why = tuple[str, ...]
"""Of each reader: the reason for which it takes the lock next; "Read": it tries before that."""


def lock_label(step: Step, name: str, reader: int) -> str:
    """Return the step that takes the lock, by what the thread does under it."""
    then = step.post.pending(step.thread)
    if then.offset == LOCK and then.site in ("lock.2", "futex_wait"):
        return WAIT
    if name == "closer":
        return "Shut"
    if name == "home":
        return "Event home"
    why = step.memory[reader]
    is_in_line = step.pre.word(WAITERS + EACH * reader + LINE) != 0
    return f"{why} {name}" if why != "Timeout" or is_in_line else HIDDEN


def call_label(step: Step, name: str) -> str:
    """Return the steps of the descriptor's word and of its close."""
    then = step.post.pending(step.thread).site
    match step.site:
        case "descriptor.1":
            if not step.takes_place and then == "descriptor.1":
                return HIDDEN
            if name != "closer":
                return f"Begin {name}"
            return "Free" if step.pre.word(USERS) & CLOSING else "Close"
        case "descriptor.2":
            return f"End {name}" if step.takes_place else HIDDEN
        case "descriptor.3":
            return f"End {name}" if then != "descriptor.2" else HIDDEN
        case "Close":
            return f"Final {name}"
        case "descriptor.4":
            return f"Leave {name}"
        case "descriptor_poller.1":
            return HIDDEN
        case "descriptor_poller.2":
            return "Reclaim home" if step.pre.word(RETIRED) else WAIT
    raise KeyError(step.site)


def wait_label(step: Step) -> str:
    """Return the steps of a wait and its grant, all hidden; one that a grant ends is no wait."""
    is_granted = step.pre.word(step.what.offset) == GRANTED
    match step.site:
        case "wait_queue.1" | "wait_queue.3":
            return HIDDEN if is_granted else WAIT
        case "futex_wait":
            return WAIT
        case "wait_queue.2" | "lock.3" | "futex_wake":
            return HIDDEN
    raise KeyError(step.site)


def code_label(step: Step, names: tuple[str, ...]) -> str:
    """Return the label of the spec's step that corresponds to a step of the code."""
    name = names[step.thread]
    if step.ends_sleep:
        return WAIT
    then = step.post.pending(step.thread).site
    match step.site:
        case "lock.1" | "lock.2":
            return lock_label(step, name, step.thread)
        case "readiness.1":
            return f"Look {name}" if then in {"descriptor.6", "Try"} else HIDDEN
        case "descriptor.6":
            return f"Check {name}"
        case "descriptor.5":
            return f"Note {name}"
        case "Try" | "Read":
            has_read = step.site == "Read" and step.takes_place
            what = "Read" if step.memory[step.thread] == "Read" else "Last"
            return f"{what} {name}" if has_read or then != "Read" else HIDDEN
        case "Arrive" | "Finish" | "Take":
            label = "Take home" if step.site == "Take" else step.site
            return label if step.takes_place else HIDDEN
        case "Poll":
            return HIDDEN if then == "Take" else WAIT
        case (
            "descriptor.1"
            | "descriptor.2"
            | "descriptor_poller.1"
            | "descriptor_poller.2"
            | "descriptor.3"
            | "descriptor.4"
            | "Close"
        ):
            return call_label(step, name)
    return wait_label(step)


def after(memory: Why, step: Step, label: str) -> Why:
    """Follow why each reader takes the lock: a deadline or an attempt decides it."""
    if label.startswith("Read"):
        is_taken = step.site == "Read" and step.takes_place
        has_read = is_taken or step.pre.word(SYSTEM) & FINISHED
        why = "Pass" if has_read else "Wait"
    elif label.startswith(("Look", "Check")):
        why = "Read" if step.post.pending(step.thread).site == "Try" else "Wait"
    elif step.ends_sleep == "late" and step.what.offset != LOCK:
        why = "Timeout"
    else:
        return memory
    return tuple(why if index == step.thread else old for index, old in enumerate(memory))


def code_seen(at: At, _ghost: object) -> Hashable:
    """Return the system's bytes, the edges, the shut direction and the calls' word."""
    system, users = at.word(SYSTEM, OPEN), at.word(USERS)
    return (
        (system // DATA, bool(system & FINISHED), bool(system & EDGE), bool(system & OPEN)),
        (at.word(EDGES), at.word(EMPTY), bool(at.word(SHUT))),
        (users // USER, bool(users & CLOSING), bool(users & FREED)),
    )


def spec_seen(state: Mapping[str, Any]) -> Hashable:
    """Return the same observations of a state of the spec."""
    return (
        (state["data"], state["finished"], state["edge"]["home"], state["open"]),
        (state["edges"], state["empty"], state["shut"]),
        (state["users"], state["closing"], state["freed"]),
    )


def spec_label(
    action: str, arguments: tuple[str, ...], pre: Mapping[str, Any], _post: Mapping[str, Any]
) -> str:
    """Return action and thread; the last call does not close a descriptor that is closed."""
    if action == "Final" and not pre["open"]:
        return HIDDEN
    return " ".join((action, *arguments))


def concept(name: str, test: str, bounds: str, names: tuple[str, ...]) -> Concept:
    """Return the comparison with readers, closer, poller and system in this order."""
    readers = tuple(name for name in names if name in READERS)
    quoted = ", ".join(f'"{reader}"' for reader in readers)
    return Concept(
        name=name,
        scenario="descriptor",
        test=test,
        module="Descriptor",
        bounds=bounds,
        threads=names,
        constants={
            "Readers": f"{{{quoted}}}", "Amount": str(len(readers)), "Size": "2",
            "Finishes": str("closer" in names).upper(), "Closes": str("closer" in names).upper(),
            "Timeouts": str(len(readers)), "Ends": "FALSE", "Cancels": "FALSE",
        },
        plain=("Arrive", "Finish", "Close", "Free", "Shut"),
        arguments={
            **dict.fromkeys(("Begin", "Look", "Check", "Read", "Note", "Wait", "Timeout", "Last",
                             "Pass"), "Readers"),
            **dict.fromkeys(("End", "Final", "Leave"), 'Readers+{"closer"}'),
            **dict.fromkeys(("Take", "Event", "Reclaim"), '{"home","other"}'),
        },
        spec_label=spec_label,
        spec_seen=spec_seen,
        code_label=lambda step: code_label(step, names),
        code_seen=code_seen,
        ghost=Ghost(("Wait",) * len(readers), after),
        flags=("--timeouts", "--any-spurious"),
        joins=(("lock.1", "readiness.1"), ("lock.2", "readiness.1"),
        ("readiness.1", "readiness.2")),
        joined="the lock of the direction, and the count of edges that is read or written under it",
        blind=BLIND,
    )  # fmt: skip


DESCRIPTOR = replace(
    concept("descriptor", "conform_descriptor", "a reader, a close and a free, one arrival",
            ("a", "closer", "home", "system")),
    spec_twin="edge_unseen",
    code_twins=("descriptor_edge_unseen", "descriptor_looks_late"),
)  # fmt: skip
DESCRIPTOR_OPEN = replace(
    concept("descriptor open", "conform_descriptor_open", "two readers, two arrivals",
            ("a", "b", "home", "system")),
    spec_twin="kept",
    code_twins=("descriptor_kept", "descriptor_noted_late"),
    is_long=True,
)  # fmt: skip
