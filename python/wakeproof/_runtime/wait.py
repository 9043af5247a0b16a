# SPDX-License-Identifier: Apache-2.0
"""One wait of one virtual thread in the queue of a mutex, condition, semaphore or channel.

Spec: ``specs/thread/WaitQueue.tla``.  Source: ``kernel/thread/wait_queue.h``, ``_native/sync.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import trampoline
from wakeproof._runtime.signal import interrupted
from wakeproof._runtime.trampoline import here
from wakeproof.errors import ClosedError

if TYPE_CHECKING:
    from wakeproof._native.ffi import CWaiter
    from wakeproof.vthread import VirtualThread

T = TypeVar("T")
Turns = Generator[int, int, int]
"""A generator that yields a deadline, is sent the code of a park until then, and returns a code."""


def made(cdata: T, free: Callable[[T], None], what: str) -> T:
    """Own the object that a C constructor returned.

    Raises:
        MemoryError: it is NULL.
    """
    if not cdata:
        raise MemoryError(f"{what}: no memory")
    return ffi.gc(cdata, free)


def new_waiter(thread: VirtualThread) -> CWaiter:
    """Return a waiter of the thread."""
    assert thread._native is not None
    return made(lib.wp__waiter_new(thread._native), lib.wp__waiter_free, thread.name)


class Wait:
    """A wait: the thread begins it, and after each park checks or cancels it."""

    __slots__ = ("thread", "waiter")
    ends_by_threads = False  # whether nothing but another thread can end it
    what = ""  # what it waits for, in words, if that is so

    def __init__(self, thread: VirtualThread) -> None:
        self.thread, self.waiter = thread, new_waiter(thread)

    def begin(self) -> int:
        """Enter the queue and return WP_MUST_PARK, unless there is no need to wait."""
        raise NotImplementedError

    def check(self) -> bool:
        raise NotImplementedError

    def cancel(self) -> bool:
        """Leave the queue; False: the wait was granted."""
        raise NotImplementedError

    def granted(self) -> int:
        return lib.WP_OK

    def waits(self) -> tuple[int, int]:
        """Return the reason, and the number of permits or the descriptor, for events."""
        return lib.WP_WAIT_PARK, 0

    def abandon(self) -> None:
        """Do what remains to be done when the thread's group was closed during the wait.

        The close has removed the thread from the queue, and has passed on what the thread was
        granted (kernel/thread/wait_queue.h).
        """

    def over(self) -> None:
        """Take note that the wait has ended, so that no thread uses the waiter any more."""

    def after(self, code: int) -> int | None:
        """Return how the wait ended, or None: park again; `code` is that of the last park."""
        if code != lib.WP_OK:
            lib.wp__waiter_unparked(self.waiter)
            return code if self.cancel() else self.granted()
        return self.granted() if self.check() else None

    def turns(self, deadline: int) -> Turns:
        code, ended = self.begin(), None
        if code == lib.WP_MUST_PARK:
            self.thread._wait = self
            try:
                while ended is None:
                    ended = self.after((yield deadline))
            finally:
                self.thread._wait = None
        self.over()
        return code if ended is None else ended

    def parks(self, deadline: int) -> int:
        """Do as `turns`, for a callable that is the caller: without a generator."""
        code, ended, thread = self.begin(), None, self.thread
        if code == lib.WP_MUST_PARK:
            thread._wait = self
            try:
                while ended is None:
                    ended = self.after(trampoline.park(thread, deadline, *self.waits()))
            finally:
                thread._wait = None
        self.over()
        return code if ended is None else ended


def what_for(thread: VirtualThread) -> tuple[int, int]:
    """Return what the thread, which is about to park, waits for."""
    wait = thread._wait
    return wait.waits() if isinstance(wait, Wait) else (lib.WP_WAIT_PARK, 0)


def parked(turns: Turns) -> int:
    """Run the generator `turns` for the calling virtual thread, which parks at each yield."""
    thread = here.thread
    assert thread is not None
    try:
        deadline = next(turns)
        while True:
            deadline = turns.send(trampoline.park(thread, deadline, *what_for(thread)))
    except StopIteration as stop:
        return int(stop.value)


def end_with_group(thread: VirtualThread) -> Turns:
    """Park for ever, if the pollers of the thread's group ended with the group, which is closed.

    The close hands the thread back; only an interrupt lets it continue before.
    """
    code = lib.WP_CLOSED
    while code != lib.WP_INTERRUPTED and thread._group is not None and thread._group.closed:
        code = yield lib.WP_FOREVER
    return code


def asleep(wait_until: Callable[[int], int], deadline: int) -> int:
    """Wait as an OS thread; signal handlers run at each interruption."""
    while (code := wait_until(deadline)) == lib.WP_INTERRUPTED:
        pass
    return code


def told(code: int, what: str) -> bool:
    """Return whether the wait was granted; False: the time ran out.

    Raises:
        ClosedError: the channel is closed.
        ThreadInterruptedError: the caller was interrupted.
    """
    if code == lib.WP_INTERRUPTED:
        assert here.thread is not None
        raise interrupted(here.thread)
    if code == lib.WP_CLOSED:
        raise ClosedError(f"{what}: the channel is closed")
    return code == lib.WP_OK
