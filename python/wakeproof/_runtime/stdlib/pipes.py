# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of pipes, terminals and the like park: ``os.read`` and others, ``io.FileIO``.

A blocking descriptor stays blocking, because its mode belongs to all its copies.  So a call waits
until the descriptor is ready, and then reads or writes with RWF_NOWAIT, where the system knows that
for such a file: else a faster reader, on another carrier or in another process, could leave this
one blocked.  Calls on regular files and on non-blocking descriptors are left as they are.
"""

from __future__ import annotations

import errno
import io
import os
import select
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import lib
from wakeproof._runtime import watch
from wakeproof._runtime.descriptor import READ, WRITE
from wakeproof._runtime.stdlib.replacement import Function, Replacement, original

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

Made = Callable[..., Any]
_MOST = 1 << 20  # the most bytes of one read: a pipe has no more, unless root asked for it
_READS = 1 << 16
_UNKNOWN = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ESPIPE)
_STREAMS = (1, 2)
_plain_write = original(os.write)


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    yield Function(os, "read", _read)
    yield Function(os, "readv", _readv)
    yield Function(os, "write", _write)
    yield Function(os, "writev", _writev)
    yield Function(os, "sendfile", _sendfile)
    yield Function(os, "close", _close)
    yield Function(os, "dup2", _dup2)
    yield Function(io.FileIO, "read", _file_read)
    yield Function(io.FileIO, "readinto", _file_readinto)
    yield Function(io.FileIO, "readall", _file_readall)
    yield Function(io.FileIO, "write", _file_write)
    yield Function(io.FileIO, "close", _file_close)


def _caller(fd: Any) -> VirtualThread | None:
    """Return the calling virtual thread, if a call on that descriptor could block it."""
    thread = watch.caller()
    try:
        return thread if thread and lib.wp__fd_may_block(fd) else None
    except (TypeError, OverflowError):
        return None  # the call itself reports it


def _now(nowait: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """Return what `nowait` does, or `otherwise` if the system does not know RWF_NOWAIT there."""
    try:
        return nowait()
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
        return otherwise()


def _reads(thread: VirtualThread, fd: int, attempt: Callable[[], Any]) -> Any:
    return watch.call(thread, lambda: fd, READ, lib.WP_FOREVER, attempt, lib.WP_WAIT_READ)


def _read(original: Made) -> Made:
    def read(fd: Any, size: Any, /) -> Any:
        if not isinstance(size, int) or size <= 0 or not (thread := _caller(fd)):
            return original(fd, size)

        def nowait() -> bytes:
            buffer = bytearray(min(size, _MOST))
            return bytes(buffer[: os.preadv(fd, [buffer], -1, os.RWF_NOWAIT)])

        return _reads(thread, fd, lambda: _now(nowait, lambda: original(fd, size)))

    return read


def _readv(original: Made) -> Made:
    def readv(fd: Any, buffers: Any, /) -> Any:
        thread = _caller(fd)
        if thread is None:
            return original(fd, buffers)
        nowait = partial(os.preadv, fd, buffers, -1, os.RWF_NOWAIT)
        return _reads(thread, fd, lambda: _now(nowait, lambda: original(fd, buffers)))

    return readv


def _writes_all(thread: VirtualThread, fd: int, data: Any) -> int:
    """Write all of the data, as a blocking descriptor does; after an error return how much."""
    with memoryview(data) as view, view.cast("B") as whole:
        at = 0
        while True:
            attempt = partial(_write_now, fd, whole[at:])
            try:
                at += watch.call(
                    thread, lambda: fd, WRITE, lib.WP_FOREVER, attempt, lib.WP_WAIT_WRITE
                )
            except OSError:
                if not at:
                    raise
                return at  # the next call reports it
            if at >= len(whole):
                return at


def _write_now(fd: int, part: memoryview) -> int:
    # A pipe that is ready has room for PIPE_BUF bytes.
    nowait = partial(os.pwritev, fd, [part], -1, os.RWF_NOWAIT)
    return int(_now(nowait, lambda: _plain_write(fd, part[: select.PIPE_BUF])))


def _write(original: Made) -> Made:
    def write(fd: Any, data: Any, /) -> Any:
        thread = _caller(fd)
        return original(fd, data) if thread is None else _writes_all(thread, fd, data)

    return write


def _writev(original: Made) -> Made:
    def writev(fd: Any, buffers: Any, /) -> Any:
        thread = _caller(fd)
        if thread is None:
            return original(fd, buffers)
        return _writes_all(thread, fd, b"".join(buffers))

    return writev


def _sendfile(original: Made) -> Made:
    """``os.sendfile`` to a blocking descriptor would block until all is sent."""

    def sendfile(out_fd: Any, in_fd: Any, offset: Any, count: Any, **named: Any) -> Any:
        if named or not isinstance(count, int) or not (thread := _caller(out_fd)):
            return original(out_fd, in_fd, offset, count, **named)
        size = min(count, _READS)
        data = os.read(in_fd, size) if offset is None else os.pread(in_fd, size, offset)
        return _writes_all(thread, out_fd, data) if data else 0

    return sendfile


def _close(original: Made) -> Made:
    def close(fd: Any) -> Any:
        watch.closed(fd)
        return original(fd)

    return close


def _dup2(original: Made) -> Made:
    def dup2(fd: Any, fd2: Any, *args: Any, **named: Any) -> Any:
        if fd != fd2:
            watch.closed(fd2)
        return original(fd, fd2, *args, **named)

    return dup2


# ---- io.FileIO ----


def _of_file(file: io.FileIO) -> VirtualThread | None:
    return None if file.closed else _caller(file.fileno())


def _file_read(original: Made) -> Made:
    def read(self: io.FileIO, size: Any = -1, /) -> Any:
        thread = _of_file(self)
        if thread is None:
            return original(self, size)
        if size is None or (isinstance(size, int) and size < 0):
            return self.readall()
        return _reads(thread, self.fileno(), partial(original, self, size))

    return read


def _file_readinto(original: Made) -> Made:
    def readinto(self: io.FileIO, buffer: Any, /) -> Any:
        thread = _of_file(self)
        attempt = partial(original, self, buffer)
        return attempt() if thread is None else _reads(thread, self.fileno(), attempt)

    return readinto


def _file_readall(original: Made) -> Made:
    def readall(self: io.FileIO) -> Any:
        if _of_file(self) is None:
            return original(self)
        parts = []
        while part := self.read(_READS):
            parts.append(part)
        return b"".join(parts)

    return readall


def _file_write(original: Made) -> Made:
    """Of stdout and stderr a write blocks: whoever prints meanwhile would get a RuntimeError.

    For ``sys.stdout`` keeps its lock during the write, and knows OS threads only.
    """

    def write(self: io.FileIO, data: Any, /) -> Any:
        thread = None if self.closed or self.fileno() in _STREAMS else _of_file(self)
        if thread is None or not self.writable():
            return original(self, data)
        return _writes_all(thread, self.fileno(), data)

    return write


def _file_close(original: Made) -> Made:
    def close(self: io.FileIO) -> Any:
        if not self.closed and self.closefd:
            watch.closed(self.fileno())
        return original(self)

    return close
