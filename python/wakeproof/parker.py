# SPDX-License-Identifier: Apache-2.0
"""One permit for one thread.  Spec: ``Parker.tla``.  Source: ``kernel/wakeup/parker.h``."""

from __future__ import annotations

from types import TracebackType

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime.deadline import deadline_ns
from wakeproof.errors import error_for


class Parker:
    """One permit for one OS thread, its owner, as Java's LockSupport has it for each thread.

    `unpark` gives the permit, if it is not there already.  `park` takes the permit, and sleeps
    until there is one.  What a thread did before `unpark` is visible to the owner after `park`.  As
    a context manager the parker closes at the end of the block.  A virtual thread (`VirtualThread`)
    has a permit of its own: it calls `wakeproof.park` instead, because this `park` blocks the OS
    thread.

    Threads: only the owner may call `park`; any thread may call `unpark` and `close`.
    Spec: ``specs/wakeup/Parker.tla`` (PermitAtMostOne, UnparkNotLost, HappensBefore).
    Source: ``kernel/wakeup/parker.h``.

    Example:
        >>> from wakeproof import Parker
        >>> parker = Parker()
        >>> parker.unpark()  # before the park: the permit is kept
        True
        >>> parker.park(timeout_s=0)
        True
        >>> parker.park(timeout_s=0)
        False
    """

    def __init__(self) -> None:
        parker = lib.wp__parker_new()
        if not parker:
            raise MemoryError("Parker: no memory")
        self._parker = ffi.gc(parker, lib.wp__parker_free)

    def park(self, timeout_s: float | None = None) -> bool:
        """Take the permit, or sleep until there is one.

        Returns True if the permit was taken, False if the time ran out.  The permit may have been
        given long ago: so check the condition for which you wait, and park again if it is false.
        Signal handlers run while the main thread sleeps; a KeyboardInterrupt does not take the
        permit.

        Args:
            timeout_s: seconds, 0 or more; 0: do not sleep; default None: sleep without a limit.

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
            # After WP_INTERRUPTED the interpreter runs its handlers here.
            if code != lib.WP_INTERRUPTED:
                raise error_for(code, "Parker.park: the parker is closed")

    def unpark(self) -> bool:
        """Give the permit, and wake the owner if it sleeps; this never blocks.

        Returns True if this call gave the permit, False if the permit was there already or the
        parker is closed.
        """
        return lib.wp_parker_unpark(self._parker)

    def close(self) -> None:
        """Close the parker: `park` raises ClosedError, now and later, unless there is a permit."""
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
