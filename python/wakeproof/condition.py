# SPDX-License-Identifier: Apache-2.0
"""Wait until other threads change what a mutex guards.

Spec: ``specs/sync/Condition.tla``.  Source: ``kernel/sync/condition.h``, ``_native/locks.c``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeVar

from wakeproof._native.ffi import lib
from wakeproof._runtime.deadline import NS_PER_S, deadline_ns
from wakeproof._runtime.locks import ConditionCore, address
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import Turns, Wait, made, parked, told
from wakeproof.errors import UsageError
from wakeproof.mutex import Mutex

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

T = TypeVar("T")
MOST = 2**20
"""The largest number of threads that one notify wakes."""


class _Change(Wait):
    """A wait in the condition's queue first, and then in the mutex's queue."""

    __slots__ = ("condition", "mutex")
    ends_by_threads, what = True, "a condition"

    def __init__(self, thread: VirtualThread, condition: Condition) -> None:
        super().__init__(thread)
        self.condition, self.mutex = condition._native, condition.mutex._native

    def check(self) -> bool:
        return lib.wp__condition_check(self.condition, self.mutex, self.waiter)

    def cancel(self) -> bool:
        return lib.wp__condition_cancel(self.condition, self.waiter)

    def waits(self) -> tuple[int, int]:
        return lib.WP_WAIT_CONDITION, 0

    def turns(self, deadline: int) -> Turns:
        lib.wp__condition_begin(self.condition, self.mutex, self.waiter)
        self.thread._wait = self
        try:
            while True:
                code = yield deadline
                if code != lib.WP_OK:
                    lib.wp__waiter_unparked(self.waiter)
                    break
                if self.check():
                    return lib.WP_OK
            if not self.cancel():
                yield from self._relock(is_over=True)
                return lib.WP_OK
            if not lib.wp__mutex_begin(self.mutex, self.waiter):
                yield from self._relock(is_over=False)
            return code
        finally:
            self.thread._wait = None

    def _relock(self, *, is_over: bool) -> Generator[int, int, None]:
        """Wait for the mutex without a limit; `is_over`: the last park has ended already."""
        was_interrupted = not is_over and (yield from self._through())
        while not lib.wp__mutex_check(self.mutex, self.waiter):
            was_interrupted |= yield from self._through()
        if was_interrupted:
            self.thread._tell(lib.wp_vthread_interrupt)

    def _through(self) -> Generator[int, int, bool]:
        code = yield lib.WP_FOREVER
        if code == lib.WP_OK:
            return False
        lib.wp__waiter_unparked(self.waiter)
        return lib.wp_vthread_clear_interrupt()


class Condition(ConditionCore, Unique):
    """A condition variable: threads wait for a change of the data that `mutex` guards.

    OS threads and virtual threads (`VirtualThread`) may wait in it.  As a context manager a
    condition takes and releases its mutex.  `notify` moves the thread that has waited longest to
    the mutex's queue, so no thread is woken only to sleep again.

    Args:
        mutex: the `Mutex` that guards the data; default None: the condition makes its own.

    Threads: only the holder of the mutex may call the methods, except `acquire`.
    Spec: ``specs/sync/Condition.tla`` (NoLostSignal, SignalsNotSwallowed, HoldsMutex).
    Source: ``kernel/sync/condition.h``.

    Raises:
        UsageError: `mutex` is not a Mutex.

    Example:
        >>> from wakeproof import CarrierGroup, Condition
        >>> changed, items = Condition(), []
        >>> def produce():
        ...     with changed:
        ...         items.append("work")
        ...         changed.notify()
        >>> with CarrierGroup(1) as group, changed:
        ...     done = group.submit(produce)
        ...     changed.wait_for(lambda: items)
        ['work']
    """

    __slots__ = ("_native", "mutex")

    def __init__(self, mutex: Mutex | None = None) -> None:
        if not isinstance(mutex, Mutex | None):
            raise UsageError(f"mutex is {mutex!r}; allowed: a Mutex, or None")
        self.mutex = mutex or Mutex()
        self._native = made(lib.wp__condition_new(), lib.wp__condition_free, "Condition")
        self._address = address(self._native)

    def __repr__(self) -> str:
        return f"<Condition of {self.mutex!r}>"

    def wait(self, timeout_s: float | None = None) -> bool:
        """Release the mutex until a notify, and take it again.

        Returns True after a notify, False if the time ran out.  A wakeup may be spurious, so check
        afterwards what you wait for, or use `wait_for`.

        Args:
            timeout_s: seconds, 0 or more; default None: wait without a limit.

        Raises:
            WrongThreadError: the caller does not hold the mutex.
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted; it holds
                the mutex again.
        """
        if here.thread is None:
            return self._wait_as_os(deadline_ns(timeout_s))
        return self._end(parked(self._begin("wait", timeout_s)))

    def _begin(self, what: str, timeout_s: float | None) -> Turns:
        """Begin the wait of the calling virtual thread."""
        assert here.thread is not None
        self.mutex._check_holder(what)
        turns = _Change(here.thread, self).turns(deadline_ns(timeout_s))
        self.mutex._note(False)
        return turns

    def _end(self, code: int) -> bool:
        self.mutex._note(True)  # if it was abandoned, its next acquire raises
        return told(code, "wait")

    def wait_for(self, predicate: Callable[[], T], timeout_s: float | None = None) -> T:
        """Wait until `predicate` returns a true value, and return its last value.

        Args:
            predicate: a callable without arguments, which runs with the mutex held.
            timeout_s: seconds, 0 or more; default None: wait without a limit.  When the time runs
                out, the last value is returned, which is false.

        Raises:
            WrongThreadError, UsageError, ThreadInterruptedError: as `wait`.
        """
        end = deadline_ns(timeout_s)
        while not (value := predicate()):
            left_ns = max(0, end - lib.wp_clock_ns())
            if not self.wait(None if end == lib.WP_FOREVER else left_ns / NS_PER_S):
                return predicate()
        return value

    def notify(self, n: int = 1) -> None:
        """Wake at most `n` waiting threads, those that have waited longest first.

        Args:
            n: the number of threads, 0 to `wakeproof.condition.MOST`; default 1.

        Raises:
            WrongThreadError: the caller does not hold the mutex.
            UsageError: `n` is out of range.
        """
        self.mutex._check_holder("notify")
        if not isinstance(n, int) or not 0 <= n <= MOST:
            raise UsageError(f"n is {n!r}; allowed: 0 to {MOST}, or notify_all")
        for _ in range(n):
            lib.wp_condition_signal(self._native)

    def notify_all(self) -> None:
        """Wake all waiting threads.

        Raises:
            WrongThreadError: the caller does not hold the mutex.
        """
        self.mutex._check_holder("notify_all")
        lib.wp_condition_broadcast(self._native)
