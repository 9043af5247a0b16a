# SPDX-License-Identifier: Apache-2.0
"""Sockets and files that park a virtual thread where a call would block.

A virtual thread (`VirtualThread`) that parks leaves its carrier, the OS thread that runs it, so
that the carrier runs other work meanwhile.  Names, arguments and errors are those of the socket
module and of the builtin ``open``: write ``from wakeproof import io`` in place of ``import
socket``, and use `io.open`.  OS threads may use the same objects, and block.  A coroutine function
awaits the functions of `wakeproof.coroutine` instead; those of this module would block its carrier.

These calls park: recv, recv_into, recvfrom, recvmsg, send, sendall, sendto, sendmsg, accept,
connect, and calls of files that were made of a socket.  On a system with io_uring, `open`, `fsync`,
and reads and writes of files park too.  These calls run on OS threads of a pool while the caller
parks: `offload`, getaddrinfo and gethostbyname of this module, and calls of files on a system
without io_uring (with one `NoFilesWarning`).  A host name that is given to `Socket.connect` or
``bind`` is looked up on the carrier and blocks it: look up the address first, or use
`create_connection`.

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
from wakeproof._runtime.file import fsync
from wakeproof._runtime.file import open_file as open  # noqa: A004 - the builtin's name
from wakeproof._runtime.offload import offload
from wakeproof._runtime.socket import Socket
from wakeproof.counts import PollerStatistics

if TYPE_CHECKING:
    from wakeproof.group import CarrierGroup

__all__ = [
    "PollerStatistics",
    "Socket",
    "create_connection",
    "create_server",
    "fsync",
    "getaddrinfo",
    "gethostbyname",
    "offload",
    "open",
    "socketpair",
    "statistics",
]


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
