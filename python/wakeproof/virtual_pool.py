# SPDX-License-Identifier: Apache-2.0
"""A pool of virtual threads: it bounds how many calls run, not how many threads there are.

  submit                                    its virtual thread
  make a thread, start it: never waits      wait for a permit, without a stack: any carrier goes on
  a future that is cancelled: interrupt     call; tell the future
  the thread, which leaves the line         ended, whatever happened: give the permit back

Spec: ``specs/Semaphore.tla`` (PermitBalance, InOrder).  Source: ``vthread.py``, ``semaphore.py``.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TextIO
from weakref import WeakSet

from wakeproof._admission import Permitted, admit, leave_line
from wakeproof._dump import LISTED, write
from wakeproof._handle import is_coroutine
from wakeproof._signal import Signal
from wakeproof.carrier import checked
from wakeproof.default import default_group
from wakeproof.errors import ClosedError, UsageError
from wakeproof.semaphore import MOST, Semaphore
from wakeproof.vthread import VirtualThread

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup

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


class VirtualThreadPool(Executor):
    """A virtual thread for each call, of which so many run at once; the others wait, parked.

    As `concurrent.futures.ThreadPoolExecutor`, but that threads are virtual and not used again: who
    blocks an OS thread blocks a carrier (`wakeproof.vthread`).  Calls of one submitter begin in
    their order, unless a carrier steals one of them.  The interpreter's end waits for all calls.

    Args:
        max_tasks: how many may run at once, 1 to `MOST`; None: any number.
        group: as of `VirtualThread`; default: `default_group`.
        name_prefix: of its threads' names, before a number; default: "virtual".
        tracking: a thread's name has what it calls behind it, for dumps.

    Threads: any.
    Spec: ``specs/Semaphore.tla`` (PermitBalance).  Source: this file.

    Raises:
        UsageError: `max_tasks` is out of range; `name_prefix` is no name, or blank.
    """

    def __init__(
        self,
        max_tasks: int | None = 200,
        *,
        group: CarrierGroup | Carrier | None = None,
        name_prefix: str | None = None,
        tracking: bool = False,
    ) -> None:
        if max_tasks is not None and (type(max_tasks) is not int or max_tasks not in _ALLOWED):
            raise UsageError(f"max_tasks is {max_tasks!r}; allowed: 1 to {MOST}, or None")
        if checked(name_prefix) is not None and not str(name_prefix).strip():
            raise UsageError(f"name_prefix is {name_prefix!r}; allowed: a name, or None")
        self._group = default_group() if group is None else group
        self._max_tasks, self._prefix, self._is_tracking = max_tasks, name_prefix, tracking
        self._permits = None if max_tasks is None else Semaphore(max_tasks)
        self._lock, self._numbers = threading.Lock(), itertools.count()
        self._calls: dict[Permitted, None] = {}
        self._submitted = self._ended = 0
        self._refuses: str | None = None  # why it does
        self._has_ended = Signal()  # all calls, of a pool that accepts no more
        _pools.add(self)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have ``fn(*args, **kwargs)`` run, which may be a coroutine function; never waits.

        Raises:
            ClosedError: it was shut down, or its group is closed (a RuntimeError as well).
        """
        return self._start(Permitted(fn, args, kwargs))

    def try_execute(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any] | None:
        """As `submit`, if it has a permit at once; None: there is none, or it was shut down."""
        if self._permits is not None and not self._permits._has_now(1):
            return None
        call = Permitted(fn, args, kwargs)
        call.has_permit = True
        try:
            return self._start(call)
        except ClosedError:
            return None

    def _start(self, call: Permitted) -> Future[Any]:
        body = call.run_coroutine if is_coroutine(call.fn) else call.run
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

    def _name(self, fn: Any) -> str | None:
        if self._prefix is None and not self._is_tracking:
            return None
        name = f"{self._prefix or 'virtual'}-{next(self._numbers)}"
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
            if self._refuses is not None and not self._calls:
                self._has_ended.set()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept nothing any more; wait until all calls have ended.

        Args:
            wait: whether to.
            cancel_futures: cancel what has not begun.

        Raises:
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        self._refuse("shutdown")
        if cancel_futures:
            for call in list(self._calls):
                call.future.cancel()
        if wait:
            self._has_ended.wait()

    def _refuse(self, why: str) -> None:
        with self._lock:
            self._refuses = self._refuses or why
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


_ALLOWED = range(1, MOST + 1)


def _end_all() -> None:
    """Wait for what was submitted, as `concurrent.futures` does before the interpreter ends."""
    for pool in list(_pools):
        pool._refuse("interpreter shutdown")
    for pool in list(_pools):
        pool._has_ended.wait()


atexit.register(_end_all)  # after that of groups, so called before it
os.register_at_fork(after_in_child=_pools.clear)
