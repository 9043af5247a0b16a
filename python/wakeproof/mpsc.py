# SPDX-License-Identifier: Apache-2.0
"""Run queue of Python objects.  Spec: ``Mpsc.tla``.  Source: ``kernel/queue/mpsc.h``."""

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
_MAX_POLL_MS = 2**31 - 1  # what poll(2) takes; a longer wait polls again
_GONE = object()


@dataclass(frozen=True)
class MpscStatistics:
    """One look at a queue, not one moment: other threads go on meanwhile.

    Attributes:
        held: objects the queue refers to, those of unfinished puts included.
        signals: writes to the eventfd so far, the system calls that producers paid for.
    """

    held: int
    signals: int


class MpscQueue(Generic[T]):
    """Unbounded FIFO of Python objects, many producers, one consumer, for use with selectors.

    `put` takes no lock and makes a system call only when the consumer has found the queue empty.
    It may be called from signal handlers and finalisers.  Register the queue itself with a
    selector: it is readable while there may be something to take.

    Order: two puts that follow one another come out in that order.  Several consumers take turns
    item by item; nothing breaks, but between them there is no order.

    Threads: `put` and the questions belong to any thread; `get` and `get_nowait` to the consumer;
    `close` to any thread.  A context manager: leaving the block closes it.
    Spec: ``specs/queue/Mpsc.tla`` (Fifo, NoLoss, EmptyIsTrue, PushNeverFails), ``Guard.tla``.
    Source: ``kernel/queue/mpsc.h``, ``kernel/wakeup/guard.h``, ``_native/binding.h``.

    Raises:
        OSError: no memory, or no file descriptor left.
    """

    def __init__(self) -> None:
        inbox = lib.wp__inbox_new()
        if not inbox:
            raise SystemCallError(ffi.errno, f"MpscQueue: {os.strerror(ffi.errno)}")
        self._inbox = ffi.gc(inbox, lib.wp__inbox_free)
        self._held: dict[CItem, T] = {}  # keyed by address; the queue itself holds addresses

    def put(self, item: T) -> None:
        """Append `item`; never waits, and once there is memory for it never fails.

        Raises:
            ClosedError: `close` was called.
            MemoryError: no memory; the queue is as it was.
        """
        cell = self._hold(item)
        self._check_put(cell, lib.wp__inbox_put(self._inbox, cell))

    def get_nowait(self) -> T:
        """Take the oldest object.

        Raises:
            queue.Empty: nothing to take.  One object may be in the queue all the same while a
                producer is in the middle of its `put`; the queue becomes readable when it is done.
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
        """Take the oldest object, sleeping at most `timeout_s` seconds until there is one.

        None: forever; 0: do not sleep.  Signal handlers run meanwhile.

        Raises:
            ValueError: `timeout_s` is negative or not a number.
            queue.Empty: the time ran out.
            ClosedError: `close` was called, perhaps while this slept.
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

        Wait for it, never read it.  It may be readable for nothing; the next `get_nowait` settles
        that.  After `close` it stays readable, and it is valid for as long as the queue object.
        """
        return lib.wp__inbox_fileno(self._inbox)

    def has_published(self) -> bool:
        """Say whether the oldest place in the queue is filled: may I sleep?  Any thread."""
        return lib.wp_mpsc_has_published(lib.wp__inbox_mpsc(self._inbox))

    def is_quiescent(self) -> bool:
        """Say whether every put that has begun was taken: may I close?  Any thread."""
        return lib.wp_mpsc_is_quiescent(lib.wp__inbox_mpsc(self._inbox))

    def close(self) -> None:
        """Drop what is queued and end the queue; a sleeping `get` wakes.  Again is harmless.

        Waits for puts in flight: microseconds, or until a producer in the middle of one runs again.
        """
        lib.wp__inbox_close(self._inbox)
        self._held.clear()

    def statistics(self) -> MpscStatistics:
        """Return what is held and what has happened so far.  Any thread."""
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
        """Sleep until the eventfd is readable or the time is up; False: it was up already."""
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
