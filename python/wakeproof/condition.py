# SPDX-License-Identifier: Apache-2.0
"""Waits for a change of what a mutex guards.

Spec: ``specs/sync/Condition.tla``.  Source: ``kernel/sync/condition.h``, ``_native/locks.c``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeVar

from wakeproof._native.ffi import lib
from wakeproof._runtime.deadline import NS_PER_S, deadline_ns
from wakeproof._runtime.locks import ConditionCore, address, caller, forget, note
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import Turns, Wait, made, parked, told
from wakeproof.errors import UsageError
from wakeproof.mutex import Mutex

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

T = TypeVar("T")
MOST = 2**20
"""Threads that one notify wakes."""


class _Change(Wait):
    """First in the condition's line, then in the mutex's."""

    __slots__ = ("condition", "mutex")

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
        """Wait for the mutex whatever happens; `is_over`: its last park ended already."""
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
    """Threads that wait for a change of what `mutex` guards.  A context manager: the mutex.

    A `notify` wakes who waits longest, and moves it to the mutex's line: nobody is woken only to
    sleep again.

    Args:
        mutex: default: one of its own.

    Threads: the mutex's holder, but for `acquire`.
    Spec: ``specs/sync/Condition.tla`` (NoLostSignal, SignalsNotSwallowed, HoldsMutex).
    Source: ``kernel/sync/condition.h``.

    Raises:
        UsageError: `mutex` is no Mutex.
    """

    __slots__ = ("_address", "_native", "mutex")

    def __init__(self, mutex: Mutex | None = None) -> None:
        if not isinstance(mutex, Mutex | None):
            raise UsageError(f"mutex is {mutex!r}; allowed: a Mutex, or None")
        self.mutex = mutex or Mutex()
        self._native = made(lib.wp__condition_new(), lib.wp__condition_free, "Condition")
        self._address = address(self._native)

    def __repr__(self) -> str:
        return f"<Condition of {self.mutex!r}>"

    def wait(self, timeout_s: float | None = None) -> bool:
        """Free the mutex until a notify, and take it again; False: the time ran out.

        It may return True for nothing, so look again at what you wait for; or use `wait_for`.

        Raises:
            WrongThreadError: the caller does not have the mutex.
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: a virtual thread was interrupted; it has the mutex again.
        """
        if here.thread is None:
            return self._wait_as_os(deadline_ns(timeout_s))
        return self._end(parked(self._begin("wait", timeout_s)))

    def _begin(self, what: str, timeout_s: float | None) -> Turns:
        """Begin the wait of the calling virtual thread."""
        assert here.thread is not None
        self.mutex._check_holder(what)
        turns = _Change(here.thread, self).turns(deadline_ns(timeout_s))
        forget(self.mutex)
        return turns

    def _end(self, code: int) -> bool:
        note(self.mutex, caller())  # if it was abandoned, who locks it next is told
        return told(code, "wait")

    def wait_for(self, predicate: Callable[[], T], timeout_s: float | None = None) -> T:
        """Wait until the predicate is true, at most `timeout_s` seconds; return its last value.

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
        """Wake those who wait longest, `n` at most, 0 to `MOST`.

        Raises:
            WrongThreadError: the caller does not have the mutex.
            UsageError: `n` is out of range.
        """
        self.mutex._check_holder("notify")
        if not isinstance(n, int) or not 0 <= n <= MOST:
            raise UsageError(f"n is {n!r}; allowed: 0 to {MOST}, or notify_all")
        for _ in range(n):
            lib.wp_condition_signal(self._native)

    def notify_all(self) -> None:
        """Wake all who wait.

        Raises:
            WrongThreadError: the caller does not have the mutex.
        """
        self.mutex._check_holder("notify_all")
        lib.wp_condition_broadcast(self._native)
