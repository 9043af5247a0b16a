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
from typing import TYPE_CHECKING, NoReturn, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import calls, group_registry, process, trampoline
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.signal import interrupted
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import Turns, Wait, end_with_group, new_waiter, parked
from wakeproof.default import default_group
from wakeproof.errors import ClosedError, StateError, SystemCallError, error_for

if TYPE_CHECKING:
    from wakeproof._native.ffi import CGroup, CIo, CWaiter
    from wakeproof.group import CarrierGroup
    from wakeproof.vthread import VirtualThread

T = TypeVar("T")
READ, WRITE = 0, 1
_PAST = 1  # ns
NS_PER_MS = 1_000_000
FIRST_NAP_NS, LONGEST_NAP_NS = 1_000_000, 32_000_000
_WHY = {"accept": lib.WP_WAIT_ACCEPT, "connect": lib.WP_WAIT_CONNECT}
_SIDES = (lib.WP_WAIT_READ, lib.WP_WAIT_WRITE)
_SPARE_MOST = 16
_spare: list[CWaiter] = []  # waiters whose wait is over, for the next waits
_starting = threading.Lock()


class UntoldError(BlockingIOError):
    """The call would block, and no event will follow when it can continue: retry after a nap."""


class Call(Wait):
    """A call in progress that would block; its descriptor stays open until `leave`.

    It waits until the descriptor is ready, and may do so several times.
    """

    __slots__ = ("fd", "has_left", "io", "nap_ns", "seen", "side", "why")
    thread: VirtualThread

    def __init__(self, io: CIo, fd: int, side: int, what: str, seen: int, naps: bool) -> None:
        self.io, self.fd, self.side, self.seen, self.has_left = io, fd, side, seen, False
        self.why = _WHY.get(what, _SIDES[side])  # the reason of its waits, for events
        self.nap_ns = FIRST_NAP_NS if naps else 0

    def begin(self) -> int:
        try:
            self.waiter = _spare.pop()
        except IndexError:
            self.waiter = new_waiter(self.thread)
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

    def over(self) -> None:
        if len(_spare) < _SPARE_MOST:
            _spare.append(self.waiter)

    def abandon(self) -> None:
        self.leave()

    def sleeps(self, until: int) -> int:
        """Wait once, as an OS thread."""
        code = lib.wp__io_wait(self.io, self.side, self.seen, until)
        return lib.WP_OK if code == lib.WP_INTERRUPTED else code  # signal handlers have run

    def tries(self, attempt: Callable[[], T], found: list[T]) -> None:
        """Make one more attempt; if it would block, `found` stays empty: wait again."""
        self.seen = lib.wp__io_look(self.io, self.side)
        try:
            found.append(attempt())
        except BlockingIOError as error:
            naps = isinstance(error, UntoldError)
            self.nap_ns = min(2 * self.nap_ns or FIRST_NAP_NS, LONGEST_NAP_NS) if naps else 0

    def until(self, deadline: int) -> int:
        """Return when to stop waiting: at the deadline, or at the end of a nap."""
        return min(deadline, lib.wp_clock_ns() + self.nap_ns) if self.nap_ns else deadline

    def tried(
        self, thread: VirtualThread, attempt: Callable[[], T], deadline: int, found: list[T]
    ) -> Turns:
        """Wait and try, until an attempt does not block, and leave; return what ended the wait."""
        self.thread, code = thread, lib.WP_OK
        try:
            while not found:
                until = self.until(deadline)
                code = yield from self.turns(until)
                if not _goes_on(code, until, deadline):
                    break
                self.tries(attempt, found)
            return code
        finally:
            self.leave()

    def leave(self) -> None:
        if not self.has_left:
            self.has_left = True
            # it may have consumed a wakeup while more is ready
            lib.wp__io_pass_and_exit(self.io, self.side)


