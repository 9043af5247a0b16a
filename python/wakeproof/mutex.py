# SPDX-License-Identifier: Apache-2.0
"""Mutual exclusion among virtual threads and OS threads alike.

Spec: ``specs/sync/Mutex.tla``.  Source: ``kernel/sync/mutex.h``.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING

from wakeproof._native.ffi import lib
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import Wait, asleep, made, parked, told
from wakeproof.errors import AbandonedError, StateError, WrongThreadError

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread


def _caller() -> VirtualThread | int:
    return here.thread or threading.get_ident()


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


class Mutex(Unique):
    """One holder at a time; a virtual thread that waits leaves its carrier.  A context manager.

    Its line is served in order, and passed a bounded number of times by those that come while it is
    free.  It is not reentrant.

    Threads: any; `release` is its holder's.
    Spec: ``specs/sync/Mutex.tla`` (MutualExclusion, NoLostSignal, BoundedBypass).
    Source: ``kernel/sync/mutex.h``.
    """

    __slots__ = ("_holder", "_native")

    def __init__(self) -> None:
        self._native = made(lib.wp__mutex_new(), lib.wp__mutex_free, "Mutex")
        self._holder: VirtualThread | int | None = None

    def acquire(self, timeout_s: float | None = None) -> bool:
        """Take it, waiting at most `timeout_s` seconds; False: the time ran out.

        Raises:
            StateError: the caller has it.
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
            AbandonedError: a virtual thread had it when the close of its group handed it back, or
                when it ended.  Once; the caller does not have it, the next `acquire` takes it.
        """
        deadline = deadline_ns(timeout_s)
        if self._has_now():
            return True
        if deadline == 0:
            return False
        thread = here.thread
        if thread is None:
            code = asleep(lambda until: lib.wp_mutex_lock_until(self._native, until), deadline)
        else:
            code = parked(_Lock(thread, self).turns(deadline))
        return self._has(code)

    def _has_now(self) -> bool:
        """Take it if it is free.

        Raises:
            StateError: the caller has it.
        """
        caller = _caller()
        if self._holder == caller:
            raise StateError("acquire: the caller has this Mutex; it is not reentrant")
        if not lib.wp_mutex_try_lock(self._native):
            return False
        self._taken(caller, was_abandoned=self._was_abandoned())
        return True

    def _was_abandoned(self) -> bool:
        return bool(lib.wp_mutex_was_abandoned(self._native))

    def _taken(self, caller: VirtualThread | int, *, was_abandoned: bool) -> None:
        """Note who has it.

        Raises:
            AbandonedError: it was abandoned, and is free again.
        """
        if was_abandoned:
            lib.wp_mutex_unlock(self._native)
            raise AbandonedError(
                "acquire: a virtual thread ended, or was handed back by a close, while it had this "
                "Mutex: what it guards may be half done; acquire it again"
            )
        self._holder = caller
        if not isinstance(caller, int):
            caller._held.add(self)

    def _has(self, code: int) -> bool:
        if code in (lib.WP_OK, lib.WP_ABANDONED):
            was_abandoned = code == lib.WP_ABANDONED or self._was_abandoned()
            self._taken(_caller(), was_abandoned=was_abandoned)
            return True
        return told(code, "acquire")

    def _let_go(self) -> None:
        if not isinstance(self._holder, int) and self._holder is not None:
            self._holder._held.discard(self)
        self._holder = None

    def release(self) -> None:
        """Let the next one have it.

        Raises:
            WrongThreadError: the caller does not have it.
        """
        self._check_holder("release")
        self._let_go()
        lib.wp_mutex_unlock(self._native)

    def _check_holder(self, what: str) -> None:
        holder = self._holder
        if holder != _caller():
            who = (
                f"OS thread {holder}"
                if isinstance(holder, int)
                else getattr(holder, "name", "nobody")
            )
            raise WrongThreadError(f"{what}: the caller does not have this Mutex: {who} does")

    def locked(self) -> bool:
        """Whether somebody has it."""
        return self._holder is not None

    def __enter__(self) -> Mutex:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
