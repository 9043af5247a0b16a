# SPDX-License-Identifier: Apache-2.0
"""Sockets and files that park a virtual thread where a call would block.

A virtual thread (`VirtualThread`) that parks leaves its carrier, the OS thread that runs it, so
that the carrier runs other work meanwhile.  Names, arguments and errors are those of the socket
module and of the builtin ``open``: write ``from wakeproof import io`` in place of ``import
socket``, and use `io.open`.  OS threads may use the same objects, and block.  A coroutine function
awaits the functions of `wakeproof.coroutine` instead; those of this module would block its carrier.

These calls park: recv, recv_into, recvfrom, recvmsg, send, sendall, sendto, sendmsg, accept,
connect, calls of files that were made of a socket, `wait` for any descriptor, `wait_child` for a
process, `input`, and the calls of a `TLSSocket`, which `wrap_socket` makes.  On a system with
io_uring, `open`, `fsync`, and reads and writes of files park too.  These calls run on OS threads of
a pool while the caller parks: `offload`, getaddrinfo and gethostbyname of this module, and calls of
files on a system without io_uring (with one `NoFilesWarning`).  A host name that is given to
`Socket.connect` or ``bind`` is looked up on the carrier and blocks it: look up the address first,
or use `create_connection`.

Threads: any thread may call all functions.
Spec: ``specs/io/Descriptor.tla``, ``Poller.tla``, ``FileQueue.tla``.
Source: ``kernel/io/descriptor.h``, ``kernel/io/file.h``, ``kernel/io/descriptor_poller.h``,
``kernel/io/file_queue.h``.

Example:
    >>> from wakeproof import CarrierGroup, VirtualThread, io
    >>> with CarrierGroup(1) as group:
    ...     ours, theirs = io.socketpair(group=group)
    ...     reader = VirtualThread(ours.recv, 5, group=group).start()
    ...     theirs.sendall(b"hello")
    ...     reader.result()
    ...     ours.close(), theirs.close()
    b'hello'
    (None, None)
"""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Any

from wakeproof import counts
from wakeproof._runtime.child import wait_child
from wakeproof._runtime.console import read_line as input  # noqa: A004 - the builtin's name
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.file import fsync
from wakeproof._runtime.file import open_file as open  # noqa: A004 - the builtin's name
from wakeproof._runtime.offload import offload
from wakeproof._runtime.ready import events_of, masks, ready
from wakeproof._runtime.socket import Socket
from wakeproof._runtime.tls import TLSSocket, wrap_socket
from wakeproof.counts import PollerStatistics

if TYPE_CHECKING:
    from wakeproof._runtime.ready import HasFileno
    from wakeproof.group import CarrierGroup

__all__ = [
    "PollerStatistics",
    "Socket",
    "TLSSocket",
    "create_connection",
    "create_server",
    "fsync",
    "getaddrinfo",
    "gethostbyname",
    "input",
    "offload",
    "open",
    "socketpair",
    "statistics",
    "wait",
    "wait_child",
    "wrap_socket",
]


