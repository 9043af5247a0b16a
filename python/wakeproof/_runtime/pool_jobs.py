# SPDX-License-Identifier: Apache-2.0
"""The calls that pools of OS threads have accepted, by number, and the pools until they are freed.

A pool without references runs the calls that it has accepted, and is freed when its threads have
ended.
Source: ``kernel/pool/pool.h``.
"""

from __future__ import annotations

import atexit
import itertools
import os
from concurrent.futures.thread import BrokenThreadPool
from typing import TYPE_CHECKING
from weakref import WeakSet

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import process
from wakeproof._runtime.deadline import _is_time
from wakeproof._runtime.here import drop_at_end
from wakeproof._runtime.workers import Workers, enlist, strike
from wakeproof.errors import UsageError

if TYPE_CHECKING:
    from wakeproof._native.ffi import CJob, CPath, CPointer, CPool, CPoolConfig
    from wakeproof._runtime.call import Call
    from wakeproof.queued_pool import QueuedThreadPool

pools: WeakSet[QueuedThreadPool] = WeakSet()
workers: dict[int, Workers] = {}  # the workers of each pool, until it is freed
_leaving: list[tuple[CPool, int]] = []
_calls: dict[int, tuple[Call, CJob, CPath | None, Workers]] = {}
_tags: dict[str, CPath] = {}  # kept for ever: a dump may read one at any time
_numbers = itertools.count(1)


def _run(arg: CPointer) -> None:
    call, _, tag, of = _calls.pop(int(ffi.cast("uintptr_t", arg)))
    if tag is not None:
        lib.wp_pool_tag(tag)
    if of.broken is None:
        call.run()
    else:
        call.fail(BrokenThreadPool(of.broken))


def _begin(arg: CPointer) -> None:
    """Prepare a thread of the pool, before its first call."""
    of = workers[int(ffi.cast("uintptr_t", arg))]
    drop_at_end()
    enlist(of.name())
    of.prepare()


def _end(_: CPointer) -> None:
    strike()


def _close(arg: CPointer) -> None:
    call = _calls.pop(int(ffi.cast("uintptr_t", arg)))[0]
    call.future.cancel()
    call.begins()  # wakes the threads that wait for the future


_RUN = ffi.callback("void(void *)", _run)
_CLOSE = ffi.callback("void(void *)", _close)
_BEGIN, _END = ffi.callback("void(void *)", _begin), ffi.callback("void(void *)", _end)


def begins(of: Workers, config: CPoolConfig) -> int:
    """Set the begin and end callbacks of the pool's threads; return its number in `workers`."""
    number = next(_numbers)
    workers[number] = of
    config.begin, config.end, config.arg = _BEGIN, _END, ffi.cast("void *", number)
    return number


def enter(call: Call, tag: str | None, of: Workers) -> tuple[int, CJob]:
    """Give the call a number and a job of the kernel; both stay until the call runs."""
    number, job = next(_numbers), ffi.new("wp_job *")
    job.run, job.close, job.arg = _RUN, _CLOSE, ffi.cast("void *", number)
    text = None
    if tag is not None:
        text = _tags.get(tag)
        if text is None:
            text = _tags.setdefault(tag, ffi.new("char[]", tag.encode(errors="replace")))
    _calls[number] = call, job, text, of
    return number, job


def forget(number: int) -> None:
    """Forget a call that the pool has refused."""
    del _calls[number]


def idle_ns(timeout_s: float | None) -> int:
    """Return the nanoseconds of an idle timeout; None gives WP_FOREVER.

    Raises:
        UsageError: `timeout_s` is negative or not a number.
    """
    if timeout_s is None:
        return lib.WP_FOREVER
    if not _is_time(timeout_s):
        raise UsageError(f"idle_timeout_s is {timeout_s!r}; allowed: 0 or more seconds, or None")
    return int(min(timeout_s * 1e9, 2.0**62))


def wait(native: CPool, deadline: int = lib.WP_FOREVER) -> bool:
    """Wait until the pool's threads have ended; signal handlers run meanwhile.

    Returns False if the time ran out.
    """
    while (code := lib.wp_pool_wait(native, deadline)) == lib.WP_INTERRUPTED:
        pass
    return code == lib.WP_OK


def leave(native: CPool, pid: int, number: int) -> None:
    """Close a pool to which no reference is left."""
    if pid == process.pid:
        lib.wp_pool_close(native)
        _leaving.append((native, number))
        reap()


def reap() -> None:
    """Free the pools without threads, unless the caller is a thread of a pool."""
    if lib.wp_pool_current():
        return
    for _ in range(len(_leaving)):
        try:
            native, number = _leaving.pop(0)
        except IndexError:  # another thread reaps
            return
        if lib.wp_pool_wait(native, 0) == lib.WP_OK:
            lib.wp_pool_free(native)
            workers.pop(number, None)
        else:
            _leaving.append((native, number))


def _end_all() -> None:
    """Wait for what was submitted, as `concurrent.futures` does before the interpreter ends."""
    for pool in list(pools):
        pool._refuses = "interpreter shutdown"
        lib.wp_pool_close(pool._native)
        pool._end_leases()
    for pool in list(pools):
        wait(pool._native)
    for native, _ in _leaving:
        wait(native)


def _forget_all() -> None:
    """Forget the pools of the parent in a forked child, which has none of their threads."""
    pools.clear()
    _leaving.clear()
    _calls.clear()
    workers.clear()


atexit.register(_end_all)
os.register_at_fork(after_in_child=_forget_all)
