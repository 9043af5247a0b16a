# SPDX-License-Identifier: Apache-2.0
"""TLS of wakeproof.io, against ssl.SSLSocket in OS threads, which is what its methods promise."""

from __future__ import annotations

import errno
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from tests.support.talking import echo, exactly, start, talk
from tests.support.tls import NEEDS_OPENSSL, VERSIONS, Identities, identities
from tests.support.virtual import PATIENCE_S, parked

from wakeproof import (
    CarrierGroup,
    Mutex,
    Semaphore,
    ThreadInterruptedError,
    VirtualThread,
    coroutine,
    io,
)

CARRIERS = 1  # of `group`
pytestmark = NEEDS_OPENSSL
SHORT_S = 0.2  # what is to run out does so soon
EACH = 2_000_000  # bytes in each direction: more than the buffers of the system hold


@pytest.fixture(scope="module")
def ids(tmp_path_factory: pytest.TempPathFactory) -> Identities:
    return identities(tmp_path_factory.mktemp("tls"))


def in_os_thread(call: Callable[[], Any]) -> Callable[[], Any]:
    """Start the call; what is returned waits for its result, or raises its error."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(partial(lambda value: value, call()))
        except BaseException as error:
            found.append(partial(_raise, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def result() -> Any:
        thread.join(PATIENCE_S)
        assert found, "the OS thread does not end"
        return found[0]()

    return result


def _raise(error: BaseException) -> None:
    raise error


def plain_client(ids: Identities, sock: socket.socket, **options: Any) -> ssl.SSLSocket:
    context = ids.client_context(options.pop("version", None), options.pop("is_alice", False))
    sock.settimeout(PATIENCE_S)
    return context.wrap_socket(sock, server_hostname="localhost", **options)


def pair(
    ids: Identities, group: CarrierGroup, version: ssl.TLSVersion | None = None
) -> tuple[io.TLSSocket, io.TLSSocket]:
    """Return the server's and the client's end of a connection, after the handshake."""
    ours, theirs = io.socketpair(group=group)
    wrap = partial(io.wrap_socket, ours, ids.server_context(), server_side=True)
    server = start(group, wrap)
    wrap = partial(io.wrap_socket, theirs, ids.client_context(version), server_hostname="localhost")
    client = start(group, wrap)
    return server.result(PATIENCE_S), client.result(PATIENCE_S)


def with_plain_client(
    ids: Identities, group: CarrierGroup, **options: Any
) -> tuple[io.TLSSocket, ssl.SSLSocket]:
    """Return our server's end, and a client that is plain ssl in an OS thread."""
    theirs, ours = socket.socketpair()
    client = in_os_thread(partial(plain_client, ids, theirs, **options))
    wrap = partial(io.wrap_socket, ours, ids.server_context(), server_side=True, group=group)
    return start(group, wrap).result(PATIENCE_S), client()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plain_client_is_answered(
    ids: Identities, version: ssl.TLSVersion, either_group: CarrierGroup
) -> None:
    server, client = with_plain_client(ids, either_group, version=version)
    answers = start(either_group, echo, server)
    assert talk(client) == 20
    answers.result(PATIENCE_S)


async def aserve(sock: socket.socket, context: ssl.SSLContext, group: CarrierGroup) -> int:
    with await coroutine.wrap_socket(sock, context, server_side=True, group=group) as server:
        count = 0
        while data := await coroutine.recv(server, 70_000):
            await coroutine.sendall(server, data)
            count += len(data)
        (await coroutine.unwrap(server)).close()
        return count


