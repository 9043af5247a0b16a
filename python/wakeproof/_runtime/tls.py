# SPDX-License-Identifier: Apache-2.0
"""The TLS socket of ``wakeproof.io``: OpenSSL sees memory, and the socket's calls park.

`ssl.SSLObject` encrypts into one buffer (`_outgoing`) and decrypts from another (`_incoming`), so
none of its calls waits for the network.  What waits are the attempts to fill the one buffer and to
send the other, which a `Descriptor` makes as for any socket:

  read                                  write
  lock: object.read                     turn (taken for the whole write)
    has it: done                          lock: object.write, fills _outgoing
    wants more: send what TLS says,       attempt: send _outgoing
      attempt: recv into _incoming      turn given back

An SSL object allows one call at a time.  The lock is held for such a call and never during a wait,
so a reader that waits keeps no writer out.  The turn keeps the bytes of `_outgoing` in order.  A
reader that has something to send (an answer of the handshake, an alert) sends it if the turn is
free.  If the turn is taken, its owner sends all that is in `_outgoing` before it gives the turn
back, and looks once more afterwards.  Two readers: `_fills` counts what was put into `_incoming`,
so a reader does not wait for bytes that another has fetched since.

Spec: ``specs/io/Descriptor.tla``.  Source: ``descriptor.py``, ``socket.py``.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.descriptor import READ, WRITE, closed
from wakeproof._runtime.socket import Address, Socket
from wakeproof.semaphore import Semaphore

if TYPE_CHECKING:
    from wakeproof.group import CarrierGroup

T = TypeVar("T")
Attempt = tuple[int, Callable[[], None]]
Steps = Generator[Attempt | Semaphore, None, T]
"""What a call waits for in turn: an attempt of the descriptor, or the turn to send."""
CHUNK = 1 << 16  # bytes: at most so many are received, or encrypted, at once
_Base = socket.socket


class TLSSocket(Socket):
    """A TLS connection whose calls park a virtual thread; `wrap_socket` makes it.

    Its methods have the arguments, results and errors of ``ssl.SSLSocket``, with three exceptions.
    `shutdown` says close_notify, and the other direction of the connection stays open.  `accept`
    returns before the handshake; the first read or write makes it, unless `do_handshake` has.  A
    context's ``sni_callback`` is given an ``ssl.SSLObject``.

    The socket's timeout limits each call as a whole.  After a `send` that timed out, the next one
    must have the same data, as with OpenSSL.

    Threads: any thread may call all methods; one may read while another writes.

    Example:
        >>> import ssl
        >>> from wakeproof import CarrierGroup, io
        >>> with CarrierGroup(1) as group:
        ...     ours, theirs = io.socketpair(group=group)
        ...     context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ...     with io.wrap_socket(
        ...         ours, context, server_side=True, do_handshake_on_connect=False
        ...     ) as tls:
        ...         theirs.close()
        ...         tls.version() is None
        True
    """

    __slots__ = (
        "_early",
        "_fills",
        "_incoming",
        "_is_ragged",
        "_lock",
        "_object",
        "_outgoing",
        "_shakes",
        "_taken",
        "_turn",
        "_unsent",
    )

    def __init__(
        self,
        sock: socket.socket,
        context: ssl.SSLContext,
        *,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        do_handshake_on_connect: bool = True,
        suppress_ragged_eofs: bool = True,
        session: ssl.SSLSession | None = None,
        group: CarrierGroup | None = None,
    ) -> None:
        self._descriptor = None  # for __del__, if this constructor raises
        _check(sock, context, server_side, server_hostname, session)
        context.options |= ssl.OP_NO_RENEGOTIATION
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side,
            server_hostname,
            session,
        )
        self._shakes, self._is_ragged = do_handshake_on_connect, suppress_ragged_eofs
        self._lock, self._turn = threading.Lock(), Semaphore(1)
        self._fills = 0
        self._early = b""  # decrypted, and not yet read
        self._unsent = memoryview(b"")  # out of `_outgoing`; belongs to the owner of the turn
        self._taken = 0  # bytes of a `send` that was broken off after they were encrypted
        if isinstance(sock, Socket):
            self._take_over(sock)
        else:
            super().__init__(sock.family, sock.type, sock.proto, sock.fileno(), group=group)
            self.settimeout(sock.gettimeout())
            sock.detach()

    # Waiting.
    def _run(self, steps: Steps[T], what: str, timeout_s: float | None = None) -> T:
        """Make the steps of a call, as a virtual thread or as an OS thread."""
        deadline = deadline_ns(self._limit_s if timeout_s is None else timeout_s)
        try:
            while True:
                step = next(steps)
                if isinstance(step, Semaphore):
                    if not step._take(1, deadline):
                        raise late(what, deadline)
                    continue
                if self._descriptor is None:
                    raise closed(what)
                try:
                    self._descriptor.call(*step, deadline, what)
                except BlockingIOError:
                    raise wants(step[0]) from None
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        finally:
            steps.close()

    def _steps(self, call: Callable[[], T], has_turn: bool = False, most: int = CHUNK) -> Steps[T]:
        """Call the SSL object until it wants no more bytes of the peer."""
        while True:
            try:
                with self._lock:
                    fills = self._fills
                    found = call()
            except ssl.SSLWantReadError:
                yield from self._sends() if has_turn else self._flushes()
                yield READ, partial(self._fill, fills, most)
            except ssl.SSLError:
                self._flush_now()  # an alert tells the peer why
                raise
            else:
                self._flush_now()
                return found

    def _fill(self, fills: int, most: int) -> None:
        """Receive some bytes for the SSL object, unless that has been done since `fills`."""
        with self._lock:
            if self._fills != fills:
                return
            data = _Base.recv(self, most)
            self._fills += 1
            if data:
                self._incoming.write(data)
            else:
                self._incoming.write_eof()

    def _sends(self) -> Steps[None]:
        """Send all of `_outgoing`; the caller has the turn."""
        while self._has_unsent():
            yield WRITE, self._send_some

    def _has_unsent(self) -> bool:
        with self._lock:
            if not self._unsent and self._outgoing.pending:
                self._unsent = memoryview(self._outgoing.read())
        return len(self._unsent) > 0

    def _send_some(self) -> None:
        self._unsent = self._unsent[_Base.send(self, self._unsent) :]

    def _flushes(self) -> Steps[None]:
        while self._outgoing.pending and self._turn._take(1, 0):  # else its owner sends it
            try:
                yield from self._sends()
            finally:
                self._turn.release()

    def _flush_now(self) -> None:
        """Send what can be sent without waiting; the next call sends the rest, or tells why not."""
        if not self._outgoing.pending:
            return
        with contextlib.suppress(OSError):
            self._run(self._flushes(), "send", 0)

    # Reading.
    def _read(self, most: int, buffer: Any = None) -> Any:
        """Return what is decrypted; 0 bytes at the end of the stream."""
        if self._early:
            found = self._early[:most] if buffer is None else self._early[: most or len(buffer)]
            self._early = self._early[len(found) :]
            if buffer is None:
                return found
            memoryview(buffer).cast("B")[: len(found)] = found
            return len(found)
        try:
            if buffer is None:
                return self._object.read(most)
            return self._object.read(most, buffer)
        except ssl.SSLZeroReturnError:
            pass  # both sides have said close_notify
        except ssl.SSLEOFError:
            if not self._is_ragged:
                raise
        return b"" if buffer is None else 0

    def _reads(self, most: int) -> Steps[bytes]:
        return self._steps(partial(self._read, most))

    def read(self, len: int = 1024, buffer: Any = None) -> Any:  # noqa: A002 - as SSLSocket's
        """Read at most `len` bytes, also into `buffer`, as ``ssl.SSLSocket.read`` does."""
        if buffer is None:
            return self._run(self._reads(len), "read")
        return self._run(self._steps(partial(self._read, len, buffer)), "read")

    def recv(self, bufsize: int = 1024, flags: int = 0, /) -> bytes:
        """Read at most `bufsize` bytes, as ``ssl.SSLSocket.recv`` does."""
        _check_flags(flags, "recv")
        return self._run(self._reads(bufsize), "recv")

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Read into `buffer`, as ``ssl.SSLSocket.recv_into`` does."""
        _check_flags(flags, "recv_into")
        with memoryview(buffer) as view:
            most = nbytes or view.nbytes
            if not most:
                return 0
            reads: Steps[int] = self._steps(partial(self._read, most, view))
            return self._run(reads, "recv_into")

    def pending(self) -> int:
        """Return the number of bytes that are decrypted and not yet read."""
        return len(self._early) + self._object.pending()

    # Writing.
    def _writes(self, data: Any, keeps: bool) -> Steps[int]:
        """Encrypt and send one chunk; `keeps`: if it is broken off, the next call continues it."""
        yield self._turn
        try:
            if self._taken > len(data):
                raise ValueError(
                    f"a send of {self._taken} bytes or more timed out and is to be "
                    f"repeated with the same data; this is {len(data)} bytes"
                )
            yield from self._sends()
            if not self._taken:
                write = partial(self._object.write, data)
                self._taken = yield from self._steps(write, has_turn=True)
            yield from self._sends()
            done, self._taken = self._taken, 0
        finally:
            if not keeps:
                self._taken = 0
            self._turn.release()
        self._flush_now()
        return done

    def _writes_all(self, data: Any) -> Steps[None]:
        with memoryview(data) as view, view.cast("B") as rest:
            at = 0
            while at < len(rest):
                at += yield from self._writes(rest[at : at + CHUNK], keeps=False)

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Send a part of `data`, as ``ssl.SSLSocket.send`` does."""
        _check_flags(flags, "send")
        return self.write(data)

    def write(self, data: Any) -> int:
        """Send a part of `data`, as ``ssl.SSLSocket.write`` does."""
        with memoryview(data) as view, view.cast("B") as part:
            if not part:
                return 0
            return self._run(self._writes(part[:CHUNK], keeps=True), "send")

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send all of `data`, within one timeout."""
        _check_flags(flags, "sendall")
        self._run(self._writes_all(data), "sendall")

    # The connection.
    def _handshakes(self) -> Steps[None]:
        yield from self._steps(self._object.do_handshake)
        yield from self._flushes()

    def do_handshake(self, timeout_s: float | None = None) -> None:
        """Make the TLS handshake.

        Args:
            timeout_s: the most seconds for all of it; default None: the socket's timeout.

        Raises:
            TimeoutError: the time ran out; close the socket.
            SSLError: as ``ssl.SSLSocket.do_handshake``.
        """
        self._run(self._handshakes(), "do_handshake", timeout_s)

    def connect(self, address: Address, /) -> None:
        """Connect to `address`, and make the handshake unless that was declined."""
        super().connect(address)
        if self._shakes:
            self.do_handshake()

    def _accepted(self, fd: int, address: Address) -> tuple[TLSSocket, Address]:
        sock, address = super()._accepted(fd, address)
        made = TLSSocket(sock, self.context, server_side=True, suppress_ragged_eofs=self._is_ragged)
        return made, address

    def accept(self) -> tuple[TLSSocket, Address]:
        """Accept a connection; its handshake is made by its first read or write."""
        return self._accepted(*self._call(READ, self._accept, what="accept"))

    def _say_close(self) -> None:
        """Put close_notify into `_outgoing`; what the peer has sent stays readable."""
        with self._lock:
            if pending := self._object.pending():
                self._early += self._object.read(pending)
            unseen = self._incoming.read()  # unwrap would take it for a reply, and fail
            with contextlib.suppress(ssl.SSLError):  # the peer's own close_notify has not come
                self._object.unwrap()
            if unseen:
                self._incoming.write(unseen)

    def _finishes(self) -> Steps[None]:
        yield self._turn
        try:
            yield from self._sends()
            self._say_close()
            yield from self._sends()
        finally:
            self._turn.release()

    def shutdown(self, how: int, /) -> None:
        """End one or both directions, as ``socket.shutdown`` does.

        Before the writing direction ends, the peer is told by close_notify; the peer's data can be
        read until the peer says close_notify as well.

        Args:
            how: ``socket.SHUT_RD``, ``SHUT_WR`` or ``SHUT_RDWR``; the last one waits for nothing.
        """
        if how == socket.SHUT_WR:
            self._run(self._finishes(), "shutdown")
        elif how == socket.SHUT_RDWR:
            self._say_close()
            self._flush_now()
        super().shutdown(how)

    def _unwraps(self) -> Steps[Socket]:
        yield self._turn
        try:
            yield from self._sends()
            # Byte by byte: what follows the peer's close_notify belongs to the plain socket.
            yield from self._steps(self._object.unwrap, has_turn=True, most=1)
            yield from self._sends()
        finally:
            self._turn.release()
        if self._incoming.pending:
            raise OSError(
                errno.EPROTO,
                f"unwrap: {self._incoming.pending} bytes that the peer sent after its close_notify "
                "were received before the call, and are lost",
            )
        plain = Socket.__new__(Socket)
        plain._take_over(self)
        return plain

    def unwrap(self) -> Socket:
        """Say close_notify, wait for the peer's, and return the socket without TLS.

        Raises:
            SSLError: the peer has sent data that nobody has read, or ended without close_notify.
            OSError: the peer did not wait for this close_notify, and continued without TLS.
        """
        return self._run(self._unwraps(), "unwrap")

    # What OpenSSL knows.
    @property
    def context(self) -> ssl.SSLContext:
        """The context of the connection; an SNI callback may set another."""
        return self._object.context

    @context.setter
    def context(self, context: ssl.SSLContext) -> None:
        self._object.context = context

    @property
    def server_side(self) -> bool:
        """Whether this is the server's end."""
        return self._object.server_side

    @property
    def server_hostname(self) -> str | None:
        """The name of the server that the client asked for."""
        return self._object.server_hostname

    @property
    def session(self) -> ssl.SSLSession | None:
        """The session, for `wrap_socket` of a later connection."""
        return self._object.session

    @property
    def session_reused(self) -> bool | None:
        """Whether the connection continues an earlier session."""
        return self._object.session_reused

    def getpeercert(self, binary_form: bool = False) -> Any:
        """Return the peer's certificate, as ``ssl.SSLSocket.getpeercert`` does."""
        return self._object.getpeercert(binary_form)

    def version(self) -> str | None:
        """Return the version of TLS; None before the handshake."""
        return self._object.version()

    def cipher(self) -> tuple[str, str, int] | None:
        """Return the cipher's name, version and bits; None before the handshake."""
        return self._object.cipher()

    def shared_ciphers(self) -> list[tuple[str, str, int]] | None:
        """Return the ciphers of both ends, as ``ssl.SSLSocket.shared_ciphers`` does."""
        return self._object.shared_ciphers()

    def compression(self) -> str | None:
        """Return the compression, as ``ssl.SSLSocket.compression`` does."""
        return self._object.compression()

    def selected_alpn_protocol(self) -> str | None:
        """Return the protocol that ALPN chose."""
        return self._object.selected_alpn_protocol()

    def get_channel_binding(self, cb_type: str = "tls-unique") -> bytes | None:
        """Return the channel binding, as ``ssl.SSLSocket.get_channel_binding`` does."""
        return self._object.get_channel_binding(cb_type)

    # What TLS does not have.
    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("a TLS socket has read, recv, recv_into, write, send and sendall")

    recvfrom = recvfrom_into = recvmsg = recvmsg_into = sendto = sendmsg = dup = _refuse


