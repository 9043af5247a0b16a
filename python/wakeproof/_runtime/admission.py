# SPDX-License-Identifier: Apache-2.0
"""Admission to a pool of virtual threads: each call waits for a permit before it begins.

The virtual thread of a call waits without a stack, so any carrier can continue it.
Source: ``virtual_pool.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.thread import BrokenThreadPool
from functools import partial
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import lib
from wakeproof._runtime import trampoline
from wakeproof._runtime.call import Call
from wakeproof._runtime.deadline import deadline_ns
from wakeproof.coroutine import _parked
from wakeproof.errors import ClosedError, ThreadInterruptedError
from wakeproof.semaphore import Semaphore, _Acquire

if TYPE_CHECKING:
    from wakeproof._runtime.workers import Workers
    from wakeproof.vthread import VirtualThread


class Permitted(Call):
    """A call of a pool, which its virtual thread makes once the call has a permit."""

    __slots__ = ("has_permit", "thread", "workers")

    def __init__(self, fn: Callable[..., Any], args: Any, kwargs: Any, workers: Workers) -> None:
        super().__init__(fn, args, kwargs)
        self.has_permit, self.workers = False, workers
        self.thread: VirtualThread

    def begin(self, thread: VirtualThread) -> int:
        """Begin the call in its thread, which has a permit now."""
        self.has_permit = True
        thread._permitted = self
        return (
            trampoline.first_of_coroutine if thread._is_coroutine else trampoline.first_of_call
        )(thread)

    def run(self) -> None:
        if self._is_prepared():
            super().run()

    async def run_coroutine(self) -> None:
        if self._is_prepared():
            await super().run_coroutine()

    def _is_prepared(self) -> bool:
        """Return whether the pool's initializer has succeeded; if not, fail the future."""
        self.workers.prepare()
        if self.workers.broken is not None:
            self.fail(BrokenThreadPool(self.workers.broken))
        return self.workers.broken is None

    def end(self) -> None:
        thread = self.thread
        thread._is_heard = True  # its future reports the error
        self.fail(thread._error or ClosedError(f"{thread.name}: its group was closed"))


def admit(call: Permitted, permits: Semaphore | None, thread: VirtualThread) -> int:
    """Take the first step of the call's thread."""
    if permits is None or call.has_permit or permits._has_now(1):
        return call.begin(thread)
    thread._coroutine = _wait_for_permit(thread, permits)  # dumps show this frame
    thread._resume = partial(_go_on, call)
    return _go_on(call, thread)


def leave_line(thread: VirtualThread, future: Future[Any]) -> None:
    """Interrupt the thread of a cancelled future, so that it leaves the queue."""
    if future.cancelled():
        thread.interrupt()


async def _wait_for_permit(thread: VirtualThread, permits: Semaphore) -> int:
    return await _parked(thread, _Acquire(thread, permits, 1).turns(deadline_ns(None)))


def _go_on(call: Permitted, thread: VirtualThread) -> int:
    """Take the next step of the wait for a permit; then begin the call, or end the thread."""
    waits = thread._coroutine
    assert waits is not None
    try:
        return int(waits.send(None))
    except StopIteration as stop:
        code = stop.value
    thread._coroutine = None
    if code == lib.WP_OK:
        return call.begin(thread)
    thread._error = ThreadInterruptedError(f"{thread.name} was interrupted")
    return trampoline.DONE
