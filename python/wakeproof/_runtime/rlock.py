# SPDX-License-Identifier: Apache-2.0
"""How a virtual thread waits for a ``threading.RLock``: it leaves its carrier.

  waiter                                  whoever releases it the last time
  in line; a new signal                   the lock is free
  try the lock; else wait for the signal  the first in line? set its signal
  has it, or gives up: out of the line; who gives up tells the next

Of waiter and releaser one comes second and sees the other: the GIL orders them.  Who is first in
line stays so until it has the lock or gives up; hence a free lock with a line has somebody awake.
OS threads block as ever, and may come first.

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
    """One virtual thread in one line."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal = Signal()


def _wait(lock: Any, timeout_s: float) -> bool:
    """Wait for it; negative: for ever.  False: the time ran out.

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
    """Set the signal of the first in line, also if Ctrl-C comes in between."""
    try:
        _wake_once(lock)
    except BaseException:
        _wake_once(lock)
        raise


def _wake_once(lock: object) -> None:
    waiter = own.first(lock)
    if waiter is not None and os.getpid() == process.pid:  # a child has the line, but no carriers
        waiter.signal.set()


IS_OWN = False  # whether an RLock's owner may be a virtual thread
if ARE_OWN:
    from wakeproof._native import own

    IS_OWN = own.install(type(threading.RLock()), _wait, _wake)
