# SPDX-License-Identifier: Apache-2.0
"""Let a virtual thread park while it waits for a lock or queue of `threading` and `queue`.

  waiter                                  thread that releases the lock, or puts into the queue
  into the line; a new signal             the lock is free, or the item is in the queue
  try the lock; else wait for the signal  is there a first waiter? set its signal
  has it, or gives up: out of the line;
  if it gives up, it wakes the next

The GIL orders the steps of waiter and releaser, so the second of the two sees the step of the
first.  The first waiter stays first until it has the lock or gives up; hence a free lock with a
line always has an awake waiter.

OS threads wait in the lock itself, as without wakeproof, and not in the line.  An OS thread may
take the lock before the first waiter does, and outside of the GIL; then the try of that waiter
fails, and the release of that OS thread looks at the line again, because no other release of these
locks exists (the lock of an OS thread's end does: ``stdlib/threads.py``).  A release also posts
the lock's own semaphore, so an OS thread that waits there is woken whether there is a line or not;
if a virtual thread takes the lock first, the OS thread sleeps on, and that virtual thread's release
posts again.  Bypassing is bounded: a first waiter that found the lock taken for the 16th time
since it first was woken is given it by the next release, which leaves it locked.  A waiter's try
and a release's gift exclude each other, by the GIL or the lock of the lines (`own.take_in_line`): a
try during a gift would take an RLock that the waiter owns already, or forget the gift.  An OS
thread that waits is passed over by that release only, and by a newcomer as without wakeproof.

A queue may have several items, so a waiter that has got one wakes the next.

Source: ``_native/own.c``; this file.
"""

from __future__ import annotations

import os
import queue as queues
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent

from wakeproof._native.ffi import lib
from wakeproof._runtime import process, trampoline, wait
from wakeproof._runtime.here import ARE_OWN, here
from wakeproof._runtime.signal import Signal

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread


class Waiter:
    """One virtual thread in the line of one lock or queue; `_native/own.c` knows the attributes."""

    __slots__ = ("bypasses", "has", "number", "of", "signal", "why")
    signal: _Turn

    def __init__(self, of: Any, number: int, why: int) -> None:
        self.of, self.number, self.why = of, 2 * number + 1, why
        self.has = False  # the lock
        self.bypasses = 0
        self.signal = _Turn(self)

    def abandon(self) -> None:
        """Leave the line, because the waiter's group was closed and it never runs again."""
        own.step_out(self.of, self)
        if self.has:
            own.let_go(self.of)
        else:
            _wake_first(self.of)


class _Turn(Signal):
    """The signal of one turn of a waiter."""

    __slots__ = ("_waiter",)

    def __init__(self, waiter: Waiter) -> None:
        super().__init__()
        self._waiter = waiter

    def abandon(self) -> None:
        """Leave the line."""
        self._waiter.abandon()


def may_park(thread: VirtualThread) -> bool:
    """Return False where a finaliser runs inside of another wait of the thread, or on its carrier.

    There a second wait would disturb the first, so the caller blocks the OS thread instead.
    """
    if not thread._is_coroutine and getcurrent() is thread._hub:
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in _WAITS:
            return False
        frame = frame.f_back
    return True


def _wait(lock: Any, timeout_s: float) -> bool | None:
    """Wait for the lock; return False if the time ran out, None if the caller cannot park.

    Args:
        lock: a Lock or an RLock.
        timeout_s: seconds; negative: no limit.

    Raises:
        ThreadInterruptedError: the caller was interrupted.
    """
    thread = here.thread
    assert thread is not None
    if not may_park(thread):
        return None
    limit_s = None if timeout_s < 0 else timeout_s
    return stand(lock, thread, partial(own.take_in_line, lock), limit_s, lib.WP_WAIT_MUTEX)


def _get(queue: Any, block: bool = True, timeout: float | None = None) -> Any:
    """Get from a SimpleQueue; return NotImplemented if the original is to do it."""
    is_time = timeout is None or (isinstance(timeout, (int, float)) and 0 <= timeout < _LONGEST_S)
    if block and not is_time:
        return NotImplemented
    try:
        return queue.get_nowait()
    except Exception as error:
        # A second copy of the module `_queue` has an Empty of its own.
        if not block or type(error).__name__ != queues.Empty.__name__:
            raise
        empty = type(error)
    thread = here.thread
    assert thread is not None
    if not may_park(thread):
        return NotImplemented
    found = []

    def takes(waiter: Waiter) -> None:
        with suppress(empty):
            found.append(queue.get_nowait())
            waiter.has = True

    try:
        stand(queue, thread, takes, timeout, lib.WP_WAIT_RECEIVE)
    finally:
        _wake_first(queue)  # which may have more
    if not found:
        raise empty
    return found[0]


def stand(
    of: Any,
    thread: VirtualThread,
    attempt: Callable[[Waiter], object],
    timeout_s: float | None,
    why: int,
) -> bool:
    """Stand in line until the waiter has what it waits for; return False if the time ran out.

    Args:
        of: the lock or queue.
        thread: the caller.
        attempt: tries to get it, and sets `has` of the waiter.
        timeout_s: seconds; None: no limit.
        why: a wp_wait_kind.

    Raises:
        ThreadInterruptedError: the caller was interrupted.
    """
    waiter = Waiter(of, thread._number, why)
    try:
        own.stand(of, waiter)
        _wait_in_line(waiter, attempt, timeout_s)
    except BaseException:
        waiter.abandon()
        raise
    own.step_out(of, waiter)
    if not waiter.has:
        _wake_first(of)
    return waiter.has


def _wait_in_line(
    waiter: Waiter, attempt: Callable[[Waiter], object], timeout_s: float | None
) -> None:
    """Return when the waiter has it or the time ran out."""
    until = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        waiter.signal = _Turn(waiter)
        if not waiter.has:  # else a release gave it the lock
            attempt(waiter)
        rest_s = None if until is None else until - time.monotonic()
        if waiter.has or (rest_s is not None and rest_s <= 0):
            return
        waiter.signal.wait(rest_s, waiter.why)
        waiter.bypasses += 1


def _wake_first(of: object) -> None:
    waiter = own.first(of)
    if waiter is not None:
        _wake(waiter)


def _wake(waiter: Waiter) -> None:
    """Set the signal of a waiter, also if Ctrl-C comes in between."""
    try:
        _wake_once(waiter)
    except BaseException:
        _wake_once(waiter)
        raise


def _wake_once(waiter: Waiter) -> None:
    # until the end of a fork the child has the line, but no carriers
    if os.getpid() == process.pid:
        waiter.signal.set()


_LONGEST_S = threading.TIMEOUT_MAX
_WAITS = frozenset(  # those in C run no code of Python once they have read the number of a park
    function.__code__
    for function in (stand, trampoline.park, trampoline.leave, wait.parked, Signal.wait)
    if hasattr(function, "__code__")
)
IS_OWN = False  # whether a virtual thread may own an RLock
if ARE_OWN:
    from wakeproof._native import own as own

    own.bind(_wait, _wake, _get)
    IS_OWN = own.put("RLock", type(threading.RLock()))
    os.register_at_fork(after_in_child=own.forget_lines)
