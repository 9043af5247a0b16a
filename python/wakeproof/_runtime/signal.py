# SPDX-License-Identifier: Apache-2.0
"""A one-time event for which any number of virtual threads and OS threads may wait.

  setter                          waiter
  is_set := True                  into the list
  each in the list: off it, wake  is_set? off the list, done; if it is not there: a wake comes
                                  park

The second of setter and waiter sees the step of the first.  The setter wakes a virtual thread by
the number of that thread's park, so a late wakeup leaves no permit behind; if that park was
refused, the thread ends it.  A permit of another unpark that the wait has taken is given back.

Spec: ``specs/thread/Latch.tla`` (NoLostWaiter).  Source: ``kernel/thread/vthread.h`` (vthread.5).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING

from wakeproof._native.ffi import lib
from wakeproof._runtime import waiting
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.trampoline import here, park
from wakeproof.errors import DeadlockError, ThreadInterruptedError
from wakeproof.parker import Parker

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread


def interrupted(thread: VirtualThread) -> ThreadInterruptedError:
    """Clear the caller's interrupt flag; return the exception to raise."""
    lib.wp_vthread_clear_interrupt()
    return ThreadInterruptedError(f"{thread.name} was interrupted")


def _wake(thread: VirtualThread, number: int) -> None:
    thread._tell(lib.wp__vthread_unpark_if, number)


def waiter_of(wake: Callable[[], object]) -> VirtualThread | None:
    """Return the virtual thread that a callback of a signal wakes; None: it wakes none."""
    if isinstance(wake, partial) and wake.func is _wake:
        thread: VirtualThread = wake.args[0]
        return thread
    return None


def _end(thread: VirtualThread, number: int) -> None:
    """End this park of the caller if it was refused, so that a late wakeup does nothing."""
    if lib.wp__vthread_park_number() == number:
        thread._tell(lib.wp_vthread_unpark)
        lib.wp__vthread_park_begin(0)


class Signal:
    """An event that is set once, and never cleared."""

    __slots__ = ("_waiters", "is_set")
    # As `wait.Wait` has them, for a virtual thread that waits for this.
    ends_by_threads, what = True, "a lock or an event of another thread"

    def abandon(self) -> None:
        """Do nothing: a group was closed while a virtual thread of it waited."""

    def __init__(self) -> None:
        self.is_set = False
        self._waiters: list[Callable[[], object]] = []

    def set(self) -> None:
        """Set the event, and wake all waiters, also if a callback raises an exception."""
        self.is_set = True
        while self._waiters:
            try:
                wake = self._waiters.pop(0)
            except IndexError:  # the waiter has left the list
                return
            try:
                wake()
            except BaseException:
                self.set()
                raise

    def call(self, callback: Callable[[], object], *, is_first: bool = False) -> None:
        """Register a callback, which the thread that sets the event calls.

        Register it before another thread can set the event; this is not checked.

        Args:
            callback: what is called.
            is_first: whether it is called before any waiter is woken.
        """
        self._waiters.insert(0 if is_first else len(self._waiters), callback)

    def wait(self, timeout_s: float | None = None, why: int = lib.WP_WAIT_JOIN) -> bool:
        """Wait until the event is set; return False if the time ran out.

        Args:
            timeout_s: seconds, 0 or more; None: wait without a limit.
            why: what a trace says that a virtual thread waits for.

        Raises:
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
            DeadlockError: there is no limit, and nothing is left that could set the event.
        """
        deadline = deadline_ns(timeout_s)
        if self.is_set or deadline == 0:
            return self.is_set
        thread = here.thread
        if thread is None:
            return self._wait_below(timeout_s)
        turns = self.turns(thread)
        code = None
        while True:
            try:
                turns.send(code)
            except StopIteration as stop:
                return bool(stop.value)
            code = park(thread, deadline, why)

    def _leave(self, wake: Callable[[], object]) -> bool:
        try:
            self._waiters.remove(wake)
        except ValueError:
            return False
        return True

    def _wait_below(self, timeout_s: float | None) -> bool:
        """Wait as an OS thread."""
        parker = Parker()
        self._waiters.append(parker.unpark)
        if not self.is_set:
            try:
                if timeout_s is None:
                    waiting.wait_or_raise(parker.park, lambda: self.is_set)
                else:
                    parker.park(timeout_s)
            finally:
                self._leave(parker.unpark)
            if timeout_s is None and not self.is_set:
                raise DeadlockError(waiting.HOPELESS)
        return self.is_set

    def turns(self, thread: VirtualThread) -> Generator[None, int | None, bool]:
        """Wait as a virtual thread: park at each yield, which returns the outcome of the park."""
        took_other, thread._wait = False, self
        try:
            while True:
                number = lib.wp__vthread_park_number()
                wake = partial(_wake, thread, number)
                self._waiters.append(wake)
                if self.is_set and self._leave(wake):
                    break
                code = yield
                if not self._leave(wake):
                    _end(thread, number)
                    if not self.is_set:
                        raise DeadlockError(waiting.HOPELESS)
                    break
                if code == lib.WP_INTERRUPTED:
                    raise interrupted(thread)
                if code == lib.WP_TIMEOUT:
                    break
                took_other = True
        finally:
            thread._wait = None
            if took_other:
                thread._tell(lib.wp_vthread_unpark)
        return self.is_set


class Outcome(Signal):
    """The event that a future has an outcome."""

    __slots__ = ()
    what = "the result of a future"
