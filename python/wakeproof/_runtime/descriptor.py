# SPDX-License-Identifier: Apache-2.0
"""A descriptor of the kernel: its calls park a virtual thread where they would block.

Spec: ``specs/io/Descriptor.tla``.  Source: ``_native/io.h``, ``kernel/io/descriptor.h``,
``kernel/io/readiness.h``.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import group_registry, process, trampoline
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.signal import interrupted
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import Turns, Wait, end_with_group, parked
from wakeproof.default import default_group
from wakeproof.errors import ClosedError, StateError, SystemCallError, error_for

if TYPE_CHECKING:
    from wakeproof._native.ffi import CGroup, CIo
    from wakeproof.group import CarrierGroup
    from wakeproof.vthread import VirtualThread

T = TypeVar("T")
READ, WRITE = 0, 1
_PAST = 1  # ns
NS_PER_MS = 1_000_000
FIRST_NAP_NS, LONGEST_NAP_NS = 1_000_000, 32_000_000
_WHY = {"accept": lib.WP_WAIT_ACCEPT, "connect": lib.WP_WAIT_CONNECT}
_starting = threading.Lock()


class UntoldError(BlockingIOError):
    """The call would block, and no event will follow when it can continue: retry after a nap."""


class _Ready(Wait):
    """One wait until a descriptor is ready to be read, or ready to be written."""

    __slots__ = ("call", "seen")

    def __init__(self, thread: VirtualThread, call: Call, seen: int) -> None:
        super().__init__(thread)
        self.call, self.seen = call, seen

    def begin(self) -> int:
        return lib.wp__io_wait_begin(self.call.io, self.call.side, self.seen, self.waiter)

    def check(self) -> bool:
        return lib.wp__io_check(self.call.io, self.call.side, self.waiter)

    def cancel(self) -> bool:
        return lib.wp__io_cancel(self.call.io, self.call.side, self.waiter)

    def granted(self) -> int:
        return lib.wp__waiter_result(self.waiter)

    def waits(self) -> tuple[int, int]:
        return self.call.why, lib.wp__io_fd(self.call.io)

    def abandon(self) -> None:
        self.call.leave()


class Call:
    """One call in progress; its descriptor stays open until `leave`."""

    __slots__ = ("has_left", "has_waited", "io", "nap_ns", "side", "why")

    def __init__(self, io: CIo, side: int, why: int) -> None:
        self.io, self.side, self.has_waited, self.has_left = io, side, False, False
        self.nap_ns = 0
        self.why = why  # the reason of its wait, for events

    def seen_before(self, attempt: Callable[[], T], deadline: int, found: list[T]) -> int | None:
        """Make one attempt; return None if it succeeded, else the state from which to wait."""
        seen = lib.wp__io_look(self.io, self.side)
        try:
            found.append(attempt())
        except BlockingIOError as error:
            if deadline == 0:
                raise
            self.has_waited = True
            naps = isinstance(error, UntoldError)
            self.nap_ns = min(2 * self.nap_ns or FIRST_NAP_NS, LONGEST_NAP_NS) if naps else 0
            return seen
        return None

    def until(self, deadline: int) -> int:
        """Return when to stop waiting: at the deadline, or at the end of a nap."""
        return min(deadline, lib.wp_clock_ns() + self.nap_ns) if self.nap_ns else deadline

    def leave(self) -> None:
        if self.has_left:
            return
        self.has_left = True
        if self.has_waited:
            lib.wp__io_pass(self.io, self.side)  # it may have consumed a wakeup while more is ready
        lib.wp_io_exit(self.io)


class Descriptor(Unique):
    """Owns the descriptor of a socket until it is closed, and makes the descriptor non-blocking.

    Raises:
        OSError: epoll refuses such a file (EPERM), or the number is not a descriptor.
        ClosedError: the group is closed.
    """

    __slots__ = ("__weakref__", "_io", "_of", "_pid", "group")

    def __init__(self, of: socket.socket, group: CarrierGroup | None = None) -> None:
        fd = of.fileno()
        self._of: Callable[[], socket.socket | None] = weakref.ref(of)
        self._own(lambda native: lib.wp__io_take(native, fd), f"descriptor {fd}", group)

    def _own(
        self, make: Callable[[CGroup], CIo], what: str, group: CarrierGroup | None = None
    ) -> None:
        self._io: CIo | None = None
        self.group = group or _group_here()
        self._pid = process.pid
        start(self.group)
        made = make(self.group._native)
        if not made:
            if ffi.errno == errno.ESHUTDOWN:
                raise ClosedError(f"{what}: the group is closed")
            raise OSError(ffi.errno, f"{what}: {os.strerror(ffi.errno)}")
        self._io = made
        self.group._descriptors.add(self)

    @property
    def is_parents(self) -> bool:
        """Whether the descriptor was made before a fork, so that its epoll is the parent's."""
        return self._pid != process.pid

    def belongs_to(self, of: socket.socket) -> None:
        """Make `of`, which has the same number, the socket that a close detaches."""
        self._of = weakref.ref(of)

    def call(self, side: int, attempt: Callable[[], T], deadline: int, what: str) -> T:
        """Call `attempt` until it does not raise BlockingIOError, and park between the attempts.

        Raises:
            TimeoutError: the deadline has passed.
            BlockingIOError: the call would block, and the deadline is 0.
            OSError: the descriptor is closed (EBADF), or `attempt` raised an error.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        found: list[T] = []
        thread = here.thread
        if thread is None:
            code = self._asleep(side, attempt, deadline, found)
        elif trampoline.parks() is None:
            code = self._blocked(thread, side, attempt, deadline, found)
        else:
            code = parked(self.turns(thread, side, attempt, deadline, found, what))
        return self.said(code, found, what)

    def said(self, code: int, found: list[T], what: str) -> T:
        """Return what the attempt found, or raise the error of the kernel's `code`."""
        if code == lib.WP_OK:
            return found[0]
        if code == lib.WP_TIMEOUT:
            raise TimeoutError(errno.ETIMEDOUT, f"{what}: timed out")
        if code == lib.WP_INTERRUPTED and here.thread is not None:
            raise interrupted(here.thread)
        raise closed(what)

    def turns(
        self,
        thread: VirtualThread,
        side: int,
        attempt: Callable[[], T],
        deadline: int,
        found: list[T],
        what: str = "",
    ) -> Turns:
        code = yield from self._turns(thread, side, attempt, deadline, found, what)
        if code == lib.WP_CLOSED and self._io is not None and self.group is thread._group:
            code = yield from end_with_group(thread)
        return code

    def _turns(
        self,
        thread: VirtualThread,
        side: int,
        attempt: Callable[[], T],
        deadline: int,
        found: list[T],
        what: str,
    ) -> Turns:
        call = self._enter(side, what)
        try:
            while (seen := call.seen_before(attempt, deadline, found)) is not None:
                until = call.until(deadline)
                code = yield from _Ready(thread, call, seen).turns(until)
                if code != lib.WP_OK and not (code == lib.WP_TIMEOUT and until < deadline):
                    return code
            return lib.WP_OK
        finally:
            call.leave()

    def _asleep(self, side: int, attempt: Callable[[], T], deadline: int, found: list[T]) -> int:
        call = self._enter(side)
        try:
            while (seen := call.seen_before(attempt, deadline, found)) is not None:
                until = call.until(deadline)
                code = lib.wp__io_wait(call.io, side, seen, until)
                if code == lib.WP_TIMEOUT and until < deadline:
                    continue
                # WP_INTERRUPTED: signal handlers have run
                if code not in (lib.WP_OK, lib.WP_INTERRUPTED):
                    return code
            return lib.WP_OK
        finally:
            call.leave()

    def _blocked(
        self,
        thread: VirtualThread,
        side: int,
        attempt: Callable[[], T],
        deadline: int,
        found: list[T],
    ) -> int:
        """Wait on the carrier, whose poller therefore cannot tell."""
        call = self._enter(side)
        poll, naps = select.poll(), select.poll()
        poll.register(lib.wp__io_fd(call.io), select.POLLOUT if side else select.POLLIN)
        try:
            while call.seen_before(attempt, deadline, found) is not None:
                until = call.until(deadline)
                code, _ = block(
                    naps if call.nap_ns else poll, until, thread, lambda: self._io is None
                )
                if code != lib.WP_OK and not (code == lib.WP_TIMEOUT and until < deadline):
                    return code
            return lib.WP_OK
        finally:
            call.leave()

    def _enter(self, side: int, what: str = "") -> Call:
        io = self._io
        if io is None or self.is_parents or not lib.wp_io_enter(io):
            raise closed("call")
        return Call(io, side, _WHY.get(what, lib.WP_WAIT_WRITE if side else lib.WP_WAIT_READ))

    def close(self) -> None:
        """Close the descriptor: wake the calls in progress, and release it when they have ended.

        A second close does nothing.
        """
        io, self._io = self._io, None
        if io is None or self.is_parents:
            return
        self._left()  # its number may soon belong to another file
        lib.wp_io_free(io)

    def give_up(self) -> int:
        """Return the number, which stays open, and end as a close does.

        Raises:
            OSError: the process has no descriptor left; nothing has changed.
        """
        io = self._io
        if io is None or self.is_parents:
            raise closed("detach")
        fd = lib.wp__io_give_up(io)
        if fd < 0:
            raise OSError(ffi.errno, f"detach: {os.strerror(ffi.errno)}")
        self._io = None
        self._left()
        return fd

    def _left(self) -> None:
        of = self._of()
        if of is not None:
            socket.socket.detach(of)
        self.group._descriptors.discard(self)


