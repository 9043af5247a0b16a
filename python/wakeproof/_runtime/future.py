# SPDX-License-Identifier: Apache-2.0
"""Futures that a virtual thread waits for without its carrier: it parks.

  setter                                   virtual thread
  result, or error, or cancelled           done? ends
  callbacks: the signal is set             the signal's callback is added, or called at once;
                                           wait for the signal (`signal`)

OS threads wait as in `concurrent.futures`.  Its `wait` and `as_completed` give each future a waiter
with an event, which becomes one that parks where a virtual thread calls them.

A call of a `wakeproof.VirtualThreadPool` that waits for another one of that pool does not run
meanwhile: it gives its permit back, and takes one again before it goes on.  So calls that wait for
calls end, however few may run at once.

Source: this file; ``concurrent/futures/_base.py``.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from wakeproof._runtime.signal import Signal
from wakeproof._runtime.trampoline import here

if TYPE_CHECKING:
    from wakeproof._runtime.admission import Permitted
    from wakeproof.semaphore import Semaphore

T = TypeVar("T")


class _Event:
    """What `concurrent.futures` needs of a ``threading.Event``; a virtual thread that waits parks.

    Who clears it holds the lock under which it is set.
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
    """Those of `concurrent.futures`; who adds one holds the future's lock, and waits later."""

    permits: Semaphore | None = None

    def append(self, waiter: Any) -> None:
        if here.thread is not None and not isinstance(waiter.event, _Event):
            waiter.event = _Event(self.permits)
        super().append(waiter)


class Future(concurrent.futures.Future[T]):
    """One of ours."""

    def __init__(self) -> None:
        super().__init__()
        self._waiters = self._own = _Waiters()
        self._signal: Signal | None = None

    @property
    def permits(self) -> Semaphore | None:
        """Those of the pool that bounds how many calls run; None: nothing does."""
        return self._own.permits

    def of(self, permits: Semaphore | None) -> None:
        """Say whose call it is, before it is shared."""
        self._own.permits = permits

    def result(self, timeout: float | None = None) -> T:
        """Return what the call returned, or raise what it raised; a virtual thread parks.

        Raises:
            TimeoutError: the time ran out.
            CancelledError: it was cancelled.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        try:
            return super().result(self._parked(timeout))
        finally:
            del self  # the error's traceback has this frame

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return what the call raised, as `result`."""
        return super().exception(self._parked(timeout))

    def _parked(self, timeout: float | None) -> float | None:
        """Wait as a virtual thread; return how long is to be waited yet, as an OS thread."""
        if here.thread is None:
            return timeout
        if not self.done():
            waited(self._told(), _time(timeout), self.permits)
        return 0

    def _told(self) -> Signal:
        """Return what is set when it is done; of two callers each may have its own."""
        signal = self._signal
        if signal is None:
            signal = self._signal = Signal()
            self.add_done_callback(lambda _: signal.set())
        return signal


def waited(signal: Signal, timeout: float | None, permits: Semaphore | None) -> bool:
    """Wait for it; meanwhile a call that has one of these permits is without."""
    thread = here.thread
    call = None if thread is None else thread._permitted
    if call is None or call.future.permits is not permits or timeout == 0:
        return signal.wait(timeout)
    with lent(call):
        return signal.wait(timeout)


def _time(timeout: float | None) -> float | None:
    """Return it as ours: below 0 is 0."""
    return None if timeout is None else max(timeout, 0)


@contextmanager
def lent(call: Permitted) -> Iterator[None]:
    """Run a block in which the call that makes it has no permit.

    A thread that a close hands back meanwhile never goes on, and has none to return.
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
