# SPDX-License-Identifier: Apache-2.0
"""Sockets and files whose calls park a virtual thread where they would block.

Names, arguments and errors are those of the socket module and of the builtin ``open``:
``from wakeproof import io`` where there was ``import socket``, and `io.open`.  OS threads may use
the same object: they sleep.  A coroutine function awaits what `wakeproof.coroutine` has instead:
here it would block its carrier.

What parks: recv, recv_into, recvfrom, recvmsg, send, sendall, sendto, sendmsg, accept, connect, and
files made of a socket; `open`, `fsync`, and what reads or writes a file, by io_uring.  What goes to
OS threads of a pool, while the caller parks: `offload`, getaddrinfo and gethostbyname here; files,
where the system has no io_uring (one `NoFilesWarning`).  What blocks the carrier: a name (not an
address) in `Socket.connect`, as in ``bind``: look it up first, or use `create_connection`.

Spec: ``specs/io/Descriptor.tla``, ``Poller.tla``,
``FileQueue.tla``.  Source: ``kernel/io/descriptor.h``, ``kernel/io/file.h``,
``kernel/io/descriptor_poller.h``, ``kernel/io/file_queue.h``.
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
    """As ``socket.getaddrinfo``, while the caller parks."""
    return offload(socket.getaddrinfo, *arguments, **named)


def gethostbyname(hostname: str) -> str:
    """As ``socket.gethostbyname``, while the caller parks."""
    return offload(socket.gethostbyname, hostname)


def create_connection(
    address: tuple[str, int],
    timeout: float | None = None,
    source_address: tuple[str, int] | None = None,
    *,
    group: CarrierGroup | None = None,
) -> Socket:
    """Connect to a host and port, trying its addresses in turn, each for `timeout` seconds.

    Raises:
        OSError: that of the last one.
    """
    failed = OSError(errno.EADDRNOTAVAIL, f"{address[0]}: no address")
    for family, kind, proto, _, target in getaddrinfo(*address, 0, socket.SOCK_STREAM):
        made = Socket(family, kind, proto, group=group)
        try:
            if timeout is not None:  # else socket.setdefaulttimeout's
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
    """As ``socket.create_server``: a socket that is bound and listens."""
    return _taken(socket.create_server(address, **options), group)


def socketpair(*arguments: int, group: CarrierGroup | None = None) -> tuple[Socket, Socket]:
    """As ``socket.socketpair``."""
    one, other = socket.socketpair(*arguments)
    with one, other:
        return _taken(one, group), _taken(other, group)


def statistics(group: CarrierGroup) -> tuple[PollerStatistics, ...]:
    """Return what the pollers of its carriers have done: zeros before its first descriptor."""
    group._check_process()
    if not group._has_pollers:
        return (PollerStatistics(0, 0, 0, 0),) * len(group)
    return tuple(counts.poller(group._native, index) for index in range(len(group)))


def _taken(made: socket.socket, group: CarrierGroup | None) -> Socket:
    with made:
        sock = Socket(made.family, made.type, made.proto, made.fileno(), group=group)
        made.detach()
        return sock
