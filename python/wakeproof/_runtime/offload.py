# SPDX-License-Identifier: Apache-2.0
"""Run calls that would block a carrier on OS threads of a pool, while the caller parks."""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.thread import _worker
from typing import Any, ParamSpec, TypeVar

from wakeproof._runtime import process
from wakeproof._runtime.os_threads import os_threads
from wakeproof._runtime.trampoline import here
from wakeproof.semaphore import Semaphore

P = ParamSpec("P")
T = TypeVar("T")
_lock = threading.Lock()
_pending: set[Future[Any]] = set()  # the calls that have not ended
_pools: dict[int, ThreadPoolExecutor] = {}  # by process: a forked child makes a pool of its own


def _pool() -> ThreadPoolExecutor:
    with _lock:
        pool = _pools.get(process.pid)
        if pool is None:
            _pools.clear()
            most = min(32, (os.cpu_count() or 1) + 4)
            pool = _pools[process.pid] = ThreadPoolExecutor(most, "wakeproof-offload")
        return pool


def begin(call: Callable[[], T]) -> tuple[Future[T], Semaphore]:
    """Start the call on the pool; the semaphore has a permit when the call has ended."""
    done = Semaphore(0)
    context = contextvars.copy_context()
    with os_threads():
        future = _pool().submit(context.run, call)
    _pending.add(future)
    future.add_done_callback(lambda _: done.release())
    future.add_done_callback(_pending.discard)  # after the release
    return future, done


def idle_threads() -> set[int] | None:
    """Return the OS threads of the pool if all wait for a call; None: one does not."""
    pool = _pools.get(process.pid)
    if _pending:
        return None
    idle = set() if pool is None else {thread.ident or 0 for thread in list(pool._threads)}
    frames = sys._current_frames()
    # above this frame may be a finalizer of what a call has returned
    is_idle = all(one in frames and frames[one].f_code is _worker.__code__ for one in idle)
    return idle if is_idle else None


os.register_at_fork(after_in_child=_pending.clear)


def offload(fn: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call `fn` on an OS thread of a pool, and park until `fn` has returned.

    Use it in a virtual thread (`VirtualThread`) for a call that would block the carrier, the OS
    thread that runs the virtual thread.  If the caller is an OS thread, it calls `fn` itself.  The
    pool has four threads more than there are CPUs, but at most 32.

    Threads: any thread may call it.

    Raises:
        Whatever `fn` raises.
        ThreadInterruptedError: the caller was interrupted; the call continues.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThread, io
        >>> with CarrierGroup(1) as group:
        ...     VirtualThread(io.offload, len, "abc", group=group).start().result()
        3
    """
    if here.thread is None:
        return fn(*arguments, **named)
    future, done = begin(lambda: fn(*arguments, **named))
    done.acquire()
    return future.result()
