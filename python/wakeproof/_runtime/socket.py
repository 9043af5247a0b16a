# SPDX-License-Identifier: Apache-2.0
"""The socket of ``wakeproof.io``.

Spec: ``specs/io/Descriptor.tla``.  Source: ``descriptor.py``, ``kernel/io/descriptor.h``.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import calls, watch
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.descriptor import READ, WRITE, Descriptor, UntoldError, closed

if TYPE_CHECKING:
    from wakeproof.group import CarrierGroup

T = TypeVar("T")
Address = Any
_PENDING = (errno.EINPROGRESS, errno.EALREADY, errno.EWOULDBLOCK, errno.EINTR)
_Base = socket.socket
_InC: Any = _Base.__base__


class Socket(calls.SocketCore, socket.socket):
    """A ``socket.socket`` for virtual threads: a call that would block parks the caller instead.

    A virtual thread (`VirtualThread`) that parks leaves its carrier, the OS thread that runs it, so
    that the carrier runs other work meanwhile.  An OS thread that calls blocks.  Each carrier of
    the group has a poller, which waits for the events of sockets.  A virtual thread's new socket
    belongs to the poller of that thread's home carrier; an OS thread's new sockets go to the
    carriers in turn.  When the group is closed, its sockets are closed too.  A close of a socket
    wakes waiting threads with an OSError (EBADF).

    Args:
        family: as of ``socket.socket``.
        type: as of ``socket.socket``.
        proto: as of ``socket.socket``.
        fileno: as of ``socket.socket``.
        group: the `CarrierGroup` of the poller; default None: the group of the calling virtual
            thread, else `default_group`.

    Threads: any thread may call all methods; calls in the same direction are served in turn.

    Raises:
        OSError: as ``socket.socket``.
        ClosedError: the group is closed.

    Example:
        >>> from wakeproof import CarrierGroup, io
        >>> with CarrierGroup(1) as group:
        ...     ours, theirs = io.socketpair(group=group)
        ...     with ours, theirs:
        ...         theirs.sendall(b"hello")
        ...         ours.recv(5)
        b'hello'
    """

    __slots__ = ("_descriptor", "_limit_s")
    _accept: Callable[[], tuple[int, Address]]  # of the base class

    def __init__(
        self,
        family: int = -1,
        type: int = -1,  # noqa: A002 - as the socket module's
        proto: int = -1,
        fileno: int | None = None,
        *,
        group: CarrierGroup | None = None,
    ) -> None:
        self._limit_s: float | None = socket.getdefaulttimeout()
        self._descriptor: Descriptor | None = None
        super().__init__(family, type, proto, fileno)
        try:
            super().setblocking(False)
            self._descriptor = Descriptor(self, group)
        except BaseException:
            if fileno is None:
                _Base._real_close(self)  # type: ignore[attr-defined]
            else:
                super().detach()  # the number stays the caller's
            raise

    def _take_over(self, other: Socket) -> None:
        """Become, in place of `other`, the owner of its connection; `other` is closed then."""
        descriptor = other._descriptor
        if descriptor is None:
            raise closed("socket")
        self._limit_s, self._descriptor = other._limit_s, None
        family, kind, proto = other.family, other.type, other.proto
        _Base.__init__(self, family, kind, proto, _Base.detach(other))
        self._descriptor, other._descriptor = descriptor, None
        descriptor.belongs_to(self)

    def _is_connected(self) -> bool:
        try:
            self.getpeername()
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                raise
            return False
        return True

    def _call(self, side: int, attempt: Callable[[], T], flags: int = 0, what: str = "socket") -> T:
        descriptor = self._descriptor
        if descriptor is None:
            raise closed("socket")
        limit_s = 0 if flags & socket.MSG_DONTWAIT else self._limit_s
        if limit_s == 0:
            return attempt()
        return descriptor.call(side, attempt, deadline_ns(limit_s), what)

    # Timeouts: the descriptor itself never blocks.
    def settimeout(self, value: float | None) -> None:
        """Limit the wait of each call to `value` seconds; 0: do not wait; None: no limit."""
        deadline_ns(value)
        self._limit_s = None if value is None else float(value)

    def gettimeout(self) -> float | None:
        """Return the timeout, as ``socket.socket.gettimeout`` does."""
        return self._limit_s

    def setblocking(self, flag: bool) -> None:
        """Set the timeout to None or 0, as ``socket.socket.setblocking`` does."""
        self.settimeout(None if flag else 0.0)

    def getblocking(self) -> bool:
        """Return whether calls wait, as ``socket.socket.getblocking`` does."""
        return self._limit_s != 0

    @property
    def timeout(self) -> float | None:
        """The timeout, as of ``socket.socket``."""
        return self._limit_s

    # Reading.
    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Receive at most `bufsize` bytes, as ``socket.socket.recv`` does."""
        return self._call(READ, partial(_Base.recv, self, bufsize, flags), flags)

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Receive into `buffer`, as ``socket.socket.recv_into`` does."""
        return self._call(READ, lambda: _Base.recv_into(self, buffer, nbytes, flags), flags)

    def recvfrom(self, bufsize: int, flags: int = 0, /) -> tuple[bytes, Address]:
        """Receive data and its sender, as ``socket.socket.recvfrom`` does."""
        return self._call(READ, lambda: _Base.recvfrom(self, bufsize, flags), flags)

    def recvfrom_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> tuple[int, Address]:
        """Receive into `buffer`, as ``socket.socket.recvfrom_into`` does."""
        return self._call(READ, lambda: _Base.recvfrom_into(self, buffer, nbytes, flags), flags)

    def recvmsg(self, bufsize: int, ancbufsize: int = 0, flags: int = 0, /) -> Any:
        """Receive data with ancillary data, as ``socket.socket.recvmsg`` does."""
        return self._call(READ, lambda: _Base.recvmsg(self, bufsize, ancbufsize, flags), flags)

    def recvmsg_into(self, buffers: Any, ancbufsize: int = 0, flags: int = 0, /) -> Any:
        """Receive into `buffers`, as ``socket.socket.recvmsg_into`` does."""
        return self._call(READ, lambda: _Base.recvmsg_into(self, buffers, ancbufsize, flags), flags)

    def accept(self) -> tuple[Socket, Address]:
        """Accept a connection, as ``socket.socket.accept`` does."""
        return self._accepted(*self._call(READ, self._accept, what="accept"))

    def _accepted(self, fd: int, address: Address) -> tuple[Socket, Address]:
        group = self._descriptor.group if self._descriptor else None
        try:
            return Socket(self.family, self.type, self.proto, fileno=fd, group=group), address
        except BaseException:
            os.close(fd)
            raise

    # Writing.
    def send(self, data: Any, flags: int = 0, /) -> int:
        """Send a part of `data`, as ``socket.socket.send`` does."""
        return self._call(WRITE, partial(_Base.send, self, data, flags), flags)

    def sendto(self, data: Any, *rest: Any) -> int:
        """Send `data` to an address, as ``socket.socket.sendto`` does."""
        return self._call(WRITE, partial(_Base.sendto, self, data, *rest))

    def sendmsg(self, *parts: Any) -> int:
        """Send buffers with ancillary data, as ``socket.socket.sendmsg`` does."""
        return self._call(WRITE, lambda: _Base.sendmsg(self, *parts))

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send all of `data`, within one timeout."""
        descriptor = self._descriptor
        if descriptor is None:
            raise closed("socket")
        until = deadline_ns(self._limit_s)
        done = 0
        if isinstance(data, bytes) and data:  # mostly one call sends it
            done = descriptor.call(WRITE, partial(_Base.send, self, data, flags), until, "sendall")
            if done == len(data):
                return
        with memoryview(data) as view, view.cast("B") as rest:
            at = done
            while at < len(rest):
                part = rest[at:]
                send = partial(_Base.send, self, part, flags)
                at += descriptor.call(WRITE, send, until, "sendall")

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        """Send a file, as ``socket.socket.sendfile`` does."""
        return self._sendfile_use_send(file, offset, count)  # type: ignore[attr-defined,no-any-return]

    def connect(self, address: Address, /) -> None:
        """Connect to `address`, as ``socket.socket.connect`` does."""
        self._call(WRITE, connecting(self, address), what="connect")

    def connect_ex(self, address: Address, /) -> int:
        """Connect and return an errno, as ``socket.socket.connect_ex`` does."""
        try:
            self.connect(address)
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    # Closing.
    def _real_close(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None or descriptor.is_parents:
            _Base._real_close(self)  # type: ignore[attr-defined]
        else:
            descriptor.close()  # the last call in progress closes the descriptor

    def __del__(self, _ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_descriptor", None) is not None:
            if self.fileno() >= 0:
                warnings.warn(f"unclosed {self!r}", ResourceWarning, stacklevel=1, source=self)
            if not _ends():  # else what a close calls may be gone
                self._real_close()

    def detach(self) -> int:
        """Close this object, and return its descriptor, which stays open and non-blocking."""
        descriptor = self._descriptor
        is_mine = descriptor is not None and not descriptor.is_parents
        fd = descriptor.give_up() if descriptor and is_mine else _Base.detach(self)
        self._descriptor = None
        return fd

    def dup(self) -> Socket:
        """Return a duplicate, as ``socket.socket.dup`` does."""
        group = self._descriptor.group if self._descriptor else None
        made = Socket(self.family, self.type, self.proto, os.dup(self.fileno()), group=group)
        made.settimeout(self._limit_s)
        return made


_CALLED = (  # in the order of sockets.c
    "wp__io_enter_and_look", "wp__io_look", "wp__io_wait_begin", "wp__io_check", "wp__io_cancel",
    "wp__waiter_unparked", "wp_io_exit", "wp__io_pass_and_exit", "wp__watch_enter", "wp__watch_add",
    "wp__watch_until", "wp_clock_ns",
)  # fmt: skip
BOUND = (
    tuple(int(ffi.cast("uintptr_t", ffi.addressof(lib, name))) for name in _CALLED),
    deadline_ns, Socket.recv, Socket.recv_into, Socket.send, Socket.sendall,
    _InC.fileno, _InC.gettimeout, watch.ended,
)  # fmt: skip
"""What sockets.c calls."""
calls.bind_sockets(*BOUND)
if calls.CHANNELS_IN_C:
    del Socket.recv, Socket.recv_into, Socket.send, Socket.sendall  # `SocketCore` has them


def connecting(sock: socket.socket, address: Address) -> Callable[[], None]:
    """Return a function for the attempts to connect: the first begins, the later ones check."""
    has_begun = False

    def attempt() -> None:
        nonlocal has_begun
        has_asked = has_begun
        code = _Base.connect_ex(sock, address) if not has_begun else _came_of(sock)
        has_begun = True
        if code == errno.EAGAIN and sock.family == socket.AF_UNIX and not has_asked:
            has_begun = False  # the queue of connections is full
            raise UntoldError(code, os.strerror(code))
        if code in _PENDING:
            raise BlockingIOError(code, os.strerror(code))
        if code:
            raise OSError(code, os.strerror(code))

    return attempt


def _came_of(sock: socket.socket) -> int:
    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code == 0:
        try:
            sock.getpeername()
        except OSError as error:
            return errno.EINPROGRESS if error.errno == errno.ENOTCONN else error.errno or 0
    return code
