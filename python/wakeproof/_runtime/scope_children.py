# SPDX-License-Identifier: Apache-2.0
"""The subtasks of one scope: counted in, until they have ended, or shut out.

Count, gate and outcomes change under one lock: a fork that a cancellation does not see is refused,
and a subtask that ends after it records nothing.  Python runs signal handlers behind calls, so none
is under the lock: a handler may cancel.

Spec: ``specs/scope/Scope.tla``: Fork is `enter`, Look is `wait`, EndJoin is `end`; Cancel, Walk and
Interrupt are `cancel` (CancelOnce, NoForkRunsAfterCancel, CancelReachesAll, JoinWakes).  Source:
this file; ``kernel/scope/scope_children.h`` is the same for C.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from wakeproof import coroutine
from wakeproof._runtime.signal import Signal
from wakeproof._runtime.trampoline import here
from wakeproof.errors import ThreadInterruptedError
from wakeproof.vthread import VirtualThread

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup
    from wakeproof.subtask import Subtask


class ScopeChildren:
    """Threads that one thread waits for, until it cancels them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of all that follows
        self._threads: dict[VirtualThread, None] = {}
        self._waiter: Signal | None = None
        self.is_cancelled = self.is_late = False
        self.is_over = False  # joined: its time cannot cancel it any more

    def enter(self, thread: VirtualThread) -> bool:
        """Count it in, before it starts; False: cancelled, it must not start."""
        with self._lock:
            if not self.is_cancelled:
                self._threads[thread] = None
            return not self.is_cancelled

    def leave(self, thread: VirtualThread) -> None:
        """Count it out: it has ended; the last one wakes who waits."""
        with self._lock:
            if thread in self._threads:
                del self._threads[thread]
            waiter = None if self._threads else self._waiter
        if waiter is not None:
            waiter.set()

    def record(self, subtask: Subtask, value: object, error: BaseException | None) -> bool:
        """Write what came of it, unless cancelled; False: it is."""
        with self._lock:
            if not self.is_cancelled:
                subtask._value, subtask._error = value, error
                subtask.state = "success" if error is None else "failed"
            return not self.is_cancelled

    def cancel(self, *, late: bool = False) -> None:
        """Once: let nobody in, interrupt all but the caller, wake who waits.  `late`: of time."""
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
        """Return those that have not left."""
        with self._lock:
            return [*self._threads]

    def wait(self, timeout_s: float | None = None, *, or_cancelled: bool) -> bool:
        """Wait until all have left, or it is cancelled; False: the time ran out.

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
        """Say that it is joined."""
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
    """Have it cancelled then, by a thread that whoever ends it interrupts; None: it is, at once."""
    if timeout_s == 0:
        children.cancel(late=True)
        return None
    return VirtualThread(_expire, children, timeout_s, name="time of a scope", group=group).start()
