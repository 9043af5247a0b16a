# SPDX-License-Identifier: Apache-2.0
"""Let a virtual thread park until any descriptor is ready, without taking the descriptor over.

A call is tried without waiting.  If it would block, the thread waits with the watch of the
descriptor's number (``_native/watch.h``), which finds out after each wait whether the number still
names the same file; if not, the call fails as on a closed descriptor.  The user's O_NONBLOCK stays
as it is.

Where there is no watch, the thread tries again and again, with naps: the group has no pollers, or
they have ended; there is no memory for a watch; or the system refuses such a file.

Spec: ``specs/io/Descriptor.tla``.  Source: ``_native/watch.h``, ``kernel/io/readiness.h``.
"""

from __future__ import annotations

import errno
import os
import select
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from wakeproof._native.ffi import lib
from wakeproof._runtime import descriptor, trampoline
from wakeproof._runtime.descriptor import (
    FIRST_NAP_NS,
    LONGEST_NAP_NS,
    READ,
    Call,
    UntoldError,
    start,
)
from wakeproof._runtime.signal import interrupted
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import Turns, parked
from wakeproof.errors import ClosedError, StateError
from wakeproof.parking import sleep

if TYPE_CHECKING:
    from wakeproof._native.ffi import CIo
    from wakeproof.group import CarrierGroup
    from wakeproof.vthread import VirtualThread

T = TypeVar("T")
NS_PER_S = 1_000_000_000
_without: weakref.WeakSet[CarrierGroup] = weakref.WeakSet()  # groups that can have no pollers
is_ready = lib.wp__fd_is_ready


class Watch(Call):
    """A call on a descriptor of the user's that would block."""

    __slots__ = ("epoll", "files", "since")

    def __init__(
        self, io: CIo, fd: int, side: int, why: int, epoll: select.epoll | None = None
    ) -> None:
        super().__init__(io, fd, side, "", 0, False)
        self.why, self.epoll = why, epoll
        self.files, self.since = lib.wp__watch_add(io), lib.wp_clock_ns()

    def tried(
        self, thread: VirtualThread, attempt: Callable[[], T], deadline: int, found: list[T]
    ) -> Turns:
        try:
            super().tries(attempt, found)  # since it is registered
        except BaseException:
            self.leave()
            raise
        return (yield from super().tried(thread, attempt, deadline, found))

    def tries(self, attempt: Callable[[], T], found: list[T]) -> None:
        if lib.wp__watch_add(self.io) != self.files:
            raise descriptor.closed(f"descriptor {self.fd}")
        super().tries(attempt, found)

    def until(self, deadline: int) -> int:
        if self.nap_ns:
            return super().until(deadline)
        return lib.wp__watch_until(self.since, deadline)

    def leave(self) -> None:
        super().leave()
        if self.epoll is not None:
            self.epoll.close()  # a thread that never continues may keep this object


def has_pollers(group: CarrierGroup | None) -> bool:
    """Return whether threads of the group can park until a descriptor is ready."""
    if group is None or group in _without:
        return False
    if not group._has_pollers:
        try:
            start(group)
        except ClosedError:
            pass  # the thread waits with naps, until the close hands it back
        except StateError:  # it has spare carriers, which help while a carrier blocks
            _without.add(group)
            return False
    return True


def caller() -> VirtualThread | None:
    """Return the calling virtual thread, if it can park until a descriptor is ready."""
    thread = trampoline.parks()
    return thread if thread is not None and has_pollers(thread._group) else None


def until_of(timeout_s: float | None) -> int:
    """Return when a timeout of the standard library ends, in nanoseconds of the kernel's clock."""
    if timeout_s is None or timeout_s * NS_PER_S >= lib.WP_FOREVER // 2:
        return lib.WP_FOREVER
    return lib.wp_clock_ns() + int(timeout_s * NS_PER_S)


