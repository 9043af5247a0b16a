# SPDX-License-Identifier: Apache-2.0
"""A pool of virtual threads, which limits how many calls run and not how many threads there are.

  submit                                    its virtual thread
  make a thread, start it: never waits      wait for a permit, without a stack, then run on any
                                            carrier
  a future that is cancelled: interrupt     call; set the future's result
  the thread, which leaves the queue        ended, whatever happened: give the permit back

Spec: ``Semaphore.tla`` (PermitBalance, InOrder).  Source: ``vthread.py``, ``semaphore.py``.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TextIO, overload
from weakref import WeakSet

from wakeproof._runtime import admission as admission  # it has the class of calls
from wakeproof._runtime import calls
from wakeproof._runtime.brief import BriefLock
from wakeproof._runtime.dump import LISTED, write
from wakeproof._runtime.future import lent
from wakeproof._runtime.held import naming
from wakeproof._runtime.signal import Signal
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.types import P, T
from wakeproof._runtime.workers import Workers, bound, either
from wakeproof.default import default_group
from wakeproof.errors import ClosedError
from wakeproof.semaphore import MOST, Semaphore
from wakeproof.vthread import VirtualThread

if TYPE_CHECKING:
    from wakeproof._runtime.admission import Permitted
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup

_UNSAID: Any = object()
_pools: WeakSet[VirtualThreadPool] = WeakSet()  # the threads of a pool keep it alive


@dataclass(frozen=True)
class VirtualThreadPoolStatistics:
    """The calls of a pool; ``submitted == ended + running + waiting`` once the pool is quiet.

    Attributes:
        max_tasks: the most calls that may run at the same time; None: no limit.
        submitted: calls that were accepted.
        ended: accepted calls that have run, were cancelled, or could not be started.
        running: calls that have a permit now.
        waiting: calls that have no permit yet.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThreadPool
        >>> with CarrierGroup(1) as group:
        ...     with VirtualThreadPool(2, group=group) as pool:
        ...         value = pool.submit(len, "abc").result()
        ...     pool.statistics()  # doctest: +NORMALIZE_WHITESPACE
        VirtualThreadPoolStatistics(max_tasks=2, submitted=1, ended=1, running=0,
                                    waiting=0)
    """

    max_tasks: int | None
    submitted: int
    ended: int
    running: int
    waiting: int


class VirtualThreadPool(calls.PoolCore, ThreadPoolExecutor):
    """A pool that runs each call in a new virtual thread, and limits how many run at a time.

    It behaves as `concurrent.futures.ThreadPoolExecutor`, except that its threads are virtual
    (`VirtualThread`) and are not reused.  A virtual thread runs on a carrier, an OS thread of its
    group; `wakeproof.vthread` says which waits block the carrier, and which do not.

    Each call needs a permit to run.  A call that finds a free permit takes it.  The other calls
    park and get permits in the order in which they parked; with one carrier this is the order of
    submission.  The interpreter waits for all calls when it exits.

    Args:
        max_workers: the most calls that run at a time, 1 to `wakeproof.semaphore.MOST`;
            default 200; None: no limit.
        thread_name_prefix: the names of its threads are this, "_" and a number; default: names as
            `VirtualThread` gives.
        initializer: a callable that each thread, and so each call, first calls with `initargs`.  If
            it fails, the pool is broken: calls that have not begun raise BrokenThreadPool, and so
            does `submit`.
        initargs: the arguments of `initializer`; default: none.
        group: the `CarrierGroup`, or the `Carrier` of one, that runs the threads; default:
            `default_group`.
        max_tasks: another name of `max_workers`.
        name_prefix: another name of `thread_name_prefix`.
        tracking: whether a thread's name ends with the name of what it calls, for dumps; default
            False.

    Threads: any thread may call all methods.
    Spec: ``specs/sync/Semaphore.tla`` (PermitBalance).  Source: this file.

    Raises:
        UsageError: `max_workers` is out of range, or `thread_name_prefix` is blank, or is not a str
            without NUL.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThreadPool
        >>> with CarrierGroup(2) as group, VirtualThreadPool(10, group=group) as pool:
        ...     list(pool.map(abs, [-1, -2]))
        [1, 2]
    """

    _kind = "a pool"

    def __init__(
        self,
        max_workers: int | None = 200,
        thread_name_prefix: str = "",
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        *,
        group: CarrierGroup | Carrier | None = None,
        max_tasks: int | None = _UNSAID,
        name_prefix: str | None = None,
        tracking: bool = False,
    ) -> None:
        most = max_workers if max_tasks is _UNSAID else max_tasks
        if most is not None:
            most = bound(most, MOST)
        prefix = either(
            "thread_name_prefix", thread_name_prefix or None, "name_prefix", name_prefix
        )
        self._workers = Workers("virtual" if prefix is None else prefix, initializer, initargs)
        self._is_named, self._prepares = prefix is not None or tracking, initializer is not None
        self._group = self._default_group() if group is None else group
        self._max_tasks, self._is_tracking = most, tracking
        self._max_workers = MOST if most is None else most
        self._permits = None if most is None else Semaphore(most)
        self._lock = BriefLock()
        self._calls = {}
        self._submitted = self._ended = 0
        self._refuses = None  # the reason, once the pool accepts no more calls
        self._has_ended = Signal()  # set when the pool is shut down and no call is left
        # Calls of this pool that wait for its end, and a signal that the others have ended.
        self._inside = set()
        self._others_have = Signal()
        _pools.add(self)

    def _default_group(self) -> CarrierGroup | None:
        return default_group()

    @overload
    def submit(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]: ...
    @overload
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]: ...
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn(*args, **kwargs)`` and return its future; this never waits.

        `fn` may be a coroutine function.

        Raises:
            ClosedError: the pool was shut down, or its group is closed (a RuntimeError as well).
            BrokenThreadPool: the initializer has failed (a RuntimeError as well).
        """
        return self._submit((fn, *args), kwargs)

    @overload
    def try_execute(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T] | None: ...
    @overload
    def try_execute(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T] | None: ...
    def try_execute(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any] | None:
        """Run the call as `submit` does, if a permit is free now.

        Returns None if there is no permit, or if the pool was shut down.
        """
        try:
            return self._try_start(fn, *args, **kwargs)
        except ClosedError:
            return None

    def _refuse_call(self) -> None:
        raise ClosedError(f"cannot schedule new futures after {self._refuses}")

    @property
    def _broken(self) -> bool:  # type: ignore[override] # as Python's own has it
        return self._workers.broken is not None

    def _name(self, fn: Any) -> str:
        """Return the name of the thread of a call, if its threads have names of their own."""
        name = self._workers.name()
        if self._is_tracking:
            name += f" {getattr(fn, '__qualname__', type(fn).__name__)}"
        return name

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls, and wait until all have ended.

        A call of this pool may call this too.  It then waits only for the other calls of the pool,
        and not for those that are in `shutdown` themselves.

        Args:
            wait: whether to wait; default True.
            cancel_futures: whether to cancel the calls that have not begun; default False.

        Raises:
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        self._refuse("shutdown")
        if cancel_futures:
            self._cancel()
        if wait:
            self._wait(None if here.thread is None else here.thread._permitted)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            try:
                self.shutdown()
            except KeyboardInterrupt:
                self._interrupted()
                raise
        else:
            self._interrupted()

    def _cancel(self) -> list[Permitted]:
        """Cancel the calls that have not begun, and return the others."""
        return [call for call in list(self._calls) if not call.future.cancel()]

    def _interrupted(self) -> None:
        """Shut down after Ctrl-C: cancel calls that have not begun, interrupt the others."""
        self._refuse("shutdown")
        for call in self._cancel():  # a call may end immediately, and give its permit to another
            call.leave_line()
        naming(f"the end of {self._kind}", self._has_ended.wait, self._alive)

    def _wait(self, call: Permitted | None) -> None:
        if call is None or call not in self._calls:
            self._has_ended.wait()
            return
        try:
            with lent(call):  # its permit goes to calls that have not begun
                self._inside.add(call)
                self._look()
                self._others_have.wait()
        finally:
            self._inside.discard(call)

    def _refuse(self, why: str) -> None:
        with self._lock:
            self._refuses = self._refuses or why
        self._look()

    def _look(self) -> None:
        """Wake the threads that wait for the end of this pool, if it has ended."""
        if self._refuses is not None:
            if len(self._calls) <= len(self._inside):
                self._others_have.set()
            if not self._calls:
                self._has_ended.set()

    def _alive(self) -> list[VirtualThread]:
        return [call.thread for call in list(self._calls)]

    def statistics(self) -> VirtualThreadPoolStatistics:
        """Return the numbers of calls by state."""
        calls = list(self._calls)
        if self._max_tasks is None or self._permits is None:
            running = sum(call.has_permit for call in calls)
        else:  # all numbers of one moment
            running = self._max_tasks - self._permits.permits
        waiting = max(0, len(calls) - running)
        return VirtualThreadPoolStatistics(
            self._max_tasks, self._submitted, self._ended, running, waiting
        )

    def dump(
        self,
        file: str | os.PathLike[str] | TextIO | None = None,
        *,
        format: Literal["text", "json"] = "text",  # noqa: A002 - as `wakeproof.dump`
        limit: int = LISTED,
        overwrite: bool = False,
    ) -> None:
        """Write `statistics`, and what each thread of this pool does, waiting threads included.

        Arguments and errors are those of `wakeproof.dump`.
        """
        about = {name: str(value) for name, value in asdict(self.statistics()).items()}
        write(self._alive(), file, format=format, limit=limit, overwrite=overwrite, about=about)


if calls.IN_C:
    del VirtualThreadPool.submit  # that of `PoolCore` needs no frame of Python


def _await_end(pool: VirtualThreadPool) -> None:
    pool._has_ended.wait()


def _end_all() -> None:
    """Wait for what was submitted, as `concurrent.futures` does before the interpreter ends."""
    for pool in list(_pools):
        pool._refuse("interpreter shutdown")
    for pool in list(_pools):
        try:
            _await_end(pool)
        except KeyboardInterrupt:
            pool._interrupted()


atexit.register(_end_all)  # registered after the handler of groups, so called before it
os.register_at_fork(after_in_child=_pools.clear)
