# SPDX-License-Identifier: Apache-2.0
"""Mutual exclusion among virtual threads and OS threads alike.

Spec: ``specs/sync/Mutex.tla``.  Source: ``kernel/sync/mutex.h``, ``_native/locks.c``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from wakeproof._native.ffi import lib
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.here import direct
from wakeproof._runtime.locks import MutexCore, address, caller
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import Wait, made, parked, told
from wakeproof.errors import AbandonedError, StateError, WrongThreadError

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread


class _Lock(Wait):
    __slots__ = ("mutex",)
    ends_by_threads, what = True, "a mutex"

    def __init__(self, thread: VirtualThread, mutex: Mutex) -> None:
        super().__init__(thread)
        self.mutex = mutex._native

    def begin(self) -> int:
        return lib.WP_OK if lib.wp__mutex_begin(self.mutex, self.waiter) else lib.WP_MUST_PARK

    def check(self) -> bool:
        return lib.wp__mutex_check(self.mutex, self.waiter)

    def cancel(self) -> bool:
        return lib.wp__mutex_cancel(self.mutex, self.waiter)

    def waits(self) -> tuple[int, int]:
        return lib.WP_WAIT_MUTEX, 0


@direct
class Mutex(MutexCore, Unique):
    """A lock for virtual threads and OS threads.

    An OS thread that waits for the lock blocks.  A virtual thread (`VirtualThread`) parks, so that
    its carrier, the OS thread that runs it, does other work meanwhile.  Waiters queue in the order
    in which they came.  A thread that comes later may take the lock when it is free, before the
    first waiter, but this happens to a waiter at most 256 times.  The lock is not reentrant.  Use
    it as a context manager: Ctrl-C in the block then leaves the lock free.

    Threads: any thread may call all methods, except that only the holder may call `release`.
    Spec: ``specs/sync/Mutex.tla`` (MutualExclusion, NoLostSignal, BoundedBypass).
    Source: ``kernel/sync/mutex.h``.

    Example:
        >>> from wakeproof import Mutex
        >>> mutex = Mutex()
        >>> with mutex:
        ...     mutex.locked()
        True
        >>> mutex.locked()
        False
    """

    __slots__ = ("_native",)

    def __init__(self) -> None:
        self._native = made(lib.wp__mutex_new(), lib.wp__mutex_free, "Mutex")
        self._address = address(self._native)
        self._holder: VirtualThread | int | None = None

    def acquire(self, timeout_s: float | None = None) -> bool:
        """Take the lock, and wait for it at most `timeout_s` seconds.

        Returns True if the lock was taken, False if the time ran out.  Ctrl-C may come between the
        return of this call and the caller's next step; a `with` block has no such gap.

        Args:
            timeout_s: seconds, 0 or more; 0: do not wait; default None: wait without a limit.

        Raises:
            StateError: the caller holds the lock already.
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
            AbandonedError: a virtual thread held the lock when that thread ended, or when its group
                was closed before that.  Raised once; the caller does not hold the lock, and the
                next `acquire` takes it.
        """
        return self._take(deadline_ns(timeout_s))

    def _has_now(self) -> bool:
        """Take the lock if it is free."""
        return self._take(0)

    def _parked(self, deadline: int) -> int:
        """Acquire the lock for the calling virtual thread; return the kernel's code."""
        thread = here.thread
        assert thread is not None
        return parked(_Lock(thread, self).turns(deadline))

    def _told(self, code: int) -> bool:
        return told(code, "acquire")

    def _refuse_again(self) -> NoReturn:
        raise StateError("acquire: the caller holds this Mutex, which is not reentrant; release it")

    def _refuse_abandoned(self) -> NoReturn:
        raise AbandonedError(
            "acquire: a virtual thread ended, or was handed back by a close, while it held this "
            "Mutex: its data may be half done; acquire it again, and check the data"
        )

    def _refuse_stranger(self, what: str) -> NoReturn:
        raise WrongThreadError(
            f"{what}: the caller does not hold this Mutex: {self._who()} does; acquire it first"
        )

    def _who(self) -> str:
        holder = self._holder
        if isinstance(holder, int):
            return f"OS thread {holder}"
        return "nobody" if holder is None else holder.name

    def __repr__(self) -> str:
        return f"<Mutex of {self._who()}>"

    def _check_holder(self, what: str) -> None:
        if self._holder != caller():
            self._refuse_stranger(what)

    def release(self) -> None:
        """Release the lock, and wake the first waiter.

        Raises:
            WrongThreadError: the caller does not hold the lock.
        """
        self._free()

    def locked(self) -> bool:
        """Return whether any thread holds the lock."""
        return self._holder is not None
