# SPDX-License-Identifier: Apache-2.0
"""The `with` blocks of Mutex, Condition and Semaphore, which free the lock also after Ctrl-C.

``_native/locks.c`` is built if the headers of CPython are installed.  With it no signal handler
runs inside of `__enter__` or `__exit__`, so after Ctrl-C the lock is free.  Without it Ctrl-C may
come between two instructions of these methods, and then the lock stays taken (`ARE_WHOLE` is
False).

Source: ``_native/locks.c``.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from typing import TYPE_CHECKING

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import asleep

if TYPE_CHECKING:
    from wakeproof._native.ffi import Null
    from wakeproof._native.locks import ConditionCore as ConditionCore
    from wakeproof._native.locks import MutexCore as MutexCore
    from wakeproof._native.locks import SemaphoreCore as SemaphoreCore
    from wakeproof._native.locks import bind
    from wakeproof.vthread import VirtualThread

    ARE_WHOLE: bool
else:
    try:
        from wakeproof._native.locks import ConditionCore, MutexCore, SemaphoreCore, bind

        ARE_WHOLE = True
        if sys.version_info >= (3, 14):  # where a signal handler may run after a call of C
            from wakeproof._native.locks import entered

            class _Entered:
                """Enters by a subscript, after which no signal handler runs."""

                __slots__ = ()

                def __enter__(self):
                    return entered[self]

            def _entered(core):
                return type(core.__name__, (_Entered, core), {"__slots__": ()})

            MutexCore, ConditionCore, SemaphoreCore = map(
                _entered, (MutexCore, ConditionCore, SemaphoreCore)
            )
    except ImportError:
        ARE_WHOLE = False

        class MutexCore:
            """Takes and frees a mutex, and notes its holder."""

            __slots__ = ("_address", "_holder")

            def _take(self, deadline_ns):
                if self._holder == caller():
                    self._refuse_again()
                if lib.wp_mutex_try_lock(self._native):
                    return self._has(lib.WP_OK)
                if deadline_ns == 0:
                    return False
                if here.thread is not None:
                    return self._has(self._parked(deadline_ns))
                lock = partial(lib.wp_mutex_lock_until, self._native)
                return self._has(asleep(lock, deadline_ns))

            def _has(self, code):
                if code not in (lib.WP_OK, lib.WP_ABANDONED):
                    return self._told(code)
                if lib.wp_mutex_was_abandoned(self._native) or code == lib.WP_ABANDONED:
                    lib.wp_mutex_unlock(self._native)
                    self._refuse_abandoned()
                self._note(True)
                return True

            def _note(self, holds):
                who = caller()
                self._holder = who if holds else None
                if not isinstance(who, int):
                    (who._held.add if holds else who._held.discard)(self)

            def _free(self):
                if self._holder != caller():
                    self._refuse_stranger("release")
                self._note(False)
                lib.wp_mutex_unlock(self._native)

            def __enter__(self):
                self._take(lib.WP_FOREVER)
                return self

            def __exit__(self, *error):
                self._free()

        class ConditionCore:
            """Takes and frees the mutex of a condition, and waits as an OS thread."""

            __slots__ = ("_address",)

            def _wait_as_os(self, deadline_ns):
                if self.mutex._holder != caller():
                    self.mutex._refuse_stranger("wait")
                self.mutex._note(False)
                try:
                    code = lib.wp_condition_wait_until(
                        self._native, self.mutex._native, deadline_ns
                    )
                finally:
                    self.mutex._note(True)
                return code in (lib.WP_OK, lib.WP_INTERRUPTED)

            def __enter__(self):
                self.mutex._take(lib.WP_FOREVER)
                return self

            def __exit__(self, *error):
                self.mutex._free()

        class SemaphoreCore:
            """Takes and gives permits."""

            __slots__ = ("_address",)

            def _take(self, permits, deadline_ns):
                if lib.wp_semaphore_try_acquire(self._native, permits):
                    return True
                if deadline_ns == 0:
                    return False
                if here.thread is not None:
                    return self._told(self._parked(permits, deadline_ns))
                acquire = partial(lib.wp_semaphore_acquire_until, self._native, permits)
                return self._told(asleep(acquire, deadline_ns))

            def _give(self, permits):
                return lib.wp_semaphore_release(self._native, permits) == lib.WP_OK

            def __enter__(self):
                self._take(1, lib.WP_FOREVER)
                return self

            def __exit__(self, *error):
                self.release()

        def bind(*_):
            pass


_CALLED = (  # in the order of locks.c
    "wp_mutex_try_lock",
    "wp_mutex_was_abandoned",
    "wp_mutex_lock_until",
    "wp_mutex_unlock",
    "wp_condition_wait_until",
    "wp_semaphore_try_acquire",
    "wp_semaphore_acquire_until",
    "wp_semaphore_release",
)


def address(cdata: Null) -> int:
    """Return the address of a function, as `_native/locks.c` takes it."""
    return int(ffi.cast("uintptr_t", cdata))


def caller() -> VirtualThread | int:
    """Return the calling virtual thread, or the number of the calling OS thread."""
    return here.thread or threading.get_ident()


bind(here, *(address(ffi.addressof(lib, name)) for name in _CALLED))
