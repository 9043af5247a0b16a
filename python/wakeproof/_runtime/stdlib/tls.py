# SPDX-License-Identifier: Apache-2.0
"""Reads, writes, handshakes and ends of ``ssl.SSLSocket`` park, whoever made the socket.

A call is made without waiting; if OpenSSL wants to read or write first, the thread parks until the
socket is ready, and the call is made again.  OpenSSL must not block, so the socket has the timeout
0 for such a call, and its own again afterwards: an OS thread that uses the same connection in that
moment may be told SSLWantReadError.  So virtual threads may share a connection with one another,
and OS threads with one another, as always.

One call at a time (`_Calls.lock`), because OpenSSL allows no more.  A write that waits must be
continued with its own data, so other writers wait (`_Calls.turn`); readers do not.
"""

from __future__ import annotations

import _ssl
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import lib
from wakeproof._runtime import watch
from wakeproof._runtime.descriptor import READ, WRITE
from wakeproof._runtime.stdlib.replacement import Function, Replacement
from wakeproof.semaphore import Semaphore

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

Made = Callable[..., Any]
_Base: Any = socket.socket.__base__
_NAME = "_wakeproof_calls"


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    kind: Any = vars(_ssl)["_SSLSocket"]  # what an ssl.SSLSocket calls
    yield Function(kind, "read", partial(_parks, "read", False))
    yield Function(kind, "do_handshake", partial(_parks, "handshake", False))
    yield Function(kind, "write", partial(_parks, "write", True))
    yield Function(kind, "shutdown", partial(_parks, "", True))


class _Calls:
    """The calls of one connection."""

    __slots__ = ("lock", "turn")

    def __init__(self) -> None:
        self.lock, self.turn = threading.Lock(), Semaphore(1)


def _calls(sock: Any) -> _Calls:
    calls = sock.__dict__.get(_NAME)
    if calls is None:
        calls = sock.__dict__.setdefault(_NAME, _Calls())
    return calls  # type: ignore[no-any-return]


def _parks(what: str, has_turn: bool, original: Made) -> Made:
    def call(tls: Any, *args: Any) -> Any:
        sock = tls.owner
        thread = watch.caller() if isinstance(sock, ssl.SSLSocket) else None
        if thread is None:  # or an SSLObject, which never waits
            return original(tls, *args)
        calls = _calls(sock)
        with calls.lock:
            timeout = _Base.gettimeout(sock)
        attempt = partial(original, tls, *args)
        if timeout == 0:
            return attempt()
        until = watch.until_of(timeout)
        if not has_turn:
            return _repeated(thread, sock, calls.lock, attempt, until, what)
        if not calls.turn._take(1, until):
            raise _late("write")
        try:
            return _repeated(thread, sock, calls.lock, attempt, until, what)
        finally:
            calls.turn.release()

    return call


def _repeated(
    thread: VirtualThread,
    sock: ssl.SSLSocket,
    lock: threading.Lock,
    attempt: Callable[[], Any],
    until: int,
    what: str,
) -> Any:
    """Call `attempt` until it need not wait; `what`: its name in errors, or else the wait's."""
    while True:
        with lock:
            timeout = _Base.gettimeout(sock)
            _Base.settimeout(sock, 0)
            try:
                return attempt()
            except ssl.SSLWantReadError:
                side, why = READ, lib.WP_WAIT_READ
            except ssl.SSLWantWriteError:
                side, why = WRITE, lib.WP_WAIT_WRITE
            finally:
                with contextlib.suppress(OSError):  # it was closed meanwhile
                    _Base.settimeout(sock, timeout)
        if not watch.wait(thread, _Base.fileno(sock), side, until, why):
            raise _late(what or ("read", "write")[side])


def _late(what: str) -> TimeoutError:
    """Return the error that ``ssl`` raises; some libraries compare its text."""
    return TimeoutError(f"The {what} operation timed out")