def _check(
    sock: socket.socket,
    context: ssl.SSLContext,
    server_side: bool,
    server_hostname: str | bytes | None,
    session: ssl.SSLSession | None,
) -> None:
    if sock.type != socket.SOCK_STREAM:
        raise NotImplementedError(f"wrap_socket: {sock.type!r}; allowed: SOCK_STREAM")
    if isinstance(sock, (TLSSocket, ssl.SSLSocket)):
        raise ValueError("wrap_socket: the socket has TLS; TLS inside TLS needs ssl.SSLObject")
    if server_side and server_hostname:
        raise ValueError("wrap_socket: server_hostname is for clients; server_side is True")
    if server_side and session is not None:
        raise ValueError("wrap_socket: session is for clients; server_side is True")
    if not server_side and context.check_hostname and not server_hostname:
        raise ValueError("wrap_socket: context.check_hostname is True; give server_hostname")


def _check_flags(flags: int, what: str) -> None:
    if flags:
        raise ValueError(f"{what} of a TLS socket: flags is {flags}; allowed: 0")


def wants(side: int) -> ssl.SSLError:
    """Return the error of a call that would wait, although the socket's timeout is 0."""
    if side == WRITE:
        return ssl.SSLWantWriteError(
            ssl.SSL_ERROR_WANT_WRITE, "The operation did not complete (write)"
        )
    return ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "The operation did not complete (read)")


