# SPDX-License-Identifier: Apache-2.0
"""An executor that starts a virtual thread for each call.

Spec: ``specs/VThread.tla`` (TerminationVisible).  Source: ``vthread.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

from wakeproof._signal import Signal
from wakeproof.carrier import Carrier
from wakeproof.errors import ClosedError
from wakeproof.group import CarrierGroup
from wakeproof.vthread import VirtualThread


class VirtualThreadExecutor(Executor):
    """One virtual thread for each call, without a limit, and never used again.

    A future runs from the beginning and cannot be cancelled; a close of the group fails it.  Its
    `result` blocks the carrier of a virtual thread that calls it.

    Args:
        group: as of `VirtualThread`.
    """

    def __init__(self, group: CarrierGroup | Carrier | None = None) -> None:
        self._group = group
        self._lock = threading.Lock()
        self._threads: dict[VirtualThread, None] = {}
        self._is_shut = False
        self._has_ended = Signal()  # all of them, of an executor that is shut down

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn(*args, **kwargs)``, which may be a coroutine function.

        Raises:
            ClosedError: it was shut down, or its group is closed.
        """
        future: Future[Any] = Future()
        thread = VirtualThread(fn, *args, group=self._group)
        if kwargs:  # not to its maker: `name` and `group` may be among them
            thread._call = partial(thread._call, **kwargs)
        thread._done.call(lambda: self._ended(thread, future))
        try:
            with self._lock:  # no call, behind which a signal handler might shut it down
                is_shut = self._is_shut
                if not is_shut:
                    self._threads[thread] = None
            if is_shut:
                raise ClosedError("submit: the executor is shut down")
            future.set_running_or_notify_cancel()
            thread.start()
        except BaseException:  # Ctrl-C, too
            if not thread._is_started:
                self._forget(thread)
            raise
        return future

    def _ended(self, thread: VirtualThread, future: Future[Any]) -> None:
        try:
            if thread._is_closed:
                future.set_exception(ClosedError(f"{thread.name}: its group was closed"))
            elif thread._error is not None:
                future.set_exception(thread._error)
            else:
                future.set_result(thread._value)
        finally:  # a callback of the future may raise SystemExit
            self._forget(thread)

    def _forget(self, thread: VirtualThread) -> None:
        self._threads.pop(thread, None)
        if self._is_shut and not self._threads:
            self._has_ended.set()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept nothing any more; wait until all have ended.  `cancel_futures`: interrupt them.

        Raises:
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        with self._lock:
            self._is_shut = True
        for thread in list(self._threads):
            if cancel_futures:
                thread.interrupt()
        if not self._threads:
            self._has_ended.set()
        if wait:  # their futures are told by then
            self._has_ended.wait()
