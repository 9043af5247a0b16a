# SPDX-License-Identifier: Apache-2.0
"""Let a virtual thread park until any descriptor is ready, without taking the descriptor over.

  waiter                                    a virtual thread that closes the descriptor
  a copy of the descriptor (dup) goes to    `closed(number)`: close all copies of it
    the poller of the waiter's home           (wp_io_close), which wakes their waiters
  park until the copy is ready
  close the copy

The poller knows only the copy, whose number is nobody else's.  So the user may close the descriptor
during the wait, and its number may go to another file: that does not wake this waiter, and events
of the closed file do not wake those of the new one.  When the waiter is woken, the number must
still be that of the same file, else its call fails as on a closed descriptor.  The copy shares the
user's O_NONBLOCK, which therefore stays as it is.

If the process has no descriptor left for a copy, or the group none of its pollers because it is
being closed, the waiter looks again and again, with naps.

Spec: ``specs/io/Descriptor.tla``.  Source: ``_native/io.h``, ``kernel/io/readiness.h``.
"""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import descriptor, process, trampoline
from wakeproof._runtime.descriptor import FIRST_NAP_NS, LONGEST_NAP_NS, start
from wakeproof._runtime.signal import interrupted
from wakeproof._runtime.wait import Wait
from wakeproof.errors import ClosedError, StateError
from wakeproof.parking import sleep

if TYPE_CHECKING:
    from wakeproof._native.ffi import CIo
    from wakeproof.group import CarrierGroup
    from wakeproof.vthread import VirtualThread

T = TypeVar("T")
NS_PER_S = 1_000_000_000
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC)
_NO_POLLER = (errno.ENXIO, errno.ESHUTDOWN)  # the group is being closed
_waits: dict[int, list[_Watch]] = {}  # by the user's number
_without: weakref.WeakSet[CarrierGroup] = weakref.WeakSet()  # groups that can have no pollers
is_ready = lib.wp__fd_is_ready


class _Watch(Wait):
    """One wait for one direction of one descriptor."""

    __slots__ = ("fd", "io", "is_freed", "pid", "seen", "side", "why")

    def __init__(self, thread: VirtualThread, io: CIo, fd: int, side: int, why: int) -> None:
        self.io, self.fd, self.side, self.why = io, fd, side, why
        self.pid, self.is_freed, self.seen = process.pid, False, 0
        super().__init__(thread)

    def __del__(self) -> None:  # last, because `closed` may use it after the end of the wait
        # A forked child shares the poller's epoll with its parent.
        if not self.is_freed and self.pid == process.pid:
            lib.wp_io_free(self.io)

    def begin(self) -> int:
        address = self.thread._address
        assert address is not None
        return lib.wp__io_wait_begin(self.io, self.side, self.seen, self.waiter, address)

    def check(self) -> bool:
        return lib.wp__io_check(self.io, self.side, self.waiter)

    def cancel(self) -> bool:
        return lib.wp__io_cancel(self.io, self.side, self.waiter)

    def granted(self) -> int:
        return lib.wp__waiter_result(self.waiter)

    def waits(self) -> tuple[int, int]:
        return self.why, self.fd

    def abandon(self) -> None:
        """Let go of the poller, because the stack that has this object stays in memory for ever."""
        self.is_freed = _forget(self)
        (lib.wp_io_free if self.is_freed else lib.wp_io_close)(self.io)


def _forget(watch: _Watch) -> bool:
    """Take a wait out of the list; False: a close has taken it."""
    others = _waits.get(watch.fd, [])
    is_here = watch in others
    if is_here:
        others.remove(watch)
    if not others:
        _waits.pop(watch.fd, None)
    return is_here


def caller() -> VirtualThread | None:
    """Return the calling virtual thread, if it can park until a descriptor is ready."""
    thread = trampoline.parks()
    group = None if thread is None else thread._group
    if group is None or group in _without:
        return None
    if not group._has_pollers:
        try:
            start(group)
        except ClosedError:
            pass  # the thread waits with naps, until the close hands it back
        except StateError:  # it has spare carriers, which help while a carrier blocks
            _without.add(group)
            return None
    return thread