def turns(
    thread: VirtualThread,
    fd: int,
    side: int,
    deadline: int,
    attempt: Callable[[], T],
    found: list[T],
    why: int = lib.WP_WAIT_READ,
    epoll: select.epoll | None = None,
) -> Turns:
    """Call `attempt`, with waits between, until it does not raise BlockingIOError.

    What it returns is put into `found`.  `epoll`, whose descriptor it is, is closed at the end.
    """
    assert thread._native is not None
    io = lib.wp__watch_enter(thread._native, fd)
    watch = Watch(io, fd, side, why, epoll) if io else None
    if watch is not None and watch.files >= 0:
        return (yield from watch.tried(thread, attempt, deadline, found))
    if watch is not None:
        watch.leave()
    elif epoll is not None:
        epoll.close()
    if watch is None or watch.files != -errno.EEXIST:
        return (yield from _naps(thread, attempt, deadline, found))
    around = epoll_of({fd: select.POLLOUT if side else select.POLLIN})  # one of `wakeproof.io`
    return (yield from turns(thread, around.fileno(), READ, deadline, attempt, found, why, around))


def epoll_of(wanted: Mapping[int, int]) -> select.epoll:
    """Return an epoll of descriptors and the events of `select.poll` to wait for."""
    epoll = select.epoll()
    try:
        for fd, events in wanted.items():
            epoll.register(fd, events)
    except BaseException:
        epoll.close()
        raise
    return epoll


def _naps(thread: VirtualThread, attempt: Callable[[], T], deadline: int, found: list[T]) -> Turns:
    """Try again and again, after naps that become longer."""
    nap_ns, had_permit = FIRST_NAP_NS, False
    try:
        while True:
            now = lib.wp_clock_ns()
            if now >= deadline:
                return lib.WP_TIMEOUT
            code = yield min(deadline, now + nap_ns)
            if code == lib.WP_INTERRUPTED:
                return code
            had_permit = had_permit or code == lib.WP_OK
            nap_ns = min(2 * nap_ns, LONGEST_NAP_NS)
            with suppress(BlockingIOError):
                found.append(attempt())
                return lib.WP_OK
    finally:
        if had_permit:
            thread._tell(lib.wp_vthread_unpark)  # it was another's, for another wait


def wait(
    thread: VirtualThread, fd: int, side: int, until: int, why: int = lib.WP_WAIT_READ
) -> bool:
    """Park until the descriptor is ready; False: the time ran out.

    A descriptor that cannot be waited for, such as that of a regular file, is ready.

    Raises:
        OSError: the descriptor was closed during the wait, or the group was (EBADF).
        ThreadInterruptedError: the caller was interrupted.
    """

    def attempt() -> bool:
        if not is_ready(fd, side):
            raise BlockingIOError
        return True

    try:
        return _tried(thread, fd, side, until, attempt, why)
    except TimeoutError:
        return False


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

    def when_ready() -> T:
        number = fd()  # the descriptor may have been closed meanwhile: `attempt` reports it
        if number >= 0 and not is_ready(number, side):
            raise BlockingIOError
        try:
            return attempt()
        except BlockingIOError:
            # Another thread was faster; or the system calls it ready, although it is not (a
            # datagram to a full socket).
            raise UntoldError from None

    return _tried(thread, fd(), side, until, when_ready, why)


def _tried(
    thread: VirtualThread, fd: int, side: int, until: int, attempt: Callable[[], T], why: int
) -> T:
    with suppress(BlockingIOError):
        return attempt()
    found: list[T] = []
    code = parked(turns(thread, fd, side, until, attempt, found, why))
    if not found:
        ended(fd, code)
    return found[0]


def ended(fd: int, code: int) -> NoReturn:
    """Raise the error of a call on the descriptor whose wait has ended with that `code`."""
    if code == lib.WP_TIMEOUT:
        raise TimeoutError("timed out")
    if code == lib.WP_INTERRUPTED and here.thread is not None:
        raise interrupted(here.thread)
    raise descriptor.closed(f"descriptor {fd}")


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


def closed(fd: Any) -> None:
    """Wake those who wait for a descriptor, because the caller is about to close it."""
    with suppress(TypeError, OverflowError):  # the close itself reports it
        lib.wp__watch_closed(fd)


os.register_at_fork(after_in_child=lib.wp__watch_forked)
