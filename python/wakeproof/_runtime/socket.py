# SPDX-License-Identifier: Apache-2.0
"""The socket of ``wakeproof.io``.

Spec: ``specs/io/Descriptor.tla``.  Source: ``descriptor.py``, ``kernel/io/descriptor.h``.
"""

from __future__ import annotations

import errno
import os
import socket
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.descriptor import READ, WRITE, Descriptor, UntoldError, closed

if TYPE_CHECKING:
    from wakeproof.group import CarrierGroup

T = TypeVar("T")
Address = Any
_PENDING = (errno.EINPROGRESS, errno.EALREADY, errno.EWOULDBLOCK, errno.EINTR)
_Base = socket.socket


class Socket(socket.socket):
    """A ``socket.socket`` for virtual threads.

    It belongs to the carrier that is the caller's home (an OS thread's: to the next in turn of
    `group`, by default the default group), whose poller waits for it, and is closed with its group.
    A close wakes who waits: OSError, EBADF.

    Args:
        family, type, proto, fileno: as of ``socket.socket``.
        group: whose poller; default: the calling thread's, or the default group.

    Threads: any; who calls the same direction at once is served in turn.

    Raises:
        OSError: as ``socket.socket``.
        ClosedError: the group is closed.
    """

    __slots__ = ("_descriptor", "_limit_s")
    _accept: Callable[[], tuple[int, Address]]  # theirs

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
                super().detach()  # it stays the caller's
            raise

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
        """Wait at most `value` seconds in each call; 0: not at all; None: as long as it takes."""
        deadline_ns(value)
        self._limit_s = None if value is None else float(value)

    def gettimeout(self) -> float | None:
        """As ``socket.socket.gettimeout``."""
        return self._limit_s

    def setblocking(self, flag: bool) -> None:
        """As ``socket.socket.setblocking``."""
        self.settimeout(None if flag else 0.0)

    def getblocking(self) -> bool:
        """As ``socket.socket.getblocking``."""
        return self._limit_s != 0

    @property
    def timeout(self) -> float | None:
        """As ``socket.socket.timeout``."""
        return self._limit_s

    # To read.
    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """As ``socket.socket.recv``."""
        return self._call(READ, lambda: _Base.recv(self, bufsize, flags), flags)

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """As ``socket.socket.recv_into``."""
        return self._call(READ, lambda: _Base.recv_into(self, buffer, nbytes, flags), flags)

    def recvfrom(self, bufsize: int, flags: int = 0, /) -> tuple[bytes, Address]:
        """As ``socket.socket.recvfrom``."""
        return self._call(READ, lambda: _Base.recvfrom(self, bufsize, flags), flags)

    def recvfrom_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> tuple[int, Address]:
        """As ``socket.socket.recvfrom_into``."""
        return self._call(READ, lambda: _Base.recvfrom_into(self, buffer, nbytes, flags), flags)

    def recvmsg(self, bufsize: int, ancbufsize: int = 0, flags: int = 0, /) -> Any:
        """As ``socket.socket.recvmsg``."""
        return self._call(READ, lambda: _Base.recvmsg(self, bufsize, ancbufsize, flags), flags)

    def recvmsg_into(self, buffers: Any, ancbufsize: int = 0, flags: int = 0, /) -> Any:
        """As ``socket.socket.recvmsg_into``."""
        return self._call(READ, lambda: _Base.recvmsg_into(self, buffers, ancbufsize, flags), flags)

    def accept(self) -> tuple[Socket, Address]:
        """As ``socket.socket.accept``."""
        return self._accepted(*self._call(READ, self._accept, what="accept"))

    def _accepted(self, fd: int, address: Address) -> tuple[Socket, Address]:
        group = self._descriptor.group if self._descriptor else None
        try:
            return Socket(self.family, self.type, self.proto, fileno=fd, group=group), address
        except BaseException:
            os.close(fd)
            raise

    # To write.
    def send(self, data: Any, flags: int = 0, /) -> int:
        """As ``socket.socket.send``."""
        return self._call(WRITE, lambda: _Base.send(self, data, flags), flags)

    def sendto(self, data: Any, *rest: Any) -> int:
        """As ``socket.socket.sendto``."""
        return self._call(WRITE, partial(_Base.sendto, self, data, *rest))

    def sendmsg(self, *parts: Any) -> int:
        """As ``socket.socket.sendmsg``."""
        return self._call(WRITE, lambda: _Base.sendmsg(self, *parts))

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send all of it, within one timeout."""
        descriptor = self._descriptor
        if descriptor is None:
            raise closed("socket")
        until = deadline_ns(self._limit_s)
        with memoryview(data) as view, view.cast("B") as rest:
            at = 0
            while at < len(rest):
                part = rest[at:]
                send = partial(_Base.send, self, part, flags)
                at += descriptor.call(WRITE, send, until, "sendall")

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        """As ``socket.socket.sendfile``."""
        return self._sendfile_use_send(file, offset, count)  # type: ignore[attr-defined,no-any-return]

    def connect(self, address: Address, /) -> None:
        """As ``socket.socket.connect``."""
        self._call(WRITE, connecting(self, address), what="connect")

    def connect_ex(self, address: Address, /) -> int:
        """As ``socket.socket.connect_ex``."""
        try:
            self.connect(address)
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    # The end.
    def _real_close(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None or descriptor.is_parents:
            _Base._real_close(self)  # type: ignore[attr-defined]
        else:
            descriptor.close()  # the last call under way closes it

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            if self.fileno() >= 0:
                warnings.warn(f"unclosed {self!r}", ResourceWarning, stacklevel=1, source=self)
            self._real_close()

    def detach(self) -> int:
        """Close it, and return a descriptor of the same socket, which is non-blocking."""
        fd = os.dup(self.fileno())
        self.close()
        return fd

    def dup(self) -> Socket:
        """As ``socket.socket.dup``."""
        group = self._descriptor.group if self._descriptor else None
        made = Socket(self.family, self.type, self.proto, os.dup(self.fileno()), group=group)
        made.settimeout(self._limit_s)
        return made


def connecting(sock: socket.socket, address: Address) -> Callable[[], None]:
    """Return attempts at a connection: the first begins it, the next ask what came of it."""
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
