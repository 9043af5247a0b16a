# SPDX-License-Identifier: Apache-2.0
"""Admission to a pool of virtual threads: each call waits for a permit before it begins.

The virtual thread of a call waits without a stack, so any carrier can continue it.
Source: ``_native/calls.c``, ``virtual_pool.py``.
"""

from __future__ import annotations

from concurrent.futures.thread import BrokenThreadPool
from functools import partial
from typing import TYPE_CHECKING

from wakeproof._native.ffi import lib
from wakeproof._runtime import calls, trampoline
from wakeproof._runtime.call import Told
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.vthread_base import is_coroutine
from wakeproof.coroutine import _parked
from wakeproof.errors import ClosedError, ThreadInterruptedError
from wakeproof.semaphore import Semaphore, _Acquire

if TYPE_CHECKING:
    from wakeproof.virtual_pool import VirtualThreadPool
    from wakeproof.vthread import VirtualThread


class Permitted(calls.CallCore, Told):
    """A call of a pool, which its virtual thread makes once the call has a permit."""

    __slots__ = ()
    pool: VirtualThreadPool
    thread: VirtualThread
    has_permit: bool

    async def run_coroutine(self) -> None:
        if self._is_prepared():
            await super().run_coroutine()

    def _is_prepared(self) -> bool:
        """Return whether the pool's initializer has succeeded; if not, fail the future."""
        workers = self.pool._workers
        workers.prepare()
        if workers.broken is not None:
            self.fail(BrokenThreadPool(workers.broken))
        return workers.broken is None

    def fail_at_end(self) -> None:
        """Give the future an outcome: the thread has ended, and the call has not."""
        thread = self.thread
        self.fail(thread._error or ClosedError(f"{thread.name}: its group was closed"))

    def leave_line(self) -> None:
        """Interrupt the thread of a cancelled future, so that it leaves the queue."""
        self.thread.interrupt()

    def admit(self) -> int:
        """Take the first step of the call's thread, for which no permit is free."""
        thread, permits = self.thread, self.pool._permits
        assert permits is not None
        thread._coroutine = _wait_for_permit(thread, permits)  # dumps show this frame
        thread._resume = partial(_go_on, self)
        return _go_on(self, thread)


calls.bind_calls(Permitted, is_coroutine)


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
        call.has_permit = True
        if thread._is_coroutine:
            return trampoline.first_of_coroutine(thread)
        return trampoline.first_of_call(thread)
    thread._error = ThreadInterruptedError(f"{thread.name} was interrupted")
    return trampoline.DONE
