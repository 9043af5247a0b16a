# SPDX-License-Identifier: Apache-2.0
"""The files of ``wakeproof.io``: a virtual thread parks while the system reads and writes.

Spec: ``specs/io/FileQueue.tla``.  Source: ``_native/io.h``, ``kernel/io/file.h``,
``kernel/io/file_queue.h``.
"""

from __future__ import annotations

import errno
import io
import os
import threading
import warnings
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, BinaryIO

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime.descriptor import start
from wakeproof._runtime.offload import offload
from wakeproof._runtime.signal import interrupted
from wakeproof._runtime.trampoline import parks
from wakeproof._runtime.wait import Turns, Wait, made, parked
from wakeproof.errors import NoFilesWarning, error_for

if TYPE_CHECKING:
    from wakeproof._native.ffi import CFileOp
    from wakeproof.group import CarrierGroup
    from wakeproof.vthread import VirtualThread

MOST = 2**30
"""The most bytes of one call."""
_AT_CWD = -100  # openat's number for paths relative to the working folder
_warning = threading.Lock()
_warned: list[str] = []


class _Op(Wait):
    """One operation of the system on a file, from its request until it has ended."""

    __slots__ = ("fd", "op", "opens")

    def __init__(
        self, thread: VirtualThread, what: int, fd: int, at: Any, size: int, flags: int
    ) -> None:
        super().__init__(thread)
        self.opens, self.fd = what == lib.WP_OP_OPEN, max(fd, 0)  # AT_FDCWD is not a descriptor
        self.op: CFileOp = made(lib.wp__op_new(what, fd, at, size, flags), lib.wp__op_free, "file")

    def begin(self) -> int:
        assert self.thread._native is not None
        return lib.wp__op_begin(self.op, self.thread._native, self.waiter)

    def check(self) -> bool:
        return lib.wp__op_check(self.op, self.waiter)

    def cancel(self) -> bool:
        return lib.wp__op_cancel(self.op, self.waiter)

    def waits(self) -> tuple[int, int]:
        return lib.WP_WAIT_FILE, self.fd

    def abandon(self) -> None:
        if self.check() and self.opens and lib.wp__op_result(self.op) >= 0:
            os.close(lib.wp__op_result(self.op))

    def turns(self, deadline: int) -> Turns:
        code = yield from super().turns(deadline)
        if code != lib.WP_INTERRUPTED:
            return code
        assert self.thread._native is not None
        if lib.wp__op_end(self.op, self.thread._native, self.waiter) == lib.WP_MUST_PARK:
            yield from self._to_the_end()
        return code if lib.wp__op_is_cancelled(self.op) else lib.WP_OK

    def _to_the_end(self) -> Generator[int, int, None]:
        """Wait until the end, also after interrupts: the system still uses the caller's buffer."""
        was_interrupted = False
        self.thread._wait = self
        try:
            while True:
                if (yield lib.WP_FOREVER) != lib.WP_OK:
                    lib.wp__waiter_unparked(self.waiter)
                    was_interrupted |= lib.wp_vthread_clear_interrupt()
                if self.check():
                    break
        finally:
            self.thread._wait = None
        if was_interrupted:
            self.thread._tell(lib.wp_vthread_interrupt)


def _call(
    what: int, fd: int, at: Any, size: int, flags: int, otherwise: Callable[[], int | bytes]
) -> int | bytes:
    """Run the operation while the caller parks: by io_uring, or on a thread of a pool.

    If the caller cannot park, it runs the operation itself.

    Raises:
        OSError: the operation failed.
        ThreadInterruptedError: the caller was interrupted, and the operation was cancelled.
    """
    thread = parks()
    if thread is None:
        return otherwise()
    assert thread._group is not None
    if not _has_ring(thread._group):
        return offload(otherwise)
    op = _Op(thread, what, fd, at, size, flags)
    code = parked(op.turns(lib.WP_FOREVER))
    if code == lib.WP_INTERRUPTED:
        raise interrupted(thread)
    result = lib.wp__op_result(op.op) if code == lib.WP_OK else 0
    if result == -errno.ECANCELED:
        code = lib.WP_CLOSED  # the close of the group has cancelled the operation
    if code != lib.WP_OK:
        raise error_for(code, "file")
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def _has_ring(group: CarrierGroup) -> bool:
    """Start the group's pollers; warn once if they have no io_uring."""
    start(group)
    lacks = lib.wp_file_lacks(group._native)
    if not lacks:
        return True
    with _warning:
        is_first, _warned[:] = not _warned, ["."]
    if is_first:
        why = ffi.string(lacks).decode()
        text = f"files of virtual threads go to a pool of OS threads: {why}"
        warnings.warn(text, NoFilesWarning, stacklevel=5)
    return False


