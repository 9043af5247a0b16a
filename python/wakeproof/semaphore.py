# SPDX-License-Identifier: Apache-2.0
"""Permits that virtual threads and OS threads take and give.

Spec: ``specs/sync/Semaphore.tla``.  Source: ``kernel/sync/semaphore.h``, ``_native/locks.c``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from wakeproof._native.ffi import lib
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.here import direct
from wakeproof._runtime.locks import SemaphoreCore, address
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import Wait, made, parked, told
from wakeproof.errors import StateError, UsageError

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

MOST = 2**31 - 1
"""The largest number of permits, WP_SEMAPHORE_PERMITS_MAX."""


class _Acquire(Wait):
    __slots__ = ("permits", "semaphore")
    ends_by_threads, what = True, "a permit of a semaphore"

    def __init__(self, thread: VirtualThread, semaphore: Semaphore, permits: int) -> None:
        super().__init__(thread)
        self.semaphore, self.permits = semaphore._native, permits

    def begin(self) -> int:
        is_taken = lib.wp__semaphore_begin(self.semaphore, self.permits, self.waiter)
        return lib.WP_OK if is_taken else lib.WP_MUST_PARK

    def check(self) -> bool:
        return lib.wp__semaphore_check(self.semaphore, self.waiter)

    def waits(self) -> tuple[int, int]:
        return lib.WP_WAIT_SEMAPHORE, self.permits

    def cancel(self) -> bool:
        return lib.wp__semaphore_cancel(self.semaphore, self.waiter)


@direct
class Semaphore(SemaphoreCore, Unique):
    """A counting semaphore that serves threads in the order in which they came.

    A thread that waits for many permits is served before a later thread that waits for few.  An OS
    thread that waits blocks.  A virtual thread (`VirtualThread`) parks, so that its carrier, the OS
    thread that runs it, does other work meanwhile.  As a context manager the semaphore takes one
    permit; after Ctrl-C in the block there are as many permits as before it.

    Args:
        permits: the initial number of permits, 0 to `wakeproof.semaphore.MOST`; default 1.

    Threads: any thread may call all methods.
    Spec: ``specs/sync/Semaphore.tla`` (PermitBalance, NoIdlePermit).
    Source: ``kernel/sync/semaphore.h``.

    Raises:
        UsageError: `permits` is out of range.

    Example:
        >>> from wakeproof import Semaphore
        >>> seats = Semaphore(3)
        >>> with seats:
        ...     seats.permits
        2
        >>> seats.acquire(2), seats.acquire(2, timeout_s=0)
        (True, False)
    """

    __slots__ = ("_native",)

    def __init__(self, permits: int = 1) -> None:
        native = lib.wp__semaphore_new(_counted(permits, 0))
        self._native = made(native, lib.wp__semaphore_free, "Semaphore")
        self._address = address(self._native)

    def acquire(self, permits: int = 1, timeout_s: float | None = None) -> bool:
        """Take this number of permits together, and wait for them at most `timeout_s` seconds.

        Returns True if the permits were taken, False if the time ran out.

        Args:
            permits: 1 to `MOST`; default 1.
            timeout_s: seconds, 0 or more; 0: do not wait; default None: wait without a limit.

        Raises:
            UsageError: `permits` is out of range; `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        deadline = deadline_ns(timeout_s)
        return self._take(_counted(permits, 1), deadline)

    def _parked(self, permits: int, deadline: int) -> int:
        """Acquire permits for the calling virtual thread; return the kernel's code."""
        thread = here.thread
        assert thread is not None
        return parked(_Acquire(thread, self, permits).turns(deadline))

    def _told(self, code: int) -> bool:
        return told(code, "acquire")

    def _has_now(self, permits: int) -> bool:
        return self._take(_counted(permits, 1), 0)

    def release(self, permits: int = 1) -> None:
        """Give this number of permits, and wake the waiters for which they suffice.

        Args:
            permits: 1 to `MOST`; default 1.

        Raises:
            UsageError: `permits` is out of range.
            StateError: there would be more than `MOST`; none is given.
        """
        if not self._give(_counted(permits, 1)):
            self._refuse_more(permits)

    def _refuse_more(self, permits: int) -> NoReturn:
        raise StateError(f"release {permits}: a Semaphore has at most {MOST} permits")

    def __repr__(self) -> str:
        return f"<Semaphore with {self.permits} permits free>"

    @property
    def permits(self) -> int:
        """The number of free permits; threads that already wait get them first."""
        return lib.wp_semaphore_permits(self._native)


def _counted(permits: int, least: int) -> int:
    if not isinstance(permits, int) or not least <= permits <= MOST:
        raise UsageError(f"permits is {permits!r}; allowed: {least} to {MOST}")
    return permits
