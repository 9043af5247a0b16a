# SPDX-License-Identifier: Apache-2.0
"""An executor that starts a new virtual thread for each call.

Spec: ``specs/thread/VThread.tla`` (TerminationVisible).  Source: ``vthread.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, overload

from wakeproof._runtime.brief import BriefLock
from wakeproof._runtime.future import Future
from wakeproof._runtime.held import naming
from wakeproof._runtime.signal import Signal
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.types import P, T
from wakeproof._runtime.workers import Workers
from wakeproof.carrier import Carrier
from wakeproof.errors import ClosedError
from wakeproof.group import CarrierGroup
from wakeproof.semaphore import MOST
from wakeproof.vthread import VirtualThread


class VirtualThreadExecutor(ThreadPoolExecutor):
    """A `concurrent.futures` executor that starts a new virtual thread for each call.

    A virtual thread (`VirtualThread`) costs little, and their number has no limit.  Each call
    counts as running from the beginning, so its future cannot be cancelled.  If the group of the
    threads is closed first, the future raises ClosedError.  A virtual thread that waits for such a
    future parks, so its carrier runs other work.  As a context manager the executor waits for all
    calls at the end of the block.

    Args:
        group: the `CarrierGroup`, or the `Carrier` of one, that runs the threads; default None: as
            `VirtualThread`.
        thread_name_prefix: the names of its threads are this, "_" and a number; default "": each
            thread gets a name of its own.

    Threads: any thread may call all methods.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThreadExecutor
        >>> with CarrierGroup(2) as group, VirtualThreadExecutor(group) as executor:
        ...     list(executor.map(abs, [-1, -2]))
        [1, 2]
    """

    def __init__(
        self, group: CarrierGroup | Carrier | None = None, *, thread_name_prefix: str = ""
    ) -> None:
        self._group, self._max_workers = group, MOST
        self._workers = Workers(thread_name_prefix or "virtual", None, ())
        self._is_named = bool(thread_name_prefix)
        self._lock = BriefLock()
        self._alive: dict[VirtualThread, None] = {}
        self._is_shut = False
        self._has_ended = Signal()  # set when the executor is shut down and no thread is left
        # Threads of this executor that wait for its end, and a signal that the others have ended.
        self._inside: set[VirtualThread] = set()
        self._others_have = Signal()

    @overload
    def submit(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]: ...
    @overload
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]: ...
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn(*args, **kwargs)`` in a new virtual thread; `fn` may be a coroutine function.

        Returns the future of the call.

        Raises:
            ClosedError: the executor was shut down, or its group is closed.
        """
        future: Future[Any] = Future()
        name = self._workers.name() if self._is_named else None
        thread = VirtualThread(fn, *args, name=name, group=self._group)
        if kwargs:  # not passed to VirtualThread, which has keywords `name` and `group`
            thread._call = partial(thread._call, **kwargs)
        thread._done.call(lambda: self._ended(thread, future))
        try:
            with self._lock:  # no call under the lock: a signal handler could run and shut down
                is_shut = self._is_shut
                if not is_shut:
                    self._alive[thread] = None
            if is_shut:
                raise ClosedError("submit: the executor is shut down")
            future.set_running_or_notify_cancel()
            thread.start()
        except BaseException:  # also at Ctrl-C
            if not thread._is_started:
                self._forget(thread)
            raise
        return future

    def _ended(self, thread: VirtualThread, future: Future[Any]) -> None:
        try:
            if thread._is_closed:
                future.set_exception(ClosedError(f"{thread.name}: its group was closed"))
            elif thread._error is not None:
                thread._is_heard = True  # its future reports the error
                future.set_exception(thread._error)
            else:
                future.set_result(thread._value)
        finally:  # a callback of the future may raise SystemExit
            self._forget(thread)

    def _forget(self, thread: VirtualThread) -> None:
        self._alive.pop(thread, None)
        self._look()

    def _look(self) -> None:
        """Wake the threads that wait for the end of this executor, if it has ended."""
        if self._is_shut:
            if len(self._alive) <= len(self._inside):
                self._others_have.set()
            if not self._alive:
                self._has_ended.set()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls, and wait until all threads have ended.

        A thread of this executor may call this too.  It then waits only for the other threads of
        the executor, and not for those that are in `shutdown` themselves.

        Args:
            wait: whether to wait; default True.
            cancel_futures: whether to interrupt the running threads; default False.

        Raises:
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        with self._lock:
            self._is_shut = True
        for thread in list(self._alive):
            if cancel_futures:
                thread.interrupt()
        self._look()
        if wait:  # all futures are done by then
            self._wait(here.thread)

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
        """Shut down after Ctrl-C, and interrupt all threads."""
        self.shutdown(wait=False, cancel_futures=True)
        naming("the end of an executor", self._has_ended.wait, lambda: list(self._alive))

    def _wait(self, thread: VirtualThread | None) -> None:
        if thread is None or thread not in self._alive:
            self._has_ended.wait()
            return
        try:
            self._inside.add(thread)
            self._look()
            self._others_have.wait()
        finally:
            self._inside.discard(thread)