async def atalk(address: tuple[str, int], context: ssl.SSLContext, size: int) -> bool:
    with io.wrap_socket(
        io.Socket(socket.AF_INET, socket.SOCK_STREAM), context, server_hostname="localhost"
    ) as client:
        await coroutine.connect(client, address)
        got = b""
        sent = bytes(range(256)) * (size // 256)
        for at in range(0, len(sent), 50_000):
            part = sent[at : at + 50_000]
            await coroutine.sendall(client, part)
            got_now = b""
            while len(got_now) < len(part):
                got_now += await coroutine.recv(client, 70_000)
            got += got_now
        sock = await coroutine.unwrap(client)
        sock.close()
        return got == sent


def test_coroutine_functions_speak_tls(ids: Identities, either_group: CarrierGroup) -> None:
    size = 512_000
    with io.create_server(("127.0.0.1", 0), group=either_group) as listener:

        async def accept() -> int:
            sock, _ = await coroutine.accept(listener)
            return await aserve(sock, ids.server_context(), either_group)

        server = start(either_group, accept)
        client = start(either_group, atalk, listener.getsockname(), ids.client_context(), size)
        assert client.result(PATIENCE_S)
        assert server.result(PATIENCE_S) == size
    assert sum(carrier.counts.pinned for carrier in either_group) == 0


# Both directions at once.
def receive(sock: io.TLSSocket, size: int) -> bytes:
    got = bytearray()
    while len(got) < size:
        part = sock.recv(100_000)
        assert part, "the other end has closed"
        got += part
    return bytes(got)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_megabytes_go_in_both_directions_at_once(
    ids: Identities, version: ssl.TLSVersion, either_group: CarrierGroup
) -> None:
    sent = bytes(range(256)) * (EACH // 256)
    for one, other in [pair(ids, either_group, version)]:
        with one, other:
            threads = [start(either_group, end.sendall, sent) for end in (one, other)]
            threads += [start(either_group, receive, end, len(sent)) for end in (one, other)]
            results = [thread.result(PATIENCE_S) for thread in threads]
            assert results[:2] == [None, None]
            assert results[2:] == [sent, sent]


def write_beside_a_reader(ids: Identities, group: CarrierGroup) -> bool:
    """Return whether a writer gets through while a reader of the same end waits."""
    one, other = pair(ids, group)
    with one, other:
        reader = parked(start(group, one.recv, 10))
        writer = start(group, one.sendall, b"first")
        is_through = writer.join(1)
        other.sendall(b"then")
        assert reader.result(PATIENCE_S) == b"then"
        writer.result(PATIENCE_S)
        assert start(group, exactly, other, 5).result(PATIENCE_S) == b"first"
        return is_through


def test_a_reader_that_waits_keeps_no_writer_out(ids: Identities, group: CarrierGroup) -> None:
    assert write_beside_a_reader(ids, group)


def test_twin_a_lock_that_is_held_while_a_reader_waits(
    ids: Identities, group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutexes: dict[int, Mutex] = {}
    run = io.TLSSocket._run

    def locked(self: io.TLSSocket, *arguments: Any) -> Any:
        with mutexes.setdefault(id(self), Mutex()):
            return run(self, *arguments)

    monkeypatch.setattr(io.TLSSocket, "_run", locked)
    monkeypatch.setattr(io.TLSSocket, "_flush_now", lambda _: None)
    assert not write_beside_a_reader(ids, group)


def test_two_readers_and_two_writers_lose_no_record(
    ids: Identities, either_group: CarrierGroup
) -> None:
    one, other = pair(ids, either_group)
    with one, other:
        record = 1000

        def send(letter: bytes) -> None:
            for _ in range(50):
                one.sendall(letter * record)

        def read() -> list[bytes]:
            got = []
            while data := other.recv(record):
                got.append(data)
            return got

        readers = [start(either_group, read) for _ in range(2)]
        writers = [start(either_group, send, letter) for letter in (b"a", b"b")]
        for writer in writers:
            writer.result(PATIENCE_S)
        one.shutdown(socket.SHUT_WR)
        got = [part for reader in readers for part in reader.result(PATIENCE_S)]
        assert sorted(set(got)) == [b"a" * record, b"b" * record]
        assert len(got) == 100


# The end of a stream, as ssl tells it.
ENDS = ["close_notify", "end of the stream"]


def what_reader_finds(read: Callable[[int], bytes]) -> list[object]:
    found: list[object] = []
    for _ in range(3):
        try:
            found.append(read(10))
        except OSError as error:
            found.append(type(error))
    return found


def end(sock: ssl.SSLSocket, kind: str) -> None:
    """Send two bytes, and end the connection in one of the ways of ENDS."""
    sock.sendall(b"hi")
    if kind == "close_notify":
        sock.settimeout(0)
        with pytest.raises(ssl.SSLWantReadError):
            sock.unwrap()  # the peer's own does not come
    sock.close()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("suppressed", [True, False])
@pytest.mark.parametrize("kind", ENDS)
def test_an_end_is_told_as_ssl_tells_it(  # noqa: PLR0913, RUF100
    ids: Identities,
    group: CarrierGroup,
    version: ssl.TLSVersion,
    kind: str,
    suppressed: bool,
    is_told: bool,
) -> None:
    found = []
    for is_ours in (False, True):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            theirs = socket.create_connection(listener.getsockname())
            ours, _ = listener.accept()
        context = ids.server_context()
        if not is_told:
            context.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
        context.num_tickets = 0  # unread ones would turn the client's close into a reset
        client = in_os_thread(partial(plain_client, ids, theirs, version=version))
        options: Any = {"server_side": True, "suppress_ragged_eofs": suppressed}
        if is_ours:
            wrap = partial(io.wrap_socket, ours, context, group=group, **options)
            with start(group, wrap).result(PATIENCE_S) as server:
                end(client(), kind)
                reads = start(group, what_reader_finds, server.recv)
                found.append(reads.result(PATIENCE_S))
        else:
            with context.wrap_socket(ours, **options) as plain:
                end(client(), kind)
                found.append(what_reader_finds(plain.recv))
    assert found[0] == found[1]
    if kind == "end of the stream":
        assert (ssl.SSLEOFError in found[1]) == (is_told and not suppressed)


def test_a_reset_is_told(ids: Identities, group: CarrierGroup) -> None:
    # Not compared: ssl of some Pythons takes a reset for an end (CPython issue 115627).
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = socket.create_connection(listener.getsockname())
        ours, _ = listener.accept()
    client = in_os_thread(partial(plain_client, ids, theirs))
    wrap = partial(io.wrap_socket, ours, ids.server_context(), server_side=True, group=group)
    with start(group, wrap).result(PATIENCE_S) as server:
        linger_0 = struct.pack("ii", 1, 0)
        client().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_0)
        client().close()
        with pytest.raises(ConnectionResetError):
            start(group, server.recv, 10).result(PATIENCE_S)


@pytest.mark.parametrize("is_server", [True, False])
def test_an_end_in_the_handshake_is_told_as_ssl_tells_it(
    ids: Identities, group: CarrierGroup, is_server: bool
) -> None:
    context = ids.server_context() if is_server else ids.client_context()
    options: Any = {} if is_server else {"server_hostname": "localhost"}
    found = []
    for is_ours in (True, False):
        ours, theirs = socket.socketpair()
        theirs.shutdown(socket.SHUT_WR)
        try:
            if is_ours:
                wrap = partial(
                    io.wrap_socket, ours, context, group=group, server_side=is_server, **options
                )
                start(group, wrap).result(PATIENCE_S)
            else:
                context.wrap_socket(ours, server_side=is_server, **options)
        except OSError as error:
            found.append((type(error), error.args[0]))
        ours.close()
        theirs.close()
    assert found[0] == found[1]


# One direction ends, the other goes on.
def what_the_peer_sees_of_a_half_close(ids: Identities, group: CarrierGroup) -> object:
    server, client = with_plain_client(ids, group, suppress_ragged_eofs=False)
    with server, client:
        start(group, server.shutdown, socket.SHUT_WR).result(PATIENCE_S)
        try:
            return client.recv(10)
        except ssl.SSLError as error:
            return type(error)


def test_a_half_close_says_close_notify(ids: Identities, group: CarrierGroup) -> None:
    assert what_the_peer_sees_of_a_half_close(ids, group) == b""


def test_twin_a_half_close_that_says_nothing(
    ids: Identities, group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(io.TLSSocket, "shutdown", io.Socket.shutdown)
    assert what_the_peer_sees_of_a_half_close(ids, group) is ssl.SSLEOFError


@pytest.mark.parametrize("version", VERSIONS)
def test_the_other_direction_stays_open(
    ids: Identities, group: CarrierGroup, version: ssl.TLSVersion
) -> None:
    server, client = with_plain_client(ids, group, version=version)
    with server, client:
        client.sendall(b"early")
        assert start(group, server.recv, 1).result(PATIENCE_S) == b"e"  # "arly" is decrypted
        client.sendall(b",unseen,")  # it is in the socket
        start(group, server.shutdown, socket.SHUT_WR).result(PATIENCE_S)
        assert client.recv(10) == b""
        client.sendall(b"late")
        assert server.pending() == 4
        assert start(group, exactly, server, 16).result(PATIENCE_S) == b"arly,unseen,late"
        over = start(group, server.recv, 10)
        with pytest.raises(OSError, match=r"protocol is shutdown"):
            start(group, server.sendall, b"x").result(PATIENCE_S)
        client.unwrap()
        assert over.result(PATIENCE_S) == b""


def unwrapped(ids: Identities, group: CarrierGroup) -> bytes:
    """Return what the plain socket reads after TLS, if the peer goes on at once."""
    server, client = with_plain_client(ids, group)

    def peer() -> None:
        with client.unwrap() as plain:
            plain.sendall(b"plain again")

    over = in_os_thread(peer)
    with start(group, server.unwrap).result(PATIENCE_S) as plain:
        assert type(plain) is io.Socket
        got: bytes = start(group, exactly, plain, 11).result(PATIENCE_S)
    over()
    assert server.fileno() == -1
    return got


def test_unwrap_waits_for_the_peer_and_gives_the_plain_socket_back(
    ids: Identities, group: CarrierGroup
) -> None:
    assert unwrapped(ids, group) == b"plain again"


def test_what_was_received_behind_close_notify_is_an_error(
    ids: Identities, group: CarrierGroup
) -> None:
    # A peer that does not wait for our close_notify: the bytes came with the last record.
    server, client = with_plain_client(ids, group)
    with server, client:
        client.settimeout(0)
        with pytest.raises(ssl.SSLWantReadError):
            client.unwrap()
        socket.socket.sendall(client, b"plain again")
        assert start(group, server.recv, 10).result(PATIENCE_S) == b""
        with pytest.raises(OSError, match="11 bytes that the peer sent") as caught:
            start(group, server.unwrap).result(PATIENCE_S)
        assert caught.value.errno == errno.EPROTO


# Deadlines.
def serve_beside_a_silent_client(ids: Identities, timeout_s: float | None) -> tuple[int, bool]:
    """Return how many were served beside a client that says nothing, and whether it was ended."""
    with CarrierGroup(1) as group:
        listener = io.create_server(("127.0.0.1", 0), group=group)
        ended: list[type[BaseException]] = []

        def converse(sock: io.Socket) -> None:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                echo(
                    io.wrap_socket(
                        sock,
                        ids.server_context(),
                        server_side=True,
                        handshake_timeout_s=timeout_s,
                    )
                )
            except OSError as error:
                ended.append(type(error))

        def accept() -> list[VirtualThread]:
            return [start(group, converse, listener.accept()[0]) for _ in range(4)]

        accepting = start(group, accept)
        with listener, socket.create_connection(listener.getsockname()) as silent:
            served = 0
            for _ in range(3):
                sock = socket.create_connection(listener.getsockname())
                served += talk(plain_client(ids, sock)) == 20
            first, *others = accepting.result(PATIENCE_S)
            assert all(thread.join(PATIENCE_S) for thread in others)
            is_over = first.join(5 * SHORT_S)
            if is_over:
                silent.settimeout(PATIENCE_S)
                assert silent.recv(1) == b""
        first.join(PATIENCE_S)
        assert not is_over or ended == [TimeoutError]
        return served, is_over


def test_a_silent_client_is_ended_while_others_are_served(ids: Identities) -> None:
    assert serve_beside_a_silent_client(ids, SHORT_S) == (3, True)


def test_twin_a_handshake_without_a_deadline_holds_its_thread(ids: Identities) -> None:
    assert serve_beside_a_silent_client(ids, None) == (3, False)


def test_a_deadline_is_of_the_whole_call_not_of_each_byte(
    ids: Identities, group: CarrierGroup
) -> None:
    server, client = with_plain_client(ids, group)
    with server, client:
        server.settimeout(SHORT_S)
        begin = time.monotonic()
        reads = start(group, server.recv, 10)
        while not reads.join(SHORT_S / 4):
            # Half a record: a header that announces more bytes than follow.
            socket.socket.send(client, b"\x17" if time.monotonic() - begin < SHORT_S / 4 else b"\3")
            assert time.monotonic() - begin < PATIENCE_S / 6
        with pytest.raises(TimeoutError, match="recv: timed out"):
            reads.result(PATIENCE_S)


def repeat_sends(ids: Identities, group: CarrierGroup) -> bytes:
    """Return what the peer reads of 00, 01, .. 99, if each send that times out is repeated."""
    one, other = pair(ids, group)
    with one, other:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        one.settimeout(SHORT_S)
        is_late = Semaphore(0)
        sent = b"".join(b"%02d" % number * 5000 for number in range(100))

        def send() -> None:
            at = 0
            while at < len(sent):
                try:
                    at += one.send(sent[at:])
                except TimeoutError:
                    is_late.release()
            one.shutdown(socket.SHUT_WR)

        def read() -> bytes:
            is_late.acquire()
            got = b""
            while part := other.recv(100_000):
                got += part
            return got

        sending = start(group, send)
        got: bytes = start(group, read).result(PATIENCE_S)
        sending.result(PATIENCE_S)
        return got


ALL = b"".join(b"%02d" % number * 5000 for number in range(100))


def test_a_send_that_timed_out_is_repeated_and_arrives_once(
    ids: Identities, group: CarrierGroup
) -> None:
    assert repeat_sends(ids, group) == ALL


def test_twin_a_send_that_timed_out_is_forgotten(
    ids: Identities, group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = io.TLSSocket._writes
    monkeypatch.setattr(io.TLSSocket, "_writes", lambda self, data, **_: writes(self, data, False))
    assert len(repeat_sends(ids, group)) > len(ALL)


def test_a_shorter_repetition_is_refused(ids: Identities, group: CarrierGroup) -> None:
    one, other = pair(ids, group)
    with one, other:
        one.settimeout(0)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        with pytest.raises(ssl.SSLWantWriteError):
            start(group, one.send, bytes(60_000)).result(PATIENCE_S)
        with pytest.raises(ValueError, match="same data"):
            start(group, one.send, b"other").result(PATIENCE_S)


def test_a_call_that_would_wait_says_so_if_the_timeout_is_0(
    ids: Identities, group: CarrierGroup
) -> None:
    one, other = pair(ids, group)
    with one, other:
        one.settimeout(0)
        with pytest.raises(ssl.SSLWantReadError):
            start(group, one.recv, 1).result(PATIENCE_S)
        other.sendall(b"ab")
        assert start(group, one.recv, 1).result(PATIENCE_S) == b"a"
        assert one.pending() == 1
        assert one.recv(5) == b"b"


# A wait ends otherwise.
@pytest.mark.parametrize("is_coroutine", [False, True])
def test_a_close_and_an_interrupt_end_a_wait(
    ids: Identities, group: CarrierGroup, is_coroutine: bool
) -> None:
    one, other = pair(ids, group)
    with one, other:

        async def read() -> bytes:
            return await coroutine.recv(one, 1)

        def reads() -> VirtualThread:
            return start(group, read) if is_coroutine else start(group, one.recv, 1)

        reader = parked(reads())
        reader.interrupt()
        with pytest.raises(ThreadInterruptedError):
            reader.result(PATIENCE_S)
        reader = parked(reads())
        other.sendall(b"x")
        assert reader.result(PATIENCE_S) == b"x"
        reader = parked(reads())
        one.close()
        with pytest.raises(OSError, match="closed") as caught:
            reader.result(PATIENCE_S)
        assert caught.value.errno == errno.EBADF
        with pytest.raises(OSError, match="closed"):
            one.send(b"x")


def test_a_group_that_is_closed_hands_back_a_writer_and_a_reader(ids: Identities) -> None:
    group = CarrierGroup(1)
    one, other = pair(ids, group)
    threads = [start(group, one.sendall, bytes(8 * EACH)), start(group, one.recv, 1)]
    for thread in threads:
        parked(thread)
    assert len(group.close(1)) == 2
    assert one.fileno() == other.fileno() == -1


# Who speaks with whom.
def test_both_ends_know_what_ssl_knows(ids: Identities, group: CarrierGroup) -> None:
    asked: list[str | None] = []

    def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        asked.append(name)
        connection.context = context

    context = ids.server_context(asks_client=True)
    context.set_alpn_protocols(["h2", "http/1.1"])
    first = ids.server_context(asks_client=True)
    first.set_alpn_protocols(["h2", "http/1.1"])
    first.sni_callback = choose  # type: ignore[assignment]
    ours, theirs = io.socketpair(group=group)
    wrap = partial(io.wrap_socket, ours, first, server_side=True)
    serving = start(group, wrap)
    mine = ids.client_context(is_alice=True)
    mine.set_alpn_protocols(["http/1.1"])
    wrap = partial(io.wrap_socket, theirs, mine, server_hostname="localhost")
    with start(group, wrap).result(PATIENCE_S) as client, serving.result(PATIENCE_S) as server:
        assert asked == ["localhost"]
        assert server.context is context
        assert client.selected_alpn_protocol() == server.selected_alpn_protocol() == "http/1.1"
        pem = ids.client.certificate.read_text()
        assert server.getpeercert(binary_form=True) == ssl.PEM_cert_to_DER_cert(pem)
        assert server.getpeercert()["subject"] == ((("commonName", "alice"),),)
        pem = ids.server.certificate.read_text()
        assert client.getpeercert(True) == ssl.PEM_cert_to_DER_cert(pem)
        assert client.version() == server.version() == "TLSv1.3"
        assert client.cipher() == server.cipher()
        assert client.cipher()[0] in {name for name, *_ in server.shared_ciphers() or ()}
        assert (client.server_side, client.server_hostname) == (False, "localhost")
        assert server.server_side
        assert client.compression() is None
        assert client.session_reused is False


def test_a_client_continues_its_session(ids: Identities, group: CarrierGroup) -> None:
    context, session = ids.client_context(ssl.TLSVersion.TLSv1_2), None
    theirs = ids.server_context()
    for is_reused in (False, True):
        ours, other = io.socketpair(group=group)
        serving = start(group, partial(io.wrap_socket, other, theirs, server_side=True))
        wrap = partial(io.wrap_socket, ours, context, server_hostname="localhost", session=session)
        with start(group, wrap).result(PATIENCE_S) as client, serving.result(PATIENCE_S) as server:
            assert client.session_reused is server.session_reused is is_reused
            session = client.session


@pytest.mark.parametrize("is_coroutine", [False, True])
def test_a_certificate_that_is_not_trusted_is_refused_and_the_peer_is_told(
    ids: Identities, group: CarrierGroup, is_coroutine: bool
) -> None:
    theirs, ours = socket.socketpair()

    def serve() -> str:
        try:
            ids.server_context().wrap_socket(theirs, server_side=True).recv(1)
        except ssl.SSLError as error:
            return str(error.reason)
        finally:
            theirs.close()
        return "it trusts"

    told = in_os_thread(serve)
    stranger = ssl.create_default_context()

    async def awrap() -> None:
        await coroutine.wrap_socket(ours, stranger, server_hostname="localhost", group=group)

    wrap = partial(io.wrap_socket, ours, stranger, server_hostname="localhost", group=group)
    with pytest.raises(ssl.SSLCertVerificationError, match="self-signed"):
        start(group, awrap if is_coroutine else wrap).result(PATIENCE_S)
    assert told() == "TLSV1_ALERT_UNKNOWN_CA"
    assert ours.fileno() == -1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "give server_hostname"),
        ({"server_side": True, "server_hostname": "x"}, "server_hostname is for clients"),
    ],
)
def test_contradictions_are_refused_and_the_socket_stays(
    ids: Identities, group: CarrierGroup, options: dict[str, Any], said: str
) -> None:
    one, other = io.socketpair(group=group)
    with one, other:
        with pytest.raises(ValueError, match=said):
            io.wrap_socket(one, ids.client_context(), **options)
        other.sendall(b"x")
        assert one.recv(1) == b"x"
    datagrams = io.Socket(socket.AF_INET, socket.SOCK_DGRAM, group=group)
    with datagrams, pytest.raises(NotImplementedError, match="SOCK_STREAM"):
        io.wrap_socket(datagrams, ids.client_context(), server_hostname="x")


def test_what_tls_does_not_have_is_refused(ids: Identities, group: CarrierGroup) -> None:
    one, other = pair(ids, group)
    with one, other:
        with pytest.raises(NotImplementedError, match="recv_into"):
            one.recvfrom(1)
        with pytest.raises(ValueError, match="flags is 2"):
            one.recv(1, socket.MSG_PEEK)
        with pytest.raises(ValueError, match="TLS inside TLS"):
            io.wrap_socket(one, ids.client_context(), server_hostname="x")


def test_files_and_buffers_of_a_connection(ids: Identities, group: CarrierGroup) -> None:
    one, other = pair(ids, group)
    with one, other:

        def lines() -> list[str]:
            with one.makefile("r", newline="\n") as file:
                return list(file)

        reader = start(group, lines)

        def write() -> None:
            with other.makefile("w") as file:
                file.write("one\ntwo\n" * 3000)
            other.shutdown(socket.SHUT_WR)

        start(group, write).result(PATIENCE_S)
        assert reader.result(PATIENCE_S) == ["one\n", "two\n"] * 3000
        start(group, one.sendall, memoryview(b"abcdef")).result(PATIENCE_S)
        buffer = bytearray(8)
        assert start(group, other.recv_into, buffer, 2).result(PATIENCE_S) == 2
        assert start(group, other.read, 3, buffer).result(PATIENCE_S) == 3
        assert start(group, other.recv_into, buffer).result(PATIENCE_S) == 1
        assert buffer == b"fde\0\0\0\0\0"
        assert other.recv_into(bytearray()) == 0


# Many at once.
def at_once(ids: Identities, count: int, is_serial: bool) -> int:
    """Return how many of `count` clients are answered by a server that answers all together."""
    with CarrierGroup(1) as group:
        arrived: list[io.TLSSocket] = []
        all_here = Semaphore(0)

        def converse(sock: io.TLSSocket) -> None:
            with sock:
                sock.do_handshake(PATIENCE_S)
                arrived.append(sock)
                if len(arrived) == count:
                    all_here.release(count)
                if all_here.acquire(1, PATIENCE_S if not is_serial else SHORT_S):
                    sock.sendall(sock.recv(100))

        def accept(listener: io.TLSSocket) -> None:
            for _ in range(count):
                thread = start(group, converse, listener.accept()[0])
                if is_serial:
                    thread.join()

        def client(number: int) -> bool:
            message = b"client %d" % number
            with ExitStack() as stack:
                sock = stack.enter_context(io.create_connection(address, group=group))
                tls = io.wrap_socket(sock, context, server_hostname="localhost")
                with tls:
                    tls.sendall(message)
                    try:
                        return tls.recv(100) == message
                    except ConnectionResetError:  # by the twin
                        return False

        context = ids.client_context()
        with io.wrap_socket(
            io.create_server(("127.0.0.1", 0), group=group, backlog=count),
            ids.server_context(),
            server_side=True,
        ) as listener:
            address = listener.getsockname()
            accepting = start(group, accept, listener)
            clients = [start(group, client, number) for number in range(count)]
            accepting.result(PATIENCE_S)
            return sum(thread.result(PATIENCE_S) for thread in clients)


def test_fifty_connections_at_once_on_one_carrier(ids: Identities) -> None:
    assert at_once(ids, 50, is_serial=False) == 50


def test_twin_a_server_of_one_connection_at_a_time(ids: Identities) -> None:
    assert at_once(ids, 3, is_serial=True) == 1  # the last one, which waits for nobody
