# SPDX-License-Identifier: Apache-2.0
"""Calls that no poller can wait for run on OS threads of a pool, while the caller parks."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from wakeproof._runtime import process
from wakeproof._runtime.trampoline import here
from wakeproof.semaphore import Semaphore

P = ParamSpec("P")
T = TypeVar("T")
_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}  # by process: a forked child makes its own


def _pool() -> ThreadPoolExecutor:
    with _lock:
        pool = _pools.get(process.pid)
        if pool is None:
            _pools.clear()
            most = min(32, (os.cpu_count() or 1) + 4)
            pool = _pools[process.pid] = ThreadPoolExecutor(most, "wakeproof-offload")
        return pool


def begin(call: Callable[[], T]) -> tuple[Future[T], Semaphore]:
    """Have it called there; the semaphore has a permit when it has ended."""
    done = Semaphore(0)
    future = _pool().submit(contextvars.copy_context().run, call)
    future.add_done_callback(lambda _: done.release())
    return future, done


def offload(fn: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call `fn` on an OS thread of a pool, and park until it has returned.

    An OS thread calls it itself.  The pool has as many threads as CPUs and 4 more, at most 32.

    Raises:
        Whatever `fn` raises.
        ThreadInterruptedError: the caller was interrupted; the call goes on.
    """
    if here.thread is None:
        return fn(*arguments, **named)
    future, done = begin(lambda: fn(*arguments, **named))
    done.acquire()
    return future.result()
