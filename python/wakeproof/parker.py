# SPDX-License-Identifier: Apache-2.0
"""One permit for one thread.  Spec: ``Parker.tla``.  Source: ``kernel/wakeup/parker.h``."""

from __future__ import annotations

from types import TracebackType

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime.deadline import deadline_ns
from wakeproof.errors import error_for


class Parker:
    """One permit for one thread: `unpark` gives it, `park` takes it or sleeps until it comes.

    What a thread did before `unpark` is visible to the thread that returns from `park`.  A context
    manager: leaving the block closes it.

    Threads: `park` belongs to the owner; `unpark` and `close` may come from any thread.
    Spec: ``specs/wakeup/Parker.tla`` (PermitAtMostOne, UnparkNotLost, HappensBefore).
    Source: ``kernel/wakeup/parker.h``.
    """

    def __init__(self) -> None:
        parker = lib.wp__parker_new()
        if not parker:
            raise MemoryError("Parker: no memory")
        self._parker = ffi.gc(parker, lib.wp__parker_free)

    def park(self, timeout_s: float | None = None) -> bool:
        """Take the permit, sleeping at most `timeout_s` seconds (None: forever; 0: do not sleep).

        Returns True if the permit was taken, False if the time ran out.  A permit may have been
        given long ago: look at what you wait for, and park again.  Signal handlers run while the
        main thread sleeps, so KeyboardInterrupt arrives; the permit is then still there to take.

        Raises:
            ValueError: `timeout_s` is negative or not a number.
            ClosedError: `close` was called, and no permit is left.
        """
        deadline = deadline_ns(timeout_s)
        while True:
            code = lib.wp_parker_park_interruptible(self._parker, deadline)
            if code == lib.WP_OK:
                return True
            if code == lib.WP_TIMEOUT:
                return False
            if code != lib.WP_INTERRUPTED:  # else the interpreter runs its handlers here
                raise error_for(code, "Parker.park: the parker is closed")

    def unpark(self) -> bool:
        """Give the permit, waking the owner if it sleeps; never blocks.

        Returns True if this call gave it, False if it was there already or the parker is closed.
        """
        return lib.wp_parker_unpark(self._parker)

    def close(self) -> None:
        """End it: a sleeping park, and every later one that finds no permit, raises ClosedError."""
        lib.wp_parker_close(self._parker)

    def __enter__(self) -> Parker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
