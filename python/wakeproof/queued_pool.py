# SPDX-License-Identifier: Apache-2.0
"""A pool of OS threads that grows and shrinks, with one queue.

Spec: ``specs/pool/Pool.tla``, ``Reserve.tla``.  Source: ``kernel/pool/pool.h``, ``reserve.h``.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import pool_jobs
from wakeproof._runtime import process as _process
from wakeproof._runtime.call import Call
from wakeproof._runtime.offload import offload
from wakeproof._runtime.types import P, T
from wakeproof._runtime.workers import Workers, bound, either
from wakeproof.carrier import checked
from wakeproof.errors import ClosedError, ForkedError, StateError, UsageError, error_for

_MOST, _MORE = 2**15, 200  # threads: what is allowed, and without a word
_counter = itertools.count()


@dataclass(frozen=True)
class QueuedThreadPoolStatistics:
    """What a pool has and has done, at one moment but for what waits reserved.

    ``accepted == finished + closed + queued`` and what runs, the reserve's own jobs as well.

    Attributes:
        threads: ready, leased and utilized ones.
        idle: threads that rest, or are on their way to a job.
        reserved: threads that wait for `QueuedThreadPool.try_execute`.
        ready: idle and reserved ones.
        leased: kept by leases, and not ready.
        utilized: the others.
        max_leased: what is leased, with the reserve.
        queued: calls that no thread has yet.
        accepted: jobs, also of the reserve and of leases.
        finished: of these have run.
        closed: of these were cancelled in the queue.
        started: threads.
        refused: threads that the system would not start.
        left: threads that had nothing to do for too long.
        is_low: few threads are free, or could be started, beyond what is queued.
        is_closed: nothing is accepted any more.
    """

    threads: int
    idle: int
    reserved: int
    ready: int
    leased: int
    utilized: int
    max_leased: int
    queued: int
    accepted: int
    finished: int
    closed: int
    started: int
    refused: int
    left: int
    is_low: bool
    is_closed: bool


class QueuedThreadPool(ThreadPoolExecutor):
    """A `concurrent.futures.ThreadPoolExecutor` whose threads come and go with the work.

    Calls begin in the order of their submission.  Few threads do what few can; who has nothing to
    do for too long leaves.  The interpreter's end waits for all calls, as with Python's own.

    Args:
        max_workers: threads at the most, 1 to 32,768; default: 200.
        thread_name_prefix: of its threads' names in `threading`, before "_" and a number; default:
            "QueuedThreadPool-" and a number.
        initializer: is called with `initargs` by each new thread, first; if it fails, the pool is
            broken: calls that have not begun raise BrokenThreadPool, and so does `submit`.
        min_threads: started at once, and kept; default: 8, at most `max_workers`.
        max_threads: another name of `max_workers`.
        idle_timeout_s: until one that is not needed leaves; None: never.
        max_evict_count: how many leave in that time, at the most.
        reserved_threads: how many, at the most, wait for `try_execute`; default: by `max_workers`
            and CPUs; none with a `virtual_threads_executor`.
        name: of its threads in the system, with a number behind, which shows 15 bytes of both;
            default: the prefix, else "pool".
        low_threads: `QueuedThreadPoolStatistics.is_low` from so few free threads on.
        tracking: dumps say what each thread calls.
        virtual_threads_executor: has what may block of an `ExecutionStrategy` over this pool.

    Threads: any.
    Spec: ``Pool.tla`` (QtpCounterBalance, NoStrandedJob, NoSpuriousThread, StopDrainsOnce).
    Source: ``kernel/pool/pool.h``.

    Raises:
        UsageError: an argument is out of range.
        SystemCallError: no memory, or no thread.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        thread_name_prefix: str = "",
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        *,
        min_threads: int | None = None,
        max_threads: int | None = None,
        idle_timeout_s: float | None = 60.0,
        max_evict_count: int = 1,
        reserved_threads: int | None = None,
        name: str | None = None,
        low_threads: int = 1,
        tracking: bool = False,
        virtual_threads_executor: Executor | None = None,
    ) -> None:
        most = either("max_workers", max_workers, "max_threads", max_threads)
        most = bound(_MORE if most is None else most, _MOST)
        least = min(8, most) if min_threads is None else min_threads
        if reserved_threads is None:
            reserved_threads = -1 if virtual_threads_executor is None else 0
        config = ffi.new("wp_pool_config *")
        lib.wp_pool_config_init(config)
        config.min, config.max = _number("min_threads", least, 0, most), most
        config.idle_ns = pool_jobs.idle_ns(idle_timeout_s)
        config.evictions = _number("max_evict_count", max_evict_count, 1, _MOST)
        config.reserved = _number("reserved_threads", reserved_threads, -1, most - 1)
        config.low = _number("low_threads", low_threads, 0, _MOST)
        name = thread_name_prefix or "pool" if name is None else name
        if not isinstance(name, str) or not checked(name):
            raise UsageError(f"name is {name!r}; allowed: a str without NUL, not empty")
        text = ffi.new("char[]", name.encode(errors="replace"))
        config.name = text
        prefix = thread_name_prefix or f"QueuedThreadPool-{next(_counter)}"
        self._workers = Workers(prefix, initializer, initargs)
        pool_jobs.reap()
        number = pool_jobs.begins(self._workers, config)
        made = ffi.new("wp_pool **")
        code = lib.wp_pool_new(config, made)
        if code != lib.WP_OK:
            pool_jobs.workers.pop(number)
            raise error_for(code, f"pool of {least} to {most}: {os.strerror(ffi.errno)}")
        self._native, self._pid, self._max_workers = made[0], _process.pid, most
        self.name, self.virtual_threads_executor = name, virtual_threads_executor
        self._is_tracking, self._refuses = tracking, "shutdown"
        self._leases: set[threading.Event] = set()  # what ends each
        self._finalizer = weakref.finalize(self, pool_jobs.leave, self._native, self._pid, number)
        self._finalizer.atexit = False
        pool_jobs.pools.add(self)

    def __repr__(self) -> str:
        return f"<QueuedThreadPool {self.name}>"

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have ``fn(*args, **kwargs)`` run; its future can be cancelled until it runs.

        Raises:
            ClosedError: it was shut down (a RuntimeError as well).
            BrokenThreadPool: its initializer has failed (so too).
            SystemCallError: no memory, or the system refuses its first thread.
        """
        self._check_process()
        self._workers.check()
        call = Call(fn, args, kwargs)
        number, job = pool_jobs.enter(call, self._tag(fn), self._workers)
        code = lib.wp_pool_execute(self._native, job)
        if code == lib.WP_OK:
            return call.future
        pool_jobs.forget(number)
        if code == lib.WP_CLOSED:
            raise ClosedError(f"cannot schedule new futures after {self._refuses}")
        raise error_for(code, f"submit to {self.name}: {os.strerror(ffi.errno)}")

    def try_execute(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T] | None:
        """Have a reserved thread run it now; None: none waits, one more may be on its way."""
        self._check_process()
        self._workers.check()
        call = Call(fn, args, kwargs)
        number, job = pool_jobs.enter(call, self._tag(fn), self._workers)
        if lib.wp_pool_try_execute(self._native, job):
            return call.future
        pool_jobs.forget(number)
        return None

    @property
    def _broken(self) -> bool:  # type: ignore[override] # as Python's own has it
        return self._workers.broken is not None

    def _tag(self, fn: Any) -> str | None:
        return getattr(fn, "__qualname__", type(fn).__name__) if self._is_tracking else None

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept nothing any more; wait until all calls have ended, and the threads have left.

        Args:
            wait: whether to.  A thread of this pool waits for the others, but those that wait so.
            cancel_futures: cancel what no thread has yet.
        """
        if self._pid != _process.pid:
            return  # a forked child has none of its threads
        lib.wp_pool_close(self._native)
        self._end_leases()
        if cancel_futures:
            lib.wp_pool_drain(self._native)
        if wait:
            offload(pool_jobs.wait, self._native)  # a virtual thread parks

    def statistics(self) -> QueuedThreadPoolStatistics:
        """Return how many threads and calls are where."""
        self._check_process()
        counts = ffi.new("wp_pool_counts *")
        lib.wp_pool_counts_read(self._native, counts)
        fields = QueuedThreadPoolStatistics.__dataclass_fields__
        return QueuedThreadPoolStatistics(**{name: getattr(counts, name) for name in fields})

    @contextmanager
    def lease(self, threads: int) -> Iterator[None]:
        """Keep so many threads from all calls, as long as the block lasts.

        For what has threads of its own, so that both together are as many as `max_workers`.  Those
        that run or are queued already go first: each kept thread is one that comes free.  A
        shutdown ends it.

        Raises:
            StateError: none would be left for others.
            ClosedError: it was shut down.
        """
        self._check_process()
        count = _number("threads", threads, 0, _MOST)
        if lib.wp_pool_lease(self._native, count) != lib.WP_OK:
            raise StateError(f"lease {threads} threads of {self.name}: none would be left")
        gate, kept = threading.Event(), list[Future[Any]]()
        self._leases.add(gate)
        try:
            for _ in range(count):
                kept.append(self.submit(_lease, gate))
            yield
        finally:
            self._leases.discard(gate)
            gate.set()
            for future in kept:
                future.cancel()
            lib.wp_pool_unlease(self._native, count)

    def _end_leases(self) -> None:
        for gate in list(self._leases):
            gate.set()

    def dump(self, file: TextIO | None = None) -> None:
        """Write a line for the pool and one for each thread; to stderr by default."""
        self._check_process()
        size = lib.wp_pool_dump(self._native, ffi.new("char[]", 1), 1) + 4096  # some may come
        text = ffi.new("char[]", size)
        lib.wp_pool_dump(self._native, text, size)
        (file or sys.stderr).write(ffi.string(text).decode(errors="replace"))

    def _check_process(self) -> None:
        if self._pid != _process.pid:
            raise ForkedError(f"{self.name} belongs to process {self._pid}: make one of your own")


def _lease(gate: threading.Event) -> None:
    gate.wait()


def _number(what: str, given: object, least: int, most: int) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise UsageError(f"{what} is {given!r}; allowed: {least} to {most}")
    return given
