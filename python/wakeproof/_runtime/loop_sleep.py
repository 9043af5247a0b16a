# SPDX-License-Identifier: Apache-2.0
"""How an event loop sleeps that runs in a virtual thread: it parks, so its carrier runs others.

  loop                                       ends the park
  announce, and look at the queue (aio.py)   append to the queue; announced: unpark the thread
  seen := edges; look for descriptors        the poller of the carrier: an edge of the epoll
  in line of the readiness; park until       the carrier's timer
    the first timer of the loop

The guard of `aio` is the same as for a loop in an OS thread, but its transport is the permit of the
virtual thread in place of the self-pipe.  A permit is sticky: one that comes late makes the next
park end at once.  An unpark makes a system call only if it comes from another OS thread, and the
carrier sleeps.

A turn that does not sleep yields once, so that a busy loop leaves its carrier to others.

Spec: ``Guard.tla`` (NoLostWakeup), ``Descriptor.tla`` (ReadinessNotLost), ``VThread.tla``.
Source: ``kernel/io/readiness.h``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import watch
from wakeproof._runtime.core import yield_here
from wakeproof._runtime.descriptor import READ
from wakeproof._runtime.signal import interrupted
from wakeproof._runtime.wait import end_with_group, parked

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

T = TypeVar("T")
_MANY = -1  # no count of edges: events may be there


class LoopSleep(watch.Watch):
    """The sleeps of one loop, in the virtual thread that runs it."""

    __slots__ = ("hooks",)
    hooks: Any

    @classmethod
    def of(cls, thread: VirtualThread, fd: int) -> LoopSleep:
        """Return the sleeps of the loop whose epoll has this descriptor.

        Raises:
            OSError: there is no descriptor or no memory left, or the group is being closed.
        """
        assert thread._native is not None
        io = lib.wp__watch_enter(thread._native, fd)
        failed = 0 if io else ffi.errno
        sleep = cls(io, fd, READ, lib.WP_WAIT_READ) if io else None
        if sleep is not None and sleep.files < 0:
            failed = -sleep.files
            sleep.leave()
        if sleep is None or failed:
            raise OSError(failed, f"an event loop in {thread.name}: {os.strerror(failed)}")
        sleep.thread, sleep.seen = thread, _MANY
        sleep.hooks = sys.get_asyncgen_hooks()
        return sleep

    def after(self, code: int) -> int:
        """Leave the line after one park, also if a permit has ended it."""
        lib.wp__waiter_unparked(self.waiter)
        return code if self.cancel() else self.granted()

    def look(self, look: Callable[[float], list[T]]) -> list[T]:
        """Look for events, unless the last look found none and the poller has seen none since."""
        seen = lib.wp__io_look(self.io, READ)
        if seen == self.seen:
            return []
        found = look(0)
        self.seen = _MANY if found else seen
        return found

    def select(self, look: Callable[[float], list[T]], timeout: float | None) -> list[T]:
        """Look for events; if there are none, park until there are, or a permit, or the timeout.

        Raises:
            ThreadInterruptedError: the virtual thread was interrupted.
        """
        found = self.look(look)
        if found or (timeout is not None and timeout <= 0):
            return found
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(*self.hooks)
        try:
            code = self.parks(watch.until_of(timeout))
            if code == lib.WP_CLOSED:
                code = parked(end_with_group(self.thread))
        finally:
            sys.set_asyncgen_hooks(*hooks)
        if code == lib.WP_INTERRUPTED:
            raise interrupted(self.thread)
        return self.look(look)

    def turn(self, look: Callable[[float], list[T]]) -> list[T]:
        """Let the carrier run others, and look for events."""
        hooks = sys.get_asyncgen_hooks()  # those of the loop, and the OS thread's
        sys.set_asyncgen_hooks(*self.hooks)
        try:
            yield_here()
        finally:
            sys.set_asyncgen_hooks(*hooks)
        return self.look(look)