def late(what: str, deadline: int) -> OSError:
    """Return the error of a call that did not get the turn to send in time."""
    return wants(WRITE) if deadline == 0 else TimeoutError(errno.ETIMEDOUT, f"{what}: timed out")


def wrap_socket(
    sock: socket.socket,
    context: ssl.SSLContext,
    *,
    server_side: bool = False,
    server_hostname: str | bytes | None = None,
    do_handshake_on_connect: bool = True,
    handshake_timeout_s: float | None = None,
    suppress_ragged_eofs: bool = True,
    session: ssl.SSLSession | None = None,
    group: CarrierGroup | None = None,
) -> TLSSocket:
    """Put TLS on a stream socket, and make the handshake if the socket is connected.

    It takes the socket over: `sock` is closed for the caller, as by ``SSLContext.wrap_socket``.  If
    the handshake fails, the connection is closed.  Renegotiation is refused: the context gets
    ``ssl.OP_NO_RENEGOTIATION``.

    Args:
        sock: a `Socket`, or a ``socket.socket``: a connection, a listener, or not yet connected.
        context: an ``ssl.SSLContext``.
        server_side: whether this is the server's end.
        server_hostname: the server's name, for SNI and for the check of its certificate.
        do_handshake_on_connect: False: `TLSSocket.do_handshake`, or the first read or write.
        handshake_timeout_s: the most seconds for the handshake; default None: the socket's timeout.
        suppress_ragged_eofs: False: an end of the stream without close_notify raises SSLEOFError,
            if the context does not have ``ssl.OP_IGNORE_UNEXPECTED_EOF``.
        session: the `TLSSocket.session` of an earlier connection.
        group: as of `Socket`; not used if `sock` is a `Socket`.

    Threads: any thread may call it; a virtual thread parks.

    Raises:
        ValueError: arguments that contradict one another; the socket stays the caller's.
        TimeoutError: the handshake took too long.
        SSLError: as ``SSLContext.wrap_socket``.
    """
    made = TLSSocket(
        sock,
        context,
        server_side=server_side,
        server_hostname=server_hostname,
        do_handshake_on_connect=do_handshake_on_connect,
        suppress_ragged_eofs=suppress_ragged_eofs,
        session=session,
        group=group,
    )
    try:
        if do_handshake_on_connect and made._is_connected():
            made.do_handshake(handshake_timeout_s)
    except BaseException:
        made.close()
        raise
    return made