def opened(path: Any, flags: int) -> int:
    """Open a file as ``os.open`` does, for ``io.FileIO``'s opener."""
    name = os.fsencode(path)
    try:
        return int(_call(lib.WP_OP_OPEN, _AT_CWD, ffi.from_buffer(name + b"\0"), 0o666,
                         flags | os.O_CLOEXEC, lambda: os.open(path, flags, 0o666)))  # fmt: skip
    except OSError as error:
        error.filename = path
        raise


class _File(io.FileIO):
    """A raw file; calls that may take long park the calling virtual thread."""

    def readinto(self, buffer: Any, /) -> int:
        """Read into `buffer`, as ``io.FileIO.readinto`` does."""
        self._checkClosed()
        self._checkReadable()  # type: ignore[attr-defined]
        with memoryview(buffer) as view, view.cast("B") as whole, whole[:MOST] as part:
            fd, size = self.fileno(), len(part)
            with ffi.from_buffer(part) as at:
                done = _call(lib.WP_OP_READ, fd, at, size, 0, lambda: os.read(fd, size))
            if isinstance(done, bytes):
                part[: len(done)] = done
                return len(done)
            return done

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most `size` bytes, as ``io.FileIO.read`` does."""
        return self.readall() if size is None or size < 0 else io.RawIOBase.read(self, size) or b""

    def readall(self) -> bytes:
        """Read until the end, as ``io.FileIO.readall`` does."""
        self._checkClosed()
        self._checkReadable()  # type: ignore[attr-defined]
        left = os.fstat(self.fileno()).st_size - (self.tell() if self.seekable() else 0)
        parts = [self.read(max(left, 0) + 1)]
        while parts[-1]:
            parts.append(self.read(max(io.DEFAULT_BUFFER_SIZE, len(parts[-1]))))
        return b"".join(parts)

    def write(self, data: Any, /) -> int:
        """Write `data`, as ``io.FileIO.write`` does."""
        self._checkClosed()
        self._checkWritable()  # type: ignore[attr-defined]
        with memoryview(data) as view, view.cast("B") as whole, whole[:MOST] as part:
            fd = self.fileno()
            with ffi.from_buffer(part) as at:
                return int(_call(lib.WP_OP_WRITE, fd, at, len(part), 0,
                                 lambda: os.write(fd, bytes(part))))  # fmt: skip


def open_file(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Callable[[Any, int], int] | None = None,
) -> Any:
    """Open a file as the builtin ``open`` does; its reads and writes park a virtual thread.

    A virtual thread that parks leaves its carrier, the OS thread that runs it (`VirtualThread`).
    Arguments are those of the builtin.

    Threads: one thread at a time may use a buffered file; share it under a `wakeproof.Mutex`.

    Raises:
        OSError, ValueError: as the builtin.
        ThreadInterruptedError: the caller was interrupted while it opened the file.

    Example:
        >>> from wakeproof import io
        >>> with io.open("/dev/null", "rb") as file:
        ...     file.read()
        b''
    """
    kind = mode.replace("b", "", 1).replace("t", "", 1)
    is_binary = "b" in mode
    if is_binary and "t" in mode:
        raise ValueError("can't have text and binary mode at once")
    if is_binary and not encoding is errors is newline is None:
        raise ValueError("binary mode doesn't take an encoding, errors or newline argument")
    if buffering == 0 and not is_binary:
        raise ValueError("can't have unbuffered text I/O")
    raw = _File(file, kind, closefd, opener or opened)
    try:
        if buffering == 0:
            return raw
        made = _buffered(raw, kind, buffering)
        if is_binary:
            return made
        is_by_line = buffering == 1 or (buffering < 0 and raw.isatty())
        text = io.TextIOWrapper(made, io.text_encoding(encoding), errors, newline, is_by_line)
        text.mode = mode  # type: ignore[misc]
    except BaseException:
        raw.close()
        raise
    return text


def _buffered(raw: _File, kind: str, buffering: int) -> BinaryIO:
    size = buffering if buffering > 1 else raw._blksize  # type: ignore[attr-defined]
    if "+" in kind:
        return io.BufferedRandom(raw, size)
    return io.BufferedReader(raw, size) if kind == "r" else io.BufferedWriter(raw, size)


def fsync(file: Any) -> None:
    """Write a file's data to the disk as ``os.fsync`` does, while the caller parks.

    Args:
        file: a file or a descriptor; flush a buffered file first.
    """
    fd = file if isinstance(file, int) else file.fileno()

    def here_then() -> int:
        os.fsync(fd)
        return 0

    _call(lib.WP_OP_SYNC, fd, ffi.NULL, 0, 0, here_then)
