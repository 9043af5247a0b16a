# SPDX-License-Identifier: Apache-2.0
"""The methods of ``socket.socket`` park, and lookups of names go to OS threads of a pool.

A blocking socket stays blocking, because its mode belongs to all copies of its descriptor, in other
processes too.  So a call waits until the socket is ready, and then calls with MSG_DONTWAIT.  A
socket with a timeout is in the system's non-blocking mode already.  Calls of a non-blocking socket
are left as they are.

`recv`, `recv_into`, `send` and `sendall` are in C for what is common (``_native/sockets.c``), and
call the functions of this file for the rest.
"""

from __future__ import annotations

import errno
import operator
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import lib
from wakeproof._runtime import calls, watch
from wakeproof._runtime.descriptor import READ, WRITE, UntoldError
from wakeproof._runtime.offload import offload
from wakeproof._runtime.socket import connecting
from wakeproof._runtime.stdlib.replacement import Function, Replacement, original

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

Made = Callable[..., Any]
_Base = socket.socket.__base__
assert _Base is not None
_fileno: Callable[[Any], int] = _Base.fileno  # type: ignore[attr-defined]
_timeout: Callable[[Any], float | None] = _Base.gettimeout  # type: ignore[attr-defined]
_settimeout: Callable[[Any, float | None], None] = _Base.settimeout  # type: ignore[attr-defined]
_NOW = int(socket.MSG_DONTWAIT)
_LEFT_ALONE = int(_NOW | socket.MSG_OOB | socket.MSG_ERRQUEUE | socket.MSG_WAITALL)
_STREAM = socket.SOCK_STREAM
_plain_send = original(_Base.send)  # type: ignore[attr-defined]
_one_accepts = threading.Lock()  # between the look and the call nobody else takes the connection


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    for name, flags_at in (("recvfrom", 1), ("recvmsg", 2), ("recvmsg_into", 2)):
        yield Function(socket.socket, name, partial(_receiving, flags_at, None))
    yield Function(socket.socket, "recvfrom_into", partial(_receiving, 2, "flags"))
    for name, make in (
        ("recv", partial(_receiving, 1, None)),
        ("recv_into", partial(_receiving, 2, "flags")),
        ("send", _send),
        ("sendall", _sendall),
    ):
        yield Function(socket.socket, name, partial(_mostly_in_c, name, make))
    yield Function(socket.socket, "sendto", _sendto)
    yield Function(socket.socket, "sendmsg", _sendmsg)
    yield Function(socket.socket, "sendfile", _sendfile)
    yield Function(socket.socket, "_accept", _accept)
    yield Function(socket.socket, "connect", _connect)
    yield Function(socket.socket, "connect_ex", _connect_ex)
    yield Function(socket.socket, "close", _close)
    _socket = socket._socket  # type: ignore[attr-defined]
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        yield Function(_socket, name, partial(_looking_up, _is_number))
    yield Function(_socket, "gethostbyaddr", partial(_looking_up, operator.not_))
    yield Function(_socket, "getnameinfo", partial(_looking_up, _is_no_address))


def _mostly_in_c(name: str, make: Callable[[Made], Made], original: Made) -> Made:
    return calls.plain_method(name, make(original))


def _caller(sock: Any) -> VirtualThread | None:
    """Return the calling virtual thread, if this call on the socket may park it."""
    return None if _timeout(sock) == 0 else watch.caller()


def _may_block(timeout: float | None, flags: Any) -> bool:
    """Return whether a call with these flags waits, in a way that is known here."""
    if timeout is None:
        return isinstance(flags, int) and not flags & _LEFT_ALONE
    return timeout != 0  # then it waits, whatever the flags


def _call(
    thread: VirtualThread, sock: Any, side: int, attempt: Callable[[], Any], until: int, why: int
) -> Any:
    return watch.call(thread, partial(_fileno, sock), side, until, attempt, why)


def _receiving(flags_at: int, named_flags: str | None, original: Made) -> Made:
    """Return a method that receives; `flags_at` is the place of its flags after the socket."""

    def receive(sock: Any, *args: Any, **named: Any) -> Any:
        flags = args[flags_at] if len(args) > flags_at else named.get("flags", 0)
        timeout = _timeout(sock)
        if not _may_block(timeout, flags) or not (thread := watch.caller()):
            return original(sock, *args, **named)
        if timeout is not None or not args:
            attempt = partial(original, sock, *args, **named)
        elif named_flags:
            now = {**named, "flags": flags | _NOW}
            attempt = partial(original, sock, *args[:flags_at], **now)
        else:
            rest = (*args[1:flags_at], *(0,) * (flags_at - len(args)))
            attempt = partial(original, sock, args[0], *rest, flags | _NOW)
        until = watch.until_of(timeout)
        return _call(thread, sock, READ, attempt, until, lib.WP_WAIT_READ)

    return receive


def _rest(flags: int, timeout: float | None) -> int:
    """Return the flags of an attempt; a socket with a timeout does not block in the system."""
    return flags | _NOW if timeout is None else flags


def _sends(thread: VirtualThread, sock: Any, data: Any, flags: int, is_all: bool) -> int:
    """Send some of the data, or all within one timeout; return how much."""
    timeout = _timeout(sock)
    until, flags = watch.until_of(timeout), _rest(flags, timeout)
    with memoryview(data) as view, view.cast("B") as whole:
        at = 0
        while True:
            attempt = partial(_plain_send, sock, whole[at:], flags)
            try:
                at += int(_call(thread, sock, WRITE, attempt, until, lib.WP_WAIT_WRITE))
            except OSError:
                if is_all or not at:
                    raise
                return at  # the next call reports it
            # A blocking stream sends all; a datagram was sent whole.
            if at >= len(whole) or not (is_all or (timeout is None and sock.type == _STREAM)):
                return at


