# SPDX-License-Identifier: Apache-2.0
"""A one-time event for which any number of virtual threads and OS threads may wait.

Spec: ``specs/thread/Latch.tla`` (NoLostWaiter).  Source: ``_native/core.c``, ``plain_core.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from wakeproof._native.ffi import lib
from wakeproof._runtime import core, waiting
from wakeproof._runtime.here import here
from wakeproof._runtime.types import T
from wakeproof.errors import DeadlockError, ThreadInterruptedError

if TYPE_CHECKING:
    from wakeproof._native.own import Waiter
    from wakeproof.vthread import VirtualThread


def interrupted(thread: VirtualThread) -> ThreadInterruptedError:
    """Clear the caller's interrupt flag; return the exception to raise."""
    lib.wp_vthread_clear_interrupt()
    return ThreadInterruptedError(f"{thread.name} was interrupted")


def anyway(step: Callable[[], T]) -> T:
    """Return what the step returns; an interrupt does not end it, and its flag is set afterwards.

    Args:
        step: a wait without a limit of time, which can be begun again.
    """
    was_interrupted = False
    try:
        while True:
            try:
                return step()
            except ThreadInterruptedError:
                was_interrupted = True
    finally:
        if was_interrupted and here.thread is not None:
            here.thread.interrupt()


class Signal(core.Signal):
    """An event that is set once, and never cleared."""

    __slots__ = ()
    # As `wait.Wait` has them, for a virtual thread that waits for this.
    ends_by_threads, what = True, "a lock or an event of another thread"

    def abandon(self) -> None:
        """Do nothing: a group was closed while a virtual thread of it waited."""


class Outcome(Signal):
    """The event that a future has an outcome."""

    __slots__ = ()
    what = "the result of a future"


def wait_long(signal: Signal, waiter: Waiter) -> None:
    """Go on with a wait of an OS thread that has no limit, and has taken a while.

    Raises:
        DeadlockError: nothing is left that could set the event.
    """
    waiting.wait_or_raise(waiter.park, lambda: signal.is_set)


def hopeless() -> NoReturn:
    """End a wait without a limit that nothing can end.

    Raises:
        DeadlockError: always.
    """
    raise DeadlockError(waiting.HOPELESS)
