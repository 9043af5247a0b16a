# SPDX-License-Identifier: Apache-2.0
"""The subtasks of one scope: each is counted until it has ended, or refused after a cancellation.

The count, the gate and the outcomes change under one lock.  A fork that a cancellation does not see
is refused, and a subtask that ends after the cancellation records nothing.  Python runs signal
handlers after calls, so there is no call under the lock: a handler may cancel.

Spec: ``specs/scope/Scope.tla``: Fork is `enter`, Look is `wait`, EndJoin is `end`; Cancel, Walk and
Interrupt are `cancel` (CancelOnce, NoForkRunsAfterCancel, CancelReachesAll, JoinWakes).  Source:
this file; ``kernel/scope/scope_children.h`` is the same for C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wakeproof import coroutine
from wakeproof._runtime.brief import BriefLock
from wakeproof._runtime.signal import Signal
from wakeproof._runtime.trampoline import here
from wakeproof.errors import ThreadInterruptedError
from wakeproof.vthread import VirtualThread

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup
    from wakeproof.subtask import Subtask


class ScopeChildren:
    """The threads for which the owner of a scope waits, unless it cancels them."""

    def __init__(self) -> None:
        self._lock = BriefLock()  # guards all attributes below
        self._threads: dict[VirtualThread, None] = {}
        self._waiter: Signal | None = None
        self.is_cancelled = self.is_late = False
        self.is_over = False  # joined: the timeout cannot cancel it any more

    def enter(self, thread: VirtualThread) -> bool:
        """Count a thread before it starts; False: the scope is cancelled, and it must not start."""
        with self._lock:
            if not self.is_cancelled:
                self._threads[thread] = None
            return not self.is_cancelled

    def leave(self, thread: VirtualThread) -> None:
        """Remove a thread that has ended; the last one wakes the waiting owner."""
        with self._lock:
            if thread in self._threads:
                del self._threads[thread]
            waiter = None if self._threads else self._waiter
        if waiter is not None:
            waiter.set()

    def record(self, subtask: Subtask, value: object, error: BaseException | None) -> bool:
        """Record the outcome of a subtask; False: cancelled, and nothing is recorded."""
        with self._lock:
            if not self.is_cancelled:
                subtask._value, subtask._error = value, error
                subtask.state = "success" if error is None else "failed"
            return not self.is_cancelled

    def cancel(self, *, late: bool = False) -> None:
        """Cancel once: refuse forks, interrupt all threads except the caller, wake the owner.

        `late`: the timeout of the scope makes this call, which does nothing after the join.
        """
        with self._lock:
            if self.is_cancelled or (late and self.is_over):
                return
            self.is_cancelled, self.is_late = True, late
            threads, waiter = [*self._threads], self._waiter
        for thread in threads:
            if thread is not here.thread:
                thread.interrupt()
        if waiter is not None:
            waiter.set()

    def alive(self) -> list[VirtualThread]:
        """Return the threads that have not left."""
        with self._lock:
            return [*self._threads]

    def wait(self, timeout_s: float | None = None, *, or_cancelled: bool) -> bool:
        """Wait until all threads have left or the scope is cancelled; False: the time ran out.

        Raises:
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        while True:
            waiter = Signal()
            with self._lock:
                if not self._threads or (or_cancelled and self.is_cancelled):
                    return True
                self._waiter = waiter
            if not waiter.wait(timeout_s):
                return False

    def end(self) -> None:
        """Note that the scope is joined."""
        with self._lock:
            self.is_over = True


async def _expire(children: ScopeChildren, timeout_s: float) -> None:
    try:
        await coroutine.sleep(timeout_s)
    except ThreadInterruptedError:
        return
    children.cancel(late=True)


def cancel_in(
    children: ScopeChildren, timeout_s: float, group: CarrierGroup | Carrier | None
) -> VirtualThread | None:
    """Start a thread that cancels the scope after `timeout_s`; an interrupt by the owner ends it.

    Returns None if the time is 0; the scope is then cancelled without a thread.
    """
    if timeout_s == 0:
        children.cancel(late=True)
        return None
    return VirtualThread(_expire, children, timeout_s, name="time of a scope", group=group).start()