def _group_here() -> CarrierGroup:
    group = here.thread._group if here.thread else None
    if group is None or (group.closed and not group._has_pollers):
        return default_group()  # a group that is being closed can get no pollers
    return group


def block(
    poll: select.poll, deadline: int, thread: VirtualThread, is_over: Callable[[], bool]
) -> tuple[int, list[tuple[int, int]]]:
    """Poll in a virtual thread that cannot leave its carrier; return a code, and what is ready.

    Meanwhile other carriers help, if the group has a `Compensation`.  `CarrierCounts.pinned` counts
    it as a park that blocks the carrier.
    """
    is_marked = lib.wp_group_block() == lib.WP_OK
    try:
        code = lib.wp__vthread_park_for(_PAST, lib.WP_WAIT_PARK, 0)  # it is counted as pinned
        if code == lib.WP_OK:
            thread._tell(lib.wp_vthread_unpark)  # the permit is for another wait
        while not thread.is_interrupted():
            left_ns = min(deadline - lib.wp_clock_ns(), LONGEST_NAP_NS)
            found = poll.poll(max(-(-left_ns // NS_PER_MS), 0))
            if found:
                return lib.WP_OK, found
            if is_over():
                return lib.WP_CLOSED, []
            if left_ns <= 0:
                return lib.WP_TIMEOUT, []
        return lib.WP_INTERRUPTED, []
    finally:
        if is_marked:
            lib.wp_group_unblock()


def closed(what: str) -> OSError:
    return OSError(errno.EBADF, f"{what}: {os.strerror(errno.EBADF)}: it is closed")


def start(group: CarrierGroup) -> None:
    """Start the pollers of a group, once.

    Raises:
        SystemCallError: there is no descriptor or no memory for them.
        StateError: a carrier has a poller of the user's own, or the group has spare carriers.
        ClosedError: the group is closed.
    """
    group._check_process()
    with _starting:
        if group._has_pollers and group in group_registry.groups:
            return  # also while it is being closed, which waits for its threads
        if group.closed:
            raise ClosedError("start pollers: the group is closed")
        own = [f"{one.name} ({one.poller.name!r})" for one in group if one.poller]
        if len(group._all) > len(group):
            raise StateError(
                "start pollers: a group with spare carriers has none; use a group without"
            )
        code = lib.WP_FORBIDDEN if own else lib.wp_io_start(group._native, group._idle_spins)
        if code == lib.WP_SYSTEM:
            raise SystemCallError(f"start {len(group)} pollers: {os.strerror(ffi.errno)}")
        if code == lib.WP_FORBIDDEN:
            raise StateError(
                f"start pollers of wakeproof.io: there is another on {', '.join(own)}; use a group "
                "without register_poller"
            )
        if code not in (lib.WP_OK, lib.WP_ALREADY):  # ALREADY: Ctrl-C came after they were started
            raise error_for(code, "start pollers")
        group._has_pollers = True
