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
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.trampoline import here, park
from wakeproof.errors import ThreadInterruptedError
from wakeproof.parker import Parker

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread


def interrupted(thread: VirtualThread) -> ThreadInterruptedError:
    """Clear the caller's interrupt flag; return the exception to raise."""
    lib.wp_vthread_clear_interrupt()
    return ThreadInterruptedError(f"{thread.name} was interrupted")


def _wake(thread: VirtualThread, number: int) -> None:
    thread._tell(lib.wp__vthread_unpark_if, number)


def _end(thread: VirtualThread, number: int) -> None:
    """End this park of the caller if it was refused, so that a late wakeup does nothing."""
    if lib.wp__vthread_park_number() == number:
        thread._tell(lib.wp_vthread_unpark)
        lib.wp__vthread_park_begin(0)


class Signal:
    """An event that is set once, and never cleared."""

    __slots__ = ("_waiters", "is_set")

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

    def call(self, callback: Callable[[], object]) -> None:
        """Register a callback, which the thread that sets the event calls.

        Register it before another thread can set the event; this is not checked.
        """
        self._waiters.append(callback)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the event is set; return False if the time ran out.

        Raises:
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
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
            code = park(thread, deadline, lib.WP_WAIT_JOIN)

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
                parker.park(timeout_s)
            finally:
                self._leave(parker.unpark)
        return self.is_set

    def turns(self, thread: VirtualThread) -> Generator[None, int | None, bool]:
        """Wait as a virtual thread: park at each yield, which returns the outcome of the park."""
        took_other = False
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
                    break
                if code == lib.WP_INTERRUPTED:
                    raise interrupted(thread)
                if code == lib.WP_TIMEOUT:
                    break
                took_other = True
        finally:
            if took_other:
                thread._tell(lib.wp_vthread_unpark)
        return self.is_set