def _send(original: Made) -> Made:
    def send(sock: Any, *args: Any) -> Any:
        flags = args[1] if len(args) == 2 else 0
        if not 1 <= len(args) <= 2 or not _may_block(_timeout(sock), flags):
            return original(sock, *args)
        thread = watch.caller()
        return _sends(thread, sock, args[0], flags, False) if thread else original(sock, *args)

    return send


def _sendall(original: Made) -> Made:
    def sendall(sock: Any, *args: Any) -> Any:
        flags = args[1] if len(args) == 2 else 0
        if not 1 <= len(args) <= 2 or not isinstance(flags, int) or not (thread := _caller(sock)):
            return original(sock, *args)
        _sends(thread, sock, args[0], flags, True)
        return None

    return sendall


def _sendto(original: Made) -> Made:
    def sendto(sock: Any, *args: Any) -> Any:
        thread = _caller(sock) if 2 <= len(args) <= 3 else None
        if thread is None:
            return original(sock, *args)
        timeout = _timeout(sock)
        flags = args[1] if len(args) == 3 else 0
        attempt = partial(original, sock, args[0], _rest(flags, timeout), _numeric(sock, args[-1]))
        until = watch.until_of(timeout)
        return _call(thread, sock, WRITE, attempt, until, lib.WP_WAIT_WRITE)

    return sendto


def _sendmsg(original: Made) -> Made:
    def sendmsg(sock: Any, buffers: Any, ancillary: Any = (), flags: int = 0, *address: Any) -> Any:
        timeout = _timeout(sock)
        thread = watch.caller() if _may_block(timeout, flags) else None
        if thread is None:
            return original(sock, buffers, ancillary, flags, *address)
        parts = list(buffers)
        now = _rest(flags, timeout)
        attempt = partial(original, sock, parts, ancillary, now, *address)
        until = watch.until_of(timeout)
        done = _call(thread, sock, WRITE, attempt, until, lib.WP_WAIT_WRITE)
        if timeout is None and sock.type == _STREAM:
            rest = b"".join(parts)[done:]
            done += _sends(thread, sock, rest, flags, False) if rest else 0
        return done

    return sendmsg


def _sendfile(original: Made) -> Made:
    """``os.sendfile`` would block, on a blocking socket, until all is sent."""

    def sendfile(sock: Any, file: Any, offset: int = 0, count: int | None = None) -> Any:
        if _caller(sock):
            return sock._sendfile_use_send(file, offset, count)
        return original(sock, file, offset, count)

    return sendfile


def _accept(original: Made) -> Made:
    def accept(sock: Any) -> Any:
        thread = _caller(sock)
        if thread is None:
            return original(sock)
        until = watch.until_of(_timeout(sock))

        def attempt() -> Any:
            with _one_accepts:
                if not watch.is_ready(_fileno(sock), READ):
                    raise BlockingIOError
                return original(sock)

        return _call(thread, sock, READ, attempt, until, lib.WP_WAIT_ACCEPT)

    return accept


def _connect(original: Made) -> Made:
    def connect(sock: Any, address: Any) -> Any:
        thread = _caller(sock)
        if thread is None:
            return original(sock, address)
        timeout = _timeout(sock)
        until = watch.until_of(timeout)
        attempt = connecting(sock, _numeric(sock, address))

        def begin() -> None:
            _settimeout(sock, 0)
            try:
                attempt()
            finally:
                _settimeout(sock, timeout)

        return _connects(thread, sock, begin, until)

    return connect


def _connects(thread: VirtualThread, sock: Any, attempt: Callable[[], None], until: int) -> None:
    try:
        attempt()
    except UntoldError:  # the queue of a listener of AF_UNIX is full
        if watch.repeated(partial(_succeeds, attempt), until) is None:
            raise TimeoutError("timed out") from None
    except BlockingIOError:
        _call(thread, sock, WRITE, attempt, until, lib.WP_WAIT_CONNECT)


def _succeeds(attempt: Callable[[], None]) -> bool | None:
    try:
        attempt()
    except UntoldError:
        return None
    return True


def _connect_ex(original: Made) -> Made:
    def connect_ex(sock: Any, address: Any) -> Any:
        if _caller(sock) is None:
            return original(sock, address)
        try:
            _Base.connect(sock, address)  # type: ignore[union-attr]
        except TimeoutError as error:
            return error.errno or errno.EAGAIN  # as CPython's
        except socket.gaierror:
            raise
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    return connect_ex


def _close(original: Made) -> Made:
    def close(sock: Any) -> None:
        watch.closed(_fileno(sock))
        original(sock)

    return close


# ---- names ----


def _is_number(host: Any) -> bool:
    """Return whether a host is an address already, so that nothing is looked up."""
    if host is None or host in ("", "<broadcast>", "<any>"):
        return True
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host.partition("%")[0])
        except (OSError, AttributeError, ValueError, TypeError):
            continue
        return True
    return False


def _numeric(sock: Any, address: Any) -> Any:
    """Return an address whose host, if it is a name, has been looked up."""
    if sock.family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
        return address
    if not address or not isinstance(address[0], str) or _is_number(address[0]):
        return address
    found = socket.getaddrinfo(address[0], None, sock.family)
    return (found[0][4][0], *address[1:])


def _is_no_address(address: Any) -> bool:
    return not isinstance(address, tuple)


def _looking_up(is_quick: Callable[[Any], bool], original: Made) -> Made:
    """Return a lookup that an OS thread does, unless it needs none, or is refused."""

    def look_up(*args: Any, **named: Any) -> Any:
        if is_quick(args[0] if args else named.get("host")) or not watch.caller():
            return original(*args, **named)
        return offload(original, *args, **named)

    return look_up
