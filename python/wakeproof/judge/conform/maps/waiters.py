# SPDX-License-Identifier: Apache-2.0
"""Steps of all concepts with a queue of waiters: the queue's lock, and sleeps of OS threads.

A scenario has its waiters in an array at `WAITERS`, and asserts these offsets.
"""

from __future__ import annotations

from wakeproof.judge.conform.code import At, Step
from wakeproof.judge.conform.concept import HIDDEN, WAIT

WAITERS, EACH, STATE = 128, 80, 52  # bytes: the array, one waiter, the state in it
GRANTED = 2


def lock_label(step: Step, lock: int, taken: str) -> str:
    """Return `taken` if the step takes the lock there; other steps belong to the wait for it."""
    then = step.post.pending(step.thread)
    is_held = then.offset == lock and then.site in ("lock.2", "futex_wait")
    return WAIT if is_held else taken


def short_label(step: Step, lock: int, taken: str) -> str:
    """Return `taken` if the step takes the lock there, of the kind that spins."""
    return WAIT if step.pre.word(lock) else taken


def end_label(step: Step, lock: int, name: str, stray: str = "Stray") -> str:
    """Return how a sleep ended without a wake: by a deadline, or spuriously."""
    if step.what.offset == lock:
        return WAIT
    return f"{'TimeOut' if step.ends_sleep == 'late' else stray} {name}"


def futex_label(step: Step, lock: int, name: str, sleep: str = "Sleep") -> str:
    """Return the steps of system calls; those of the lock are no steps of the spec."""
    if step.site == "futex_wait":
        return WAIT if step.what.offset == lock else f"{sleep} {name}"
    return HIDDEN if step.what.offset == lock else f"Wake {name}"


def is_granted(step: Step) -> bool:
    """Return whether the waiter that the step reads has been granted."""
    return step.pre.word(step.what.offset) == GRANTED


def sleeps(at: At, thread: int, lock: int) -> bool:
    """Return whether a thread sleeps in its wait, and not for the lock."""
    return at.is_asleep(thread) and at.pending(thread).offset != lock


def told(at: At, threads: int, lock: int) -> tuple[tuple[bool, bool], ...]:
    """Return for each of the first threads whether its waiter is granted, and whether it sleeps."""
    return tuple(
        (at.word(WAITERS + EACH * index + STATE) == GRANTED, sleeps(at, index, lock))
        for index in range(threads)
    )
