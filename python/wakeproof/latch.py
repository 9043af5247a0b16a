# SPDX-License-Identifier: Apache-2.0
"""A latch: one event for which any number of threads wait, and which stays once it has come.

Spec: ``specs/thread/Latch.tla`` (NoLostWaiter).  Source: ``_runtime/signal.py``.
"""

from __future__ import annotations

from wakeproof._runtime.signal import Signal


class Latch:
    """An event that comes once: threads wait until another thread opens the latch.

    A virtual thread (`VirtualThread`) that waits parks: its carrier, the OS thread that runs it,
    does other work meanwhile.  An OS thread blocks.  A latch that is open stays open.

    Threads: any thread may call all methods; a coroutine function awaits
    `wakeproof.coroutine.wait_open`.
    Spec: ``specs/thread/Latch.tla``.  Source: ``wakeproof/_runtime/signal.py``.

    Example:
        >>> from wakeproof import CarrierGroup, Latch, VirtualThread
        >>> loaded = Latch()
        >>> with CarrierGroup(1) as group:
        ...     waits = VirtualThread(loaded.wait, group=group).start()
        ...     loaded.open()
        ...     waits.result(), loaded.is_open
        (True, True)
    """

    __slots__ = ("_signal",)

    def __init__(self) -> None:
        self._signal = Signal()

    def __repr__(self) -> str:
        return f"<Latch {'open' if self.is_open else 'shut'}>"

    @property
    def is_open(self) -> bool:
        """Whether the latch has been opened."""
        return self._signal.is_set

    def open(self) -> None:
        """Open the latch for good, and wake all threads that wait; a second call does nothing."""
        self._signal.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the latch is open; return False if the time ran out.

        Args:
            timeout_s: seconds, 0 or more; 0: do not wait; default None: wait without a limit.

        Raises:
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        return self._signal.wait(timeout_s)
