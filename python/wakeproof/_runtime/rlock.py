# SPDX-License-Identifier: Apache-2.0
"""Let a virtual thread park while it waits for a ``threading.RLock``.

  waiter                                  thread that releases the lock for the last time
  in the queue; a new signal              the lock is free
  try the lock; else wait for the signal  is there a first waiter? set its signal
  has it, or gives up: out of the queue;
  after giving up it wakes the next

The GIL orders the steps of waiter and releaser, so the second of the two sees the step of the
first.  The first waiter stays first until it has the lock or gives up; hence a free lock with a
queue always has an awake waiter.  OS threads block as without wakeproof, and may get the lock
before a waiter.

Source: ``own.c``; this file.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from wakeproof._runtime import process
from wakeproof._runtime.here import ARE_OWN
from wakeproof._runtime.signal import Signal


class _Waiter:
    """One virtual thread in the queue of one lock."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal = Signal()


def _wait(lock: Any, timeout_s: float) -> bool:
    """Wait for the lock; return False if the time ran out; a negative time is no limit.

    Raises:
        ThreadInterruptedError: the caller was interrupted.
    """
    until = None if timeout_s < 0 else time.monotonic() + timeout_s
    waiter, has = _Waiter(), False
    own.stand(lock, waiter)
    try:
        while True:
            waiter.signal = Signal()
            has = bool(lock.acquire(False))
            rest = None if until is None else until - time.monotonic()
            if has or (rest is not None and rest <= 0):
                return has
            waiter.signal.wait(rest)
    finally:
        own.step_out(lock, waiter)
        if not has:
            _wake(lock)


def _wake(lock: object) -> None:
    """Set the signal of the first waiter, also if Ctrl-C comes in between."""
    try:
        _wake_once(lock)
    except BaseException:
        _wake_once(lock)
        raise


def _wake_once(lock: object) -> None:
    waiter = own.first(lock)
    # a forked child has the queue, but no carriers
    if waiter is not None and os.getpid() == process.pid:
        waiter.signal.set()


IS_OWN = False  # whether a virtual thread may own an RLock
if ARE_OWN:
    from wakeproof._native import own

    IS_OWN = own.install(type(threading.RLock()), _wait, _wake)
