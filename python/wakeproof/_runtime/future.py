# SPDX-License-Identifier: Apache-2.0
"""Futures: a virtual thread that waits for one parks, and leaves its carrier.

  setter                                   virtual thread
  result, or error, or cancelled           done? ends
  callbacks: the signal is set             the signal's callback is added, or called at once;
                                           wait for the signal (`signal`)

What takes the lock of a future, in order to cancel, set or await it, is not ended by an interrupt:
the step would be missing, and those who wait for it would never be woken.

OS threads wait as in `concurrent.futures`.  Its functions `wait` and `as_completed` give each
future a waiter with an event; if a virtual thread calls them, that event parks it.

A call of a `wakeproof.VirtualThreadPool` that waits for another call of that pool gives its permit
back meanwhile, and takes one again before it continues.  So calls that wait for one another end
even if the pool lets only one call run at a time.

Source: ``_native/future.c``, ``plain_core.py``; ``concurrent/futures/_base.py``.
"""

from __future__ import annotations

import _thread
import concurrent.futures
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from wakeproof._runtime import calls
from wakeproof._runtime.signal import Outcome, Signal, anyway
from wakeproof._runtime.trampoline import here

if TYPE_CHECKING:
    from wakeproof._runtime.admission import Permitted
    from wakeproof.semaphore import Semaphore

T = TypeVar("T")


class SteadyLock(_thread.RLock):  # type: ignore[misc] # CPython lets it be inherited from
    """A lock of a future or of its waiters; no interrupt ends a wait for it."""

    __slots__ = ()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it, as `threading.RLock` does."""
        if blocking and timeout == -1:
            return anyway(super().acquire)
        return super().acquire(blocking, timeout)

    __enter__ = acquire


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

    def __init__(self, permits: Semaphore | None) -> None:
        super().__init__()
        self.permits = permits

    def append(self, waiter: Any) -> None:
        if here.thread is not None and not isinstance(waiter.event, _Event):
            waiter.event = _Event(self.permits)
        lock = getattr(waiter, "lock", None)  # one that waits for the first has none
        if lock is not None and not isinstance(lock, SteadyLock):
            waiter.lock = SteadyLock()
        super().append(waiter)


class Future(calls.FutureCore, concurrent.futures.Future[T]):
    """A future of wakeproof.

    Attributes:
        permits: those of the pool that limits how many calls run; None: no pool does.  Set before
            the future is shared.
    """

    if calls.IN_C:
        __init__ = object.__init__  # Python's own would make what it may never need


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
        anyway(permits.acquire)
        call.has_permit = True


def _condition() -> threading.Condition:
    """Return the condition of a future."""
    return threading.Condition(SteadyLock())


def _outcome() -> Outcome:
    """Return the signal that a future has an outcome."""
    import wakeproof.vthread  # imported late: it imports this; it gives core.c what waits need

    assert wakeproof.vthread
    return Outcome()


calls.bind_future({
    "base": concurrent.futures.Future, "new_condition": _condition,
    "new_waiters": _Waiters, "new_signal": _outcome, "waited": waited,
    "cancelled_error": concurrent.futures.CancelledError, "future_type": Future,
})  # fmt: skip
