# SPDX-License-Identifier: Apache-2.0
"""A run queue of Python objects, with many producers and one consumer.

Spec: ``specs/queue/Mpsc.tla``.  Source: ``kernel/queue/mpsc.h``.
"""

from __future__ import annotations

import math
import os
import select
from dataclasses import dataclass
from queue import Empty
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime.deadline import deadline_ns
from wakeproof.errors import ClosedError, SystemCallError

if TYPE_CHECKING:
    from wakeproof._native.ffi import CItem

T = TypeVar("T")
_NS_PER_MS = 1_000_000
_MAX_POLL_MS = 2**31 - 1  # the longest poll(2); a longer wait polls again
_GONE = object()


@dataclass(frozen=True)
class MpscStatistics:
    """The state of an `MpscQueue`; other threads continue while the numbers are read.

    Attributes:
        held: objects to which the queue refers, those of unfinished puts included.
        signals: writes to the eventfd so far, which are the producers' system calls.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import MpscQueue
        >>> with MpscQueue() as queue:
        ...     queue.put("a")
        ...     queue.statistics().held
        1
    """

    held: int
    signals: int


class MpscQueue(Generic[T]):
    """An unbounded FIFO with many producers and one consumer, for use with selectors.

    `put` takes no lock, and makes a system call only after the consumer has found the queue empty.
    Signal handlers and finalisers may call it.  A selector accepts the queue itself: the queue is
    readable while there may be something to take.  `get` blocks the OS thread, so a virtual thread
    (`VirtualThread`) should use a `Channel` instead.  As a context manager the queue closes at the
    end of the block.

    If one put ends before another begins, the first object comes out first.  Several consumers are
    safe and take turns item by item, but there is no order between them.

    Threads: any thread may call all methods, except that only the consumer should call `get` and
    `get_nowait`.
    Spec: ``specs/queue/Mpsc.tla`` (Fifo, NoLoss, EmptyIsTrue, PushNeverFails), ``Guard.tla``.
    Source: ``kernel/queue/mpsc.h``, ``kernel/wakeup/guard.h``, ``_native/binding.h``.

    Raises:
        OSError: there is no memory, or no file descriptor left.

    Example:
        >>> from wakeproof import MpscQueue
        >>> with MpscQueue() as queue:
        ...     queue.put("a")
        ...     queue.put("b")
        ...     queue.get(), queue.get(timeout_s=0)
        ('a', 'b')
    """

    def __init__(self) -> None:
        inbox = lib.wp__inbox_new()
        if not inbox:
            raise SystemCallError(ffi.errno, f"MpscQueue: {os.strerror(ffi.errno)}")
        self._inbox = ffi.gc(inbox, lib.wp__inbox_free)
        self._held: dict[CItem, T] = {}  # by address, which the queue itself holds

    def put(self, item: T) -> None:
        """Append `item`; this never waits, and never fails once there is memory for it.

        Raises:
            ClosedError: `close` was called.
            MemoryError: there is no memory; the queue is unchanged.
        """
        cell = self._hold(item)
        self._check_put(cell, lib.wp__inbox_put(self._inbox, cell))

    def get_nowait(self) -> T:
        """Take and return the oldest object.

        Raises:
            queue.Empty: there is nothing to take.  While a producer is in the middle of its `put`,
                the objects behind its own cannot be taken either; the queue becomes readable when
                that producer has finished.
            ClosedError: `close` was called.
        """
        cell = lib.wp__inbox_take(self._inbox)
        if not cell:
            if lib.wp__inbox_is_closed(self._inbox):
                raise ClosedError("MpscQueue.get: the queue is closed")
            raise Empty
        item = self._held.pop(cell, _GONE)
        lib.wp__item_free(cell)
        if item is _GONE:
            raise ClosedError("MpscQueue.get: the queue was closed meanwhile")
        return cast(T, item)

    def get(self, timeout_s: float | None = None) -> T:
        """Take and return the oldest object; sleep until there is one.

        Signal handlers run while the main thread sleeps.

        Args:
            timeout_s: seconds, 0 or more; 0: do not sleep; default None: sleep without a limit.

        Raises:
            ValueError: `timeout_s` is negative or not a number.
            queue.Empty: the time ran out.
            ClosedError: `close` was called, perhaps while this call slept.
        """
        deadline = deadline_ns(timeout_s)
        while True:
            try:
                return self.get_nowait()
            except Empty:
                if not self._wait_readable(deadline):
                    raise

    def fileno(self) -> int:
        """Return the eventfd that is readable while there may be something to take.

        Wait for the eventfd with a selector, but never read it.  It may be readable although there
        is nothing to take; the next `get_nowait` then makes it unreadable.  It stays readable after
        `close`, and valid for as long as the queue object lives.
        """
        return lib.wp__inbox_fileno(self._inbox)

    def has_published(self) -> bool:
        """Return whether the oldest object can be taken now; if not, the consumer may sleep."""
        return lib.wp_mpsc_has_published(lib.wp__inbox_mpsc(self._inbox))

    def is_quiescent(self) -> bool:
        """Return whether all objects were taken and no put is in progress; if so, close at will."""
        return lib.wp_mpsc_is_quiescent(lib.wp__inbox_mpsc(self._inbox))

    def close(self) -> None:
        """Drop all queued objects and close the queue; a `get` that sleeps raises ClosedError.

        A second close does nothing.  The call waits for puts in progress: for microseconds, or
        longer if the system has preempted a producer in the middle of its put.
        """
        lib.wp__inbox_close(self._inbox)
        self._held.clear()

    def statistics(self) -> MpscStatistics:
        """Return the number of held objects, and the number of signals so far."""
        return MpscStatistics(len(self._held), lib.wp__inbox_signals(self._inbox))

    def _hold(self, item: T) -> CItem:
        cell = lib.wp__item_new()
        if not cell:
            raise MemoryError("MpscQueue.put: no memory")
        self._held[cell] = item
        return cell

    def _check_put(self, cell: CItem, code: int) -> None:
        if code == lib.WP_CLOSED:
            self._held.pop(cell, None)
            lib.wp__item_free(cell)
            raise ClosedError("MpscQueue.put: the queue is closed")
        if code != lib.WP_OK:
            raise SystemCallError(
                ffi.errno, "MpscQueue.put: queued, but its eventfd is not writable"
            )

    def _wait_readable(self, deadline: int) -> bool:
        """Sleep until the eventfd is readable or the time is over; False: it was over before."""
        left_ms = math.ceil((deadline - lib.wp_clock_ns()) / _NS_PER_MS)
        if left_ms <= 0:
            return False
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        poll.poll(None if deadline == lib.WP_FOREVER else min(left_ms, _MAX_POLL_MS))
        return True

    def __enter__(self) -> MpscQueue[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
