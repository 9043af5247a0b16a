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
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.offload import offload
from wakeproof._runtime.types import P, T
from wakeproof._runtime.workers import Workers, bound, either
from wakeproof.carrier import checked
from wakeproof.errors import ClosedError, ForkedError, StateError, UsageError, error_for

_MOST, _MORE = 2**15, 200  # the most threads: the limit, and the default
_counter = itertools.count()


@dataclass(frozen=True)
class QueuedThreadPoolStatistics:
    """The threads and jobs of a `QueuedThreadPool` at one moment.

    A *job* is anything that occupies a thread: a call, the wait of a reserved thread, or a lease.
    The number of running jobs is ``accepted - finished - closed - queued``.  All numbers are of the
    same moment, except `reserved`, which is read separately.

    Attributes:
        threads: all threads: `ready`, `leased` and `utilized` ones.
        idle: threads that have no job, or are on their way to one.
        reserved: threads that wait for `QueuedThreadPool.try_execute`.
        ready: idle and reserved threads.
        leased: threads that a lease keeps away from calls (`QueuedThreadPool.lease`).
        utilized: all other threads.
        max_leased: threads that are promised to leases and to the reserve.
        queued: calls that no thread has taken yet.
        accepted: jobs that the pool has accepted.
        finished: accepted jobs that have run.
        closed: accepted jobs that were cancelled in the queue.
        started: threads that were started.
        refused: threads that the system did not start.
        left: threads that ended because they were idle for too long.
        is_low: whether at most `low_threads` threads are free, or could be started, after each
            queued call has got one.
        is_closed: whether no more calls are accepted.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import QueuedThreadPool
        >>> with QueuedThreadPool(4, min_threads=1) as pool:
        ...     pool.submit(len, "abc").result(), pool.statistics().queued
        (3, 0)
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
    """A `concurrent.futures.ThreadPoolExecutor` that grows and shrinks with the work.

    Its threads are OS threads.  Calls begin in the order of their submission.  The pool starts no
    thread while an idle one can take the work, and an idle thread ends after `idle_timeout_s`.  The
    interpreter waits for all calls when it exits, as with Python's own pool.

    Args:
        max_workers: the most threads, 1 to 32,768; default: 200.
        thread_name_prefix: the names of its threads in `threading` are this, "_" and a number;
            default: "QueuedThreadPool-" and a number.
        initializer: a callable that each new thread first calls with `initargs`.  If it fails, the
            pool is broken: calls that have not begun raise BrokenThreadPool, and so does `submit`.
        initargs: the arguments of `initializer`; default: none.
        min_threads: threads that are started with the pool and kept, 0 to `max_workers`; default:
            8, or `max_workers` if that is less.
        max_threads: another name of `max_workers`.
        idle_timeout_s: seconds, 0 or more, after which an idle thread ends; default 60; None:
            threads never end while the pool is open.
        max_evict_count: the most threads that end in each `idle_timeout_s`, 1 to 32,768; default 1.
        reserved_threads: the most threads that wait for `try_execute`, less than `max_workers`;
            default: chosen from `max_workers` and the number of CPUs, but 0 with a
            `virtual_threads_executor`.
        name: the names that the system shows for its threads are this and a number, cut to 15
            bytes; default: the prefix, else "pool".
        low_threads: `QueuedThreadPoolStatistics.is_low` is true at this number of free threads or
            fewer, 0 to 32,768; default 1.
        tracking: whether dumps show what each thread calls; default False.
        virtual_threads_executor: an executor to which an `ExecutionStrategy` of this pool gives the
            tasks that may block; default None: this pool runs them.

    Threads: any thread may call all methods.
    Spec: ``Pool.tla`` (QtpCounterBalance, NoStrandedJob, NoSpuriousThread, StopDrainsOnce).
    Source: ``kernel/pool/pool.h``.

    Raises:
        UsageError: an argument is out of range.
        SystemCallError: there is no memory, or the system refused a thread.

    Example:
        >>> from wakeproof import QueuedThreadPool
        >>> with QueuedThreadPool(4, min_threads=1) as pool:
        ...     list(pool.map(abs, [-1, -2]))
        [1, 2]
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
        self._leases: set[threading.Event] = set()  # setting its event ends a lease
        self._finalizer = weakref.finalize(self, pool_jobs.leave, self._native, self._pid, number)
        self._finalizer.atexit = False
        pool_jobs.pools.add(self)

    def __repr__(self) -> str:
        return f"<QueuedThreadPool {self.name}>"

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue ``fn(*args, **kwargs)`` and return its future.

        The future can be cancelled until the call runs.

        Raises:
            ClosedError: the pool was shut down (a RuntimeError as well).
            BrokenThreadPool: the initializer has failed (a RuntimeError as well).
            SystemCallError: there is no memory, or the system refused the pool's first thread.
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
        """Run ``fn(*args, **kwargs)`` immediately, on a reserved thread, and return its future.

        A reserved thread is one that the pool keeps free for this method.  Returns None if none is
        free; the pool may then prepare one for a later call.

        Raises:
            BrokenThreadPool: the initializer has failed.
        """
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
        """Accept no more calls, and wait until all calls and threads have ended.

        A thread of this pool may call this too.  It then waits only for the other threads of the
        pool, and not for those that are in `shutdown` themselves.

        Args:
            wait: whether to wait; default True.
            cancel_futures: whether to cancel the calls that no thread has taken; default False.
        """
        if self._pid != _process.pid:
            return  # a forked child has none of its threads
        lib.wp_pool_close(self._native)
        self._end_leases()
        if cancel_futures:
            lib.wp_pool_drain(self._native)
        if wait:
            offload(pool_jobs.wait, self._native)  # a virtual thread parks

    def stop(self, timeout_s: float | None = None) -> bool:
        """Shut the pool down in two halves of a time: run what is queued, then cancel it.

        From now on the pool accepts no calls.  For the first half of the time it goes on to run
        those that are queued; then it cancels the queued ones, and waits for those that run.

        Args:
            timeout_s: seconds, 0 or more; default None: run all, without a limit.

        Returns True if all calls have ended; False if some still run: call `stop` again.

        Raises:
            UsageError: `timeout_s` is negative or not a number.
        """
        begin, until = lib.wp_clock_ns(), deadline_ns(timeout_s)
        if self._pid != _process.pid:
            return True  # a forked child has none of its threads
        half = until if until in (0, lib.WP_FOREVER) else begin + (until - begin) // 2
        self.shutdown(wait=False)
        if offload(pool_jobs.wait, self._native, half):
            return True
        lib.wp_pool_drain(self._native)
        return offload(pool_jobs.wait, self._native, until)

    def statistics(self) -> QueuedThreadPoolStatistics:
        """Return the numbers of threads and calls by state."""
        self._check_process()
        counts = ffi.new("wp_pool_counts *")
        lib.wp_pool_counts_read(self._native, counts)
        fields = QueuedThreadPoolStatistics.__dataclass_fields__
        return QueuedThreadPoolStatistics(**{name: getattr(counts, name) for name in fields})

    @contextmanager
    def lease(self, threads: int) -> Iterator[None]:
        """Keep this number of threads away from all calls, as long as the block lasts.

        A component that starts threads of its own takes a lease for their number, so that the pool
        and the component together have at most `max_workers` busy threads.  Calls that run or are
        queued already go first: the lease gets each thread when that thread becomes free.  A
        shutdown ends the lease.

        Args:
            threads: the number of threads, 0 or more.

        Raises:
            StateError: no thread would be left for calls.
            ClosedError: the pool was shut down.
            UsageError: `threads` is out of range.

        Example:
            >>> from wakeproof import QueuedThreadPool
            >>> with QueuedThreadPool(4, min_threads=1, reserved_threads=0) as pool:
            ...     with pool.lease(2):
            ...         pool.statistics().max_leased
            2
        """
        self._check_process()
        count = _number("threads", threads, 0, _MOST)
        if lib.wp_pool_lease(self._native, count) != lib.WP_OK:
            raise StateError(
                f"lease {threads} threads of {self.name}: none would be left; lease fewer, or "
                "give the pool more max_workers"
            )
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
        """Write one line for the pool and one for each thread; to stderr by default."""
        self._check_process()
        # room for threads that start meanwhile
        size = lib.wp_pool_dump(self._native, ffi.new("char[]", 1), 1) + 4096
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