def wait(
    file: HasFileno,
    *,
    read: bool = True,
    write: bool = False,
    timeout_s: float | None = None,
) -> int:
    """Wait until a descriptor of any kind is ready, and leave it as it is.

    A virtual thread (`VirtualThread`) parks meanwhile: its carrier, the OS thread that runs it,
    does other work.  An OS thread blocks.  The descriptor stays its owner's, and blocking or
    non-blocking as its owner has made it: sockets, pipes, terminals, eventfds, timerfds, pidfds,
    inotify, epolls and descriptors of libraries.  A regular file is always ready.

    In a group whose carriers cannot have pollers, because it has spare carriers or pollers of your
    own or is being closed, a virtual thread looks every 1 to 32 milliseconds.

    Args:
        file: a descriptor's number, or an object with ``fileno``.
        read: whether to wait until it can be read, or has an error, or was closed by the other
            side.
        write: whether to wait until it can be written, or has an error.
        timeout_s: seconds, 0 or more; 0: do not wait; default None: wait without a limit.

    Returns what it is ready for: ``selectors.EVENT_READ``, ``selectors.EVENT_WRITE``, both
    combined, or 0 if the time ran out.  If several threads wait for one descriptor, all are told.

    Threads: any thread may call it.  A close of the descriptor does not end the wait, as with
    ``select.poll``.

    Raises:
        OSError: the number is not a descriptor (EBADF), or the system cannot watch it.
        UsageError: neither `read` nor `write`, or `timeout_s` is not allowed.
        ThreadInterruptedError: the caller is a virtual thread, and was interrupted.

    Example:
        >>> import os
        >>> from wakeproof import CarrierGroup, VirtualThread, io
        >>> ours, theirs = os.pipe()
        >>> with CarrierGroup(1) as group:
        ...     reader = VirtualThread(io.wait, ours, group=group).start()
        ...     os.write(theirs, b"x")
        ...     reader.result()
        1
        1
        >>> os.close(ours), os.close(theirs)
        (None, None)
    """
    fd, wanted = masks(file, read, write)
    return events_of(ready({fd: wanted}, deadline_ns(timeout_s)), wanted)


def getaddrinfo(*arguments: Any, **named: Any) -> list[Any]:
    """Look up addresses, as ``socket.getaddrinfo`` does, while the caller parks."""
    return offload(socket.getaddrinfo, *arguments, **named)


def gethostbyname(hostname: str) -> str:
    """Look up a host's address, as ``socket.gethostbyname`` does, while the caller parks."""
    return offload(socket.gethostbyname, hostname)


def create_connection(
    address: tuple[str, int],
    timeout: float | None = None,
    source_address: tuple[str, int] | None = None,
    *,
    group: CarrierGroup | None = None,
) -> Socket:
    """Connect to a host and port, and try its addresses in turn.

    Args:
        address: the host and the port.
        timeout: the seconds for each address; default: that of ``socket.setdefaulttimeout``.
        source_address: the local host and port to bind; default None: the system chooses.
        group: as of `Socket`.

    Raises:
        OSError: all addresses failed; this is the error of the last one.
    """
    failed = OSError(errno.EADDRNOTAVAIL, f"{address[0]}: no address")
    for family, kind, proto, _, target in getaddrinfo(*address, 0, socket.SOCK_STREAM):
        made = Socket(family, kind, proto, group=group)
        try:
            if timeout is not None:  # else that of socket.setdefaulttimeout
                made.settimeout(timeout)
            if source_address:
                made.bind(source_address)
            made.connect(target)
        except OSError as error:
            failed = error
            made.close()
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise failed


def create_server(
    address: tuple[str, int], *, group: CarrierGroup | None = None, **options: Any
) -> Socket:
    """Return a socket that is bound and listens, as ``socket.create_server`` does."""
    return _taken(socket.create_server(address, **options), group)


def socketpair(*arguments: int, group: CarrierGroup | None = None) -> tuple[Socket, Socket]:
    """Return two connected sockets, as ``socket.socketpair`` does."""
    one, other = socket.socketpair(*arguments)
    with one, other:
        return _taken(one, group), _taken(other, group)


def statistics(group: CarrierGroup) -> tuple[PollerStatistics, ...]:
    """Return what the poller of each carrier of the group has done, as `PollerStatistics`.

    All numbers are zero before the group's first descriptor.
    """
    group._check_process()
    if not group._has_pollers:
        return (PollerStatistics(0, 0, 0, 0),) * len(group)
    return tuple(counts.poller(group._native, index) for index in range(len(group)))


def _taken(made: socket.socket, group: CarrierGroup | None) -> Socket:
    with made:
        sock = Socket(made.family, made.type, made.proto, made.fileno(), group=group)
        made.detach()
        return sock