def until_of(timeout_s: float | None) -> int:
    """Return when a timeout of the standard library ends, in nanoseconds of the kernel's clock."""
    if timeout_s is None or timeout_s * NS_PER_S >= lib.WP_FOREVER // 2:
        return lib.WP_FOREVER
    return lib.wp_clock_ns() + int(timeout_s * NS_PER_S)


def wait(
    thread: VirtualThread, fd: int, side: int, until: int, why: int = lib.WP_WAIT_READ
) -> bool:
    """Park until the descriptor is ready; False: the time ran out.

    A descriptor that cannot be waited for, such as that of a regular file, is ready.

    Raises:
        OSError: the descriptor was closed during the wait, or the group was (EBADF).  If an OS
            thread closed it, the wait goes on until the file is ready, as that of OS threads.
        ThreadInterruptedError: the caller was interrupted.
    """
    if is_ready(fd, side):
        return True
    assert thread._native is not None
    io = lib.wp__io_take_copy(thread._native, fd)
    if not io:
        return _without_copy(fd, side, until, ffi.errno)
    watch = _Watch(thread, io, fd, side, why)
    _waits.setdefault(fd, []).append(watch)
    try:
        code = watch.parks(until)
        if code == lib.WP_OK and not lib.wp__io_is_copy_of(io, fd):
            code = lib.WP_CLOSED
    finally:
        lib.wp_io_close(io)
        _forget(watch)
    if code == lib.WP_INTERRUPTED:
        raise interrupted(thread)
    if code == lib.WP_CLOSED:
        raise descriptor.closed(f"descriptor {fd}")
    return code == lib.WP_OK


def _without_copy(fd: int, side: int, until: int, failed: int) -> bool:
    if failed not in (*_NO_ROOM, *_NO_POLLER):
        return True  # EPERM: always ready; EBADF: the call itself reports it
    nap_ns = FIRST_NAP_NS
    while not is_ready(fd, side):
        if not nap(nap_ns, until):
            return False
        nap_ns = min(2 * nap_ns, LONGEST_NAP_NS)
    return True


def nap(nap_ns: int, until: int) -> bool:
    """Sleep that long, but not longer than until then; False: it is past that."""
    left = until - lib.wp_clock_ns()
    if left <= 0:
        return False
    sleep(min(nap_ns, left) / NS_PER_S)
    return True


def repeated(attempt: Callable[[], T | None], until: int = lib.WP_FOREVER) -> T | None:
    """Call `attempt` with naps of 1 to 32 ms between, until it returns a value; None: too late.

    It is for what the system announces by no descriptor.
    """
    nap_ns = FIRST_NAP_NS
    while (found := attempt()) is None:
        if not nap(nap_ns, until):
            return None
        nap_ns = min(2 * nap_ns, LONGEST_NAP_NS)
    return found


def closed(fd: int) -> None:
    """Wake those who wait for a descriptor, because the caller is about to close it."""
    for watch in _waits.pop(fd, ()):
        lib.wp_io_close(watch.io)


def call(
    thread: VirtualThread,
    fd: Callable[[], int],
    side: int,
    until: int,
    attempt: Callable[[], T],
    why: int,
) -> T:
    """Call `attempt` when the descriptor is ready, and again if it raises BlockingIOError.

    Raises:
        TimeoutError: the time ran out.
        Others: as `wait` and `attempt`.
    """
    nap_ns = 0
    while True:
        number = fd()  # the descriptor may have been closed meanwhile: `attempt` reports it
        if number >= 0 and not wait(thread, number, side, until, why):
            raise TimeoutError("timed out")
        try:
            return attempt()
        except BlockingIOError:
            # Another thread was faster; or the system calls it ready, although it is not (a
            # datagram to a full socket).
            if nap_ns and not nap(nap_ns, until):
                raise TimeoutError("timed out") from None
            nap_ns = min(2 * nap_ns or FIRST_NAP_NS, LONGEST_NAP_NS)


def _forget_parents() -> None:
    _waits.clear()


os.register_at_fork(after_in_child=_forget_parents)