class Descriptor(Unique, calls.DescriptorCore):
    """Owns the descriptor of a socket until it is closed, and makes the descriptor non-blocking.

    Raises:
        OSError: epoll refuses such a file (EPERM), or the number is not a descriptor.
        ClosedError: the group is closed.
    """

    __slots__ = ("__weakref__", "_io", "_of", "_pid", "group")

    def __init__(self, of: socket.socket, group: CarrierGroup | None = None) -> None:
        fd = of.fileno()
        lib.wp__watch_closed(fd)  # a call of `wakeproof.install` may have left it registered
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
        self._io, self._fd = made, lib.wp__io_fd(made)
        self._address = int(ffi.cast("uintptr_t", made))
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
        value, call = self.tried(side, attempt, deadline, what)
        if call is None:
            return value  # type: ignore[return-value]
        thread = here.thread
        wait: Callable[[int], int] = call.sleeps
        if thread is not None and trampoline.parks() is None:
            wait = self._blocks(thread, call)
        elif thread is not None:
            call.thread, wait = thread, call.parks
        found: list[T] = []
        try:
            while not found:
                until = call.until(deadline)
                code = wait(until)
                if not _goes_on(code, until, deadline):
                    break
                call.tries(attempt, found)
        finally:
            call.leave()
        return found[0] if found else self._ended(code, what)

    def tried(
        self, side: int, attempt: Callable[[], T], deadline: int, what: str
    ) -> tuple[T | None, Call | None]:
        """Make the first attempt: return what it found, or the call that must wait.

        Raises:
            BlockingIOError: the call would block, and the deadline is 0.
            OSError: the descriptor is closed (EBADF), or `attempt` raised an error.
        """
        io = self._io
        if io is None or self._pid != process.pid:
            raise closed("call")
        seen = lib.wp__io_enter_and_look(io, side)
        if seen < 0:
            raise closed("call")
        naps = None
        try:
            return attempt(), None
        except BlockingIOError as error:
            if deadline == 0:
                raise
            naps = isinstance(error, UntoldError)
        finally:
            if naps is None:
                lib.wp_io_exit(io)
        return None, Call(io, self._fd, side, what, seen, naps)

    def _ended(self, code: int, what: str) -> NoReturn:
        """Raise the error of a call whose wait has ended with that `code`."""
        thread = trampoline.parks()
        if thread is not None and self._ended_with(thread, code):
            code = parked(end_with_group(thread))
        fail(code, what)

    def turns(
        self,
        thread: VirtualThread,
        call: Call,
        attempt: Callable[[], T],
        deadline: int,
        found: list[T],
    ) -> Turns:
        """Do as `call` after its first attempt, for a coroutine function."""
        code = yield from call.tried(thread, attempt, deadline, found)
        if self._ended_with(thread, code):
            code = yield from end_with_group(thread)
        return code

    def _ended_with(self, thread: VirtualThread, code: int) -> bool:
        """Return whether the wait ended because the thread's group is closed."""
        return code == lib.WP_CLOSED and self._io is not None and self.group is thread._group

    def _blocks(self, thread: VirtualThread, call: Call) -> Callable[[int], int]:
        """Return a function that waits once on the carrier, whose poller therefore cannot tell."""
        poll, naps = select.poll(), select.poll()
        poll.register(call.fd, select.POLLOUT if call.side else select.POLLIN)

        def wait(until: int) -> int:
            asked = naps if call.nap_ns else poll
            return block(asked, until, thread, lambda: self._io is None)[0]

        return wait

    def close(self) -> None:
        """Close the descriptor: wake the calls in progress, and release it when they have ended.

        A second close does nothing.
        """
        io, self._io, self._address = self._io, None, 0
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
        self._io, self._address = None, 0
        self._left()
        return fd

    def _left(self) -> None:
        of = self._of()
        if of is not None:
            socket.socket.detach(of)
        self.group._descriptors.discard(self)


def fail(code: int, what: str) -> NoReturn:
    """Raise the error of the kernel's `code`."""
    if code == lib.WP_TIMEOUT:
        raise TimeoutError(errno.ETIMEDOUT, f"{what}: timed out")
    if code == lib.WP_INTERRUPTED and here.thread is not None:
        raise interrupted(here.thread)
    raise closed(what)


def _goes_on(code: int, until: int, deadline: int) -> bool:
    """Return whether a wait until then has ended so that the next attempt may succeed."""
    return code == lib.WP_OK or (code == lib.WP_TIMEOUT and until < deadline)


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
