# SPDX-License-Identifier: Apache-2.0
"""Mutual exclusion among virtual threads and OS threads alike.

Spec: ``specs/sync/Mutex.tla``.  Source: ``kernel/sync/mutex.h``, ``_native/locks.c``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from wakeproof._native.ffi import lib
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.locks import MutexCore, address, caller
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import Wait, made, parked, told
from wakeproof.errors import AbandonedError, StateError, WrongThreadError

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread


class _Lock(Wait):
    __slots__ = ("mutex",)

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


class Mutex(MutexCore, Unique):
    """One holder at a time; a virtual thread that waits leaves its carrier.  A context manager.

    Its line is served in order, and passed a bounded number of times by those that come while it is
    free.  It is not reentrant.  Ctrl-C in a `with` block leaves it free.

    Threads: any; `release` is its holder's.
    Spec: ``specs/sync/Mutex.tla`` (MutualExclusion, NoLostSignal, BoundedBypass).
    Source: ``kernel/sync/mutex.h``.
    """

    __slots__ = ("_address", "_holder", "_native")

    def __init__(self) -> None:
        self._native = made(lib.wp__mutex_new(), lib.wp__mutex_free, "Mutex")
        self._address = address(self._native)
        self._holder: VirtualThread | int | None = None

    def acquire(self, timeout_s: float | None = None) -> bool:
        """Take it, waiting at most `timeout_s` seconds; False: the time ran out.

        Ctrl-C may come between its return and the caller's next step: `with` has no such gap.

        Raises:
            StateError: the caller has it.
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
            AbandonedError: a virtual thread had it when the close of its group handed it back, or
                when it ended.  Once; the caller does not have it, the next `acquire` takes it.
        """
        return self._take(deadline_ns(timeout_s))

    def _has_now(self) -> bool:
        """Take it if it is free."""
        return self._take(0)

    def _parked(self, deadline: int) -> int:
        """Lock it as the calling virtual thread; return the code."""
        thread = here.thread
        assert thread is not None
        return parked(_Lock(thread, self).turns(deadline))

    def _told(self, code: int) -> bool:
        return told(code, "acquire")

    def _refuse_again(self) -> NoReturn:
        raise StateError("acquire: the caller has this Mutex; it is not reentrant")

    def _refuse_abandoned(self) -> NoReturn:
        raise AbandonedError(
            "acquire: a virtual thread ended, or was handed back by a close, while it had this "
            "Mutex: what it guards may be half done; acquire it again"
        )

    def _refuse_stranger(self, what: str) -> NoReturn:
        raise WrongThreadError(f"{what}: the caller does not have this Mutex: {self._who()} does")

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
        """Let the next one have it.

        Raises:
            WrongThreadError: the caller does not have it.
        """
        self._free()

    def locked(self) -> bool:
        """Whether somebody has it."""
        return self._holder is not None
