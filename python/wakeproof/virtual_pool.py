# SPDX-License-Identifier: Apache-2.0
"""A pool of virtual threads: it bounds how many calls run, not how many threads there are.

  submit                                    its virtual thread
  make a thread, start it: never waits      wait for a permit, without a stack: any carrier goes on
  a future that is cancelled: interrupt     call; tell the future
  the thread, which leaves the line         ended, whatever happened: give the permit back

Spec: ``Semaphore.tla`` (PermitBalance, InOrder).  Source: ``vthread.py``, ``semaphore.py``.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TextIO, overload
from weakref import WeakSet

from wakeproof._runtime.admission import Permitted, admit, leave_line
from wakeproof._runtime.dump import LISTED, write
from wakeproof._runtime.future import lent
from wakeproof._runtime.held import naming
from wakeproof._runtime.signal import Signal
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.types import P, T
from wakeproof._runtime.vthread_base import is_coroutine
from wakeproof._runtime.workers import Workers, bound, either
from wakeproof.default import default_group
from wakeproof.errors import ClosedError
from wakeproof.semaphore import MOST, Semaphore
from wakeproof.vthread import VirtualThread

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup

_UNSAID: Any = object()
_pools: WeakSet[VirtualThreadPool] = WeakSet()  # a pool lives as long as its threads do


@dataclass(frozen=True)
class VirtualThreadPoolStatistics:
    """What a pool has done; ``submitted == ended + running + waiting``, once nobody changes it.

    Attributes:
        max_tasks: how many may run; None: any number.
        submitted: calls that were accepted.
        ended: have run, were cancelled, or could not be started.
        running: have a permit now.
        waiting: have none yet.
    """

    max_tasks: int | None
    submitted: int
    ended: int
    running: int
    waiting: int


class VirtualThreadPool(ThreadPoolExecutor):
    """A virtual thread for each call, of which so many run at once; the others wait, parked.

    As `concurrent.futures.ThreadPoolExecutor`, but that threads are virtual and not used again: who
    blocks an OS thread blocks a carrier (`wakeproof.vthread`).  A call that finds a permit free
    has it; the others wait in the order in which carriers come to them, that of their submission
    where there is one carrier.  The interpreter's end waits for all calls.

    Args:
        max_workers: how many calls may run at once, 1 to `MOST`; None: any number.
        thread_name_prefix: of its threads' names, before "_" and a number; default: as those of
            `VirtualThread`.
        initializer: is called with `initargs` by each thread, that is before each call; if it
            fails, the pool is broken: calls that have not begun raise BrokenThreadPool, and so does
            `submit`.
        group: as of `VirtualThread`; default: `default_group`.
        max_tasks: another name of `max_workers`.
        name_prefix: another name of `thread_name_prefix`.
        tracking: a thread's name has what it calls behind it, for dumps.

    Threads: any.
    Spec: ``specs/sync/Semaphore.tla`` (PermitBalance).  Source: this file.

    Raises:
        UsageError: `max_workers` is out of range; `thread_name_prefix` is no name, or blank.
    """

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
        self._is_named = prefix is not None or tracking
        self._group = default_group() if group is None else group
        self._max_tasks, self._is_tracking = most, tracking
        self._max_workers = MOST if most is None else most
        self._permits = None if most is None else Semaphore(most)
        self._lock = threading.Lock()
        self._calls: dict[Permitted, None] = {}
        self._submitted = self._ended = 0
        self._refuses: str | None = None  # why it does
        self._has_ended = Signal()  # all calls, of a pool that accepts no more
        self._inside: set[Permitted] = set()  # calls that wait for that themselves, and
        self._others_have = Signal()  # have ended: all but those
        _pools.add(self)

    @overload
    def submit(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]: ...
    @overload
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]: ...
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have ``fn(*args, **kwargs)`` run, which may be a coroutine function; never waits.

        Raises:
            ClosedError: it was shut down, or its group is closed (a RuntimeError as well).
            BrokenThreadPool: its initializer has failed (so too).
        """
        self._workers.check()
        call = Permitted(fn, args, kwargs, self._workers)
        if self._permits is not None and len(self._calls) < self._max_workers:
            call.has_permit = self._permits._has_now(1)  # nobody before it needs that
        return self._start(call)

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
        """As `submit`, if it has a permit at once; None: there is none, or it was shut down."""
        if self._permits is not None and not self._permits._has_now(1):
            return None
        call = Permitted(fn, args, kwargs, self._workers)
        call.has_permit = True
        try:
            return self._start(call)
        except ClosedError:
            return None

    def _start(self, call: Permitted) -> Future[Any]:
        body = call.run_coroutine if is_coroutine(call.fn) else call.run
        call.future.of(self._permits)
        thread = call.thread = VirtualThread(body, name=self._name(call.fn), group=self._group)
        thread._resume = partial(admit, call, self._permits)
        thread._done.call(partial(self._end, call))
        call.future.add_done_callback(partial(leave_line, thread))
        refuses, is_counted = None, False
        try:
            with self._lock:  # no call, behind which a signal handler might shut it down
                refuses = self._refuses
                if refuses is None:
                    self._calls[call] = None
                    self._submitted += 1
                    is_counted = True
            if refuses is not None:
                raise ClosedError(f"cannot schedule new futures after {refuses}")
            thread.start()
        except BaseException:  # Ctrl-C, too
            if not thread._is_started:
                self._leave(call, is_counted=is_counted)
            raise
        return call.future

    @property
    def _broken(self) -> bool:  # type: ignore[override] # as Python's own has it
        return self._workers.broken is not None

    def _name(self, fn: Any) -> str | None:
        if not self._is_named:
            return None
        name = self._workers.name()
        if self._is_tracking:
            name += f" {getattr(fn, '__qualname__', type(fn).__name__)}"
        return name

    def _end(self, call: Permitted) -> None:
        try:
            call.end()
        finally:  # a callback of the future may raise SystemExit
            self._leave(call, is_counted=True)

    def _leave(self, call: Permitted, *, is_counted: bool) -> None:
        if call.has_permit and self._permits is not None:
            self._permits.release()
        if is_counted:
            with self._lock:
                del self._calls[call]
                self._ended += 1
            self._look()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept nothing any more; wait until all calls have ended.

        Args:
            wait: whether to.  A call of this pool waits for the others, but those that wait so.
            cancel_futures: cancel what has not begun.

        Raises:
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        self._refuse("shutdown")
        if cancel_futures:
            for call in list(self._calls):
                call.future.cancel()
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

    def _interrupted(self) -> None:
        """End it after Ctrl-C: cancel what has not begun, and interrupt what has."""
        self._refuse("shutdown")
        begun = [call for call in list(self._calls) if not call.future.cancel()]
        for call in begun:  # which may end at once, and make room
            call.thread.interrupt()
        naming(
            "the end of a pool", self._has_ended.wait, lambda: [c.thread for c in list(self._calls)]
        )

    def _wait(self, call: Permitted | None) -> None:
        if call is None or call not in self._calls:
            self._has_ended.wait()
            return
        try:
            with lent(call):  # to those that have not begun
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
        """Tell those that wait for the end, if that has come."""
        if self._refuses is not None:
            if len(self._calls) <= len(self._inside):
                self._others_have.set()
            if not self._calls:
                self._has_ended.set()

    def statistics(self) -> VirtualThreadPoolStatistics:
        """Return how many calls are where."""
        calls = list(self._calls)
        if self._max_tasks is None or self._permits is None:
            running = sum(call.has_permit for call in calls)
        else:  # of one moment
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
        """Write `statistics` and what each thread of this pool does, those that wait as well.

        Arguments and errors as of `wakeproof.dump`.
        """
        about = {name: str(value) for name, value in asdict(self.statistics()).items()}
        alive = [call.thread for call in list(self._calls)]
        write(alive, file, format=format, limit=limit, overwrite=overwrite, about=about)


def _end_all() -> None:
    """Wait for what was submitted, as `concurrent.futures` does before the interpreter ends."""
    for pool in list(_pools):
        pool._refuse("interpreter shutdown")
    for pool in list(_pools):
        try:
            pool._has_ended.wait()
        except KeyboardInterrupt:
            pool._interrupted()


atexit.register(_end_all)  # after that of groups, so called before it
os.register_at_fork(after_in_child=_pools.clear)
