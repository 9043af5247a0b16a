# SPDX-License-Identifier: Apache-2.0
"""Futures: a virtual thread that waits for one parks, and leaves its carrier.

  setter                                   virtual thread
  result, or error, or cancelled           done? ends
  callbacks: the signal is set             the signal's callback is added, or called at once;
                                           wait for the signal (`signal`)

OS threads wait as in `concurrent.futures`.  Its functions `wait` and `as_completed` give each
future a waiter with an event; if a virtual thread calls them, that event parks it.

A call of a `wakeproof.VirtualThreadPool` that waits for another call of that pool gives its permit
back meanwhile, and takes one again before it continues.  So calls that wait for one another end
even if the pool lets only one call run at a time.

Source: this file; ``concurrent/futures/_base.py``.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from wakeproof._runtime.signal import Outcome, Signal
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.waiting import wait_or_raise

if TYPE_CHECKING:
    from wakeproof._runtime.admission import Permitted
    from wakeproof.semaphore import Semaphore

T = TypeVar("T")


class _Event:
    """The part of a ``threading.Event`` that `concurrent.futures` needs; a virtual thread parks.

    A thread that clears the event holds the lock that other threads hold when they set it.
    """

    def __init__(self, permits: Semaphore | None) -> None:
        self._signal, self._permits = Signal(), permits

    def is_set(self) -> bool:
        return self._signal.is_set

    def set(self) -> None:
        self._signal.set()

    def clear(self) -> None:
        self._signal = Signal()

    def wait(self, timeout: float | None = None) -> bool:
        return waited(self._signal, _time(timeout), self._permits)


class _Waiters(list[Any]):
    """The waiters of `concurrent.futures`, added under the future's lock, before they wait."""

    permits: Semaphore | None = None

    def append(self, waiter: Any) -> None:
        if here.thread is not None and not isinstance(waiter.event, _Event):
            waiter.event = _Event(self.permits)
        super().append(waiter)


class Future(concurrent.futures.Future[T]):
    """A future of wakeproof."""

    def __init__(self) -> None:
        super().__init__()
        self._waiters = self._own = _Waiters()
        self._signal: Signal | None = None

    @property
    def permits(self) -> Semaphore | None:
        """The permits of the pool that limits how many calls run; None: no pool does."""
        return self._own.permits

    def of(self, permits: Semaphore | None) -> None:
        """Set the permits of the pool, before the future is shared."""
        self._own.permits = permits

    def result(self, timeout: float | None = None) -> T:
        """Return what the call returned, or raise what it raised; a virtual thread parks.

        Args:
            timeout: seconds; negative: 0; default None: wait without a limit.

        Raises:
            TimeoutError: the time ran out.
            CancelledError: the future was cancelled.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
            DeadlockError: there is no limit, and nothing is left that could end the call.
        """
        try:
            return super().result(self._parked(timeout))
        finally:
            del self  # the error's traceback refers to this frame

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return what the call raised; arguments and errors are those of `result`."""
        return super().exception(self._parked(timeout))

    def _parked(self, timeout: float | None) -> float | None:
        """Wait as a virtual thread; return the seconds that remain to wait as an OS thread."""
        if here.thread is None:
            if timeout is None and not self.done():
                wait_or_raise(self._ends_within, self.done)
            return timeout
        if not self.done():
            waited(self._told(), _time(timeout), self.permits)
        return 0

    def _ends_within(self, seconds: float) -> bool:
        with self._condition:
            return self.done() or (self._condition.wait(seconds) and self.done())

    def _told(self) -> Signal:
        """Return a signal that is set when the future is done; each caller may get another one."""
        signal = self._signal
        if signal is None:
            signal = self._signal = Outcome()
            self.add_done_callback(lambda _: signal.set())
        return signal


def waited(signal: Signal, timeout: float | None, permits: Semaphore | None) -> bool:
    """Wait for the signal; a call that has one of these permits gives it back meanwhile."""
    thread = here.thread
    call = None if thread is None else thread._permitted
    if call is None or call.future.permits is not permits or timeout == 0:
        return signal.wait(timeout)
    with lent(call):
        return signal.wait(timeout)


def _time(timeout: float | None) -> float | None:
    """Return the timeout as wakeproof takes it: negative numbers become 0."""
    return None if timeout is None else max(timeout, 0)


@contextmanager
def lent(call: Permitted) -> Iterator[None]:
    """Run a block in which the call that runs it has no permit.

    If the group is closed meanwhile, the thread of the call never continues, and takes no permit.
    """
    permits = call.future.permits
    if permits is None or not call.has_permit:
        yield
        return
    call.has_permit = False
    permits.release()
    try:
        yield
    finally:
        permits._acquire_anyway()
        call.has_permit = True
