# SPDX-License-Identifier: Apache-2.0
"""Under `wakeproof.install` the calls of ``ssl.SSLSocket`` park: ``_runtime/stdlib/tls.py``.

The check of most tests: while the call waits, another virtual thread of the same carrier runs.
"""

from __future__ import annotations

import errno
import http.server
import os
import socket
import ssl
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import pytest
from tests.support.talking import exactly, start
from tests.support.tls import NEEDS_OPENSSL, VERSIONS, Identities, identities
from tests.support.virtual import PATIENCE_S, parked

import wakeproof
from wakeproof import CarrierGroup, Semaphore, ThreadInterruptedError
from wakeproof._runtime.here import ARE_OWN
from wakeproof._runtime.stdlib import tls

CARRIERS = 1  # of `group`
SHORT_S = 0.2  # how long a twin's carrier is seen to be blocked
EACH = 2_000_000  # bytes: more than the buffers of the system hold
pytestmark = [
    NEEDS_OPENSSL,
    pytest.mark.skipif(not ARE_OWN, reason="needs methods of C types exchanged in place"),
]
Ends = tuple[ssl.SSLSocket, ssl.SSLSocket]


@pytest.fixture(scope="module")
def ids(tmp_path_factory: pytest.TempPathFactory) -> Identities:
    return identities(tmp_path_factory.mktemp("tls"))


def in_os_thread(call: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread


def pair(ids: Identities, version: ssl.TLSVersion | None = None, **options: Any) -> Ends:
    """Return the server's and the client's end, which OS threads have made."""
    return wrapped(ids, *socket.socketpair(), version, **options)


def wrapped(
    ids: Identities,
    ours: socket.socket,
    theirs: socket.socket,
    version: ssl.TLSVersion | None = None,
    **options: Any,
) -> Ends:
    made: list[ssl.SSLSocket] = []
    wrap = partial(ids.server_context().wrap_socket, ours, server_side=True)
    thread = in_os_thread(lambda: made.append(wrap()))
    context = ids.client_context(version)
    client = context.wrap_socket(theirs, server_hostname="localhost", **options)
    thread.join(PATIENCE_S)
    return made[0], client


@pytest.mark.usefixtures("installed")
def test_ssl_takes_a_socket_of_wakeproof_io(ids: Identities, group: CarrierGroup) -> None:
    plain = wakeproof.io.socketpair(group=group)
    numbers = [one.fileno() for one in plain]
    one, other = wrapped(ids, *plain)
    with one, other:
        assert [one.fileno(), other.fileno()] == numbers
        assert (type(one), plain[0].fileno()) == (ssl.SSLSocket, -1)
        reader = parked(start(group, one.recv, 1))
        other.sendall(b"x")
        assert reader.result(PATIENCE_S) == b"x"


# What waits, and what ends it: each takes the two ends.
def send_a_byte(_: ssl.SSLSocket, other: ssl.SSLSocket) -> None:
    other.sendall(b"x")


def read_all(_: ssl.SSLSocket, other: ssl.SSLSocket) -> None:
    exactly(other, EACH)


def unwrap(_: ssl.SSLSocket, other: ssl.SSLSocket) -> None:
    other.unwrap()


CASES: dict[str, tuple[Callable[[ssl.SSLSocket], Any], Callable[..., None]]] = {
    "recv": (lambda one: one.recv(1), send_a_byte),
    "recv_into": (lambda one: one.recv_into(bytearray(5)), send_a_byte),
    "read": (lambda one: one.read(1), send_a_byte),
    "a file": (lambda one: one.makefile("rb", buffering=0).read(1), send_a_byte),
    "sendall": (lambda one: one.sendall(bytes(EACH)), read_all),
    "write": (lambda one: one.write(bytes(EACH)), read_all),
    "unwrap": (lambda one: one.unwrap() is one, unwrap),
}


def parks(
    group: CarrierGroup, call: Callable[[], Any], release: Callable[[], None], patience_s: float
) -> tuple[bool, Any]:
    """Return whether another virtual thread ran while the call waited; and the call's result."""
    ran, seen = threading.Event(), []
    thread = start(group, call)
    other = start(group, lambda: (seen.append(thread.is_alive()), ran.set()))
    ran.wait(patience_s)
    is_parked = bool(seen) and seen[0]
    releasing = in_os_thread(release)
    found = thread.result(PATIENCE_S)
    releasing.join(PATIENCE_S)
    other.result(PATIENCE_S)
    return is_parked, found


@pytest.mark.slow
@pytest.mark.parametrize("timeout_s", [None, PATIENCE_S])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("installed")
def test_the_call_parks(
    ids: Identities, group: CarrierGroup, name: str, timeout_s: float | None
) -> None:
    call, release = CASES[name]

    def case(patience_s: float) -> tuple[bool, Any]:
        one, other = pair(ids)
        with one, other:
            one.settimeout(timeout_s)
            blocks = os.get_blocking(one.fileno())
            found = parks(group, partial(call, one), partial(release, one, other), patience_s)
            assert (one.gettimeout(), os.get_blocking(one.fileno())) == (timeout_s, blocks)
            return found

    is_parked, found = case(PATIENCE_S)
    assert is_parked
    wakeproof.uninstall()
    assert case(SHORT_S) == (False, found)  # twin: an OS thread's answer


@pytest.mark.parametrize("is_server", [True, False])
@pytest.mark.usefixtures("installed")
def test_the_handshake_parks(ids: Identities, group: CarrierGroup, is_server: bool) -> None:
    contexts = ids.client_context(), ids.server_context()
    options: Any = ({"server_hostname": "localhost"}, {"server_side": True})

    def case(patience_s: float) -> tuple[bool, Any]:
        with ExitStack() as end:
            ours, theirs = map(end.enter_context, socket.socketpair())

            def call() -> str | None:
                wrap = contexts[is_server].wrap_socket
                return end.enter_context(wrap(ours, **options[is_server])).version()

            def release() -> None:
                wrap = contexts[not is_server].wrap_socket
                end.enter_context(wrap(theirs, **options[not is_server]))

            return parks(group, call, release, patience_s)

    assert case(PATIENCE_S) == (True, "TLSv1.3")
    wakeproof.uninstall()
    assert case(SHORT_S) == (False, "TLSv1.3")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.usefixtures("installed")
def test_megabytes_go_in_both_directions_at_once(
    ids: Identities, version: ssl.TLSVersion, either_group: CarrierGroup
) -> None:
    sent = bytes(range(256)) * (EACH // 256)
    one, other = pair(ids, version)

    def receive(end: ssl.SSLSocket) -> bytes:
        got = bytearray()
        while len(got) < len(sent):
            got += end.recv(100_000)
        return bytes(got)

    with one, other:
        threads = [start(either_group, end.sendall, sent) for end in (one, other)]
        threads += [start(either_group, receive, end) for end in (one, other)]
        results = [thread.result(PATIENCE_S) for thread in threads]
    assert results == [None, None, sent, sent]


def two_writers(ids: Identities, group: CarrierGroup) -> Counter[bytes]:
    """Count what the peer reads, by 1000 bytes, of two writers that have to wait."""
    one, other = pair(ids)
    with one, other:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

        def write(letter: bytes) -> None:
            try:
                for _ in range(20):
                    one.sendall(letter * 100_000)
            except ssl.SSLError:  # of the twin
                one.shutdown(socket.SHUT_RDWR)

        writers = [start(group, write, letter) for letter in (b"a", b"b")]
        got = b""
        with suppress(ssl.SSLError):
            while len(got) < 4_000_000 and (part := other.recv(100_000)):
                got += part
        for writer in writers:
            writer.result(PATIENCE_S)
        return Counter(got[at : at + 1000] for at in range(0, len(got), 1000))


@pytest.mark.usefixtures("installed")
def test_a_write_that_waits_is_continued_before_another(
    ids: Identities, group: CarrierGroup
) -> None:
    assert two_writers(ids, group) == {b"a" * 1000: 2000, b"b" * 1000: 2000}


@pytest.mark.usefixtures("installed")
def test_twin_writers_that_do_not_wait_for_each_other(
    ids: Identities, group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the second writes in the middle of a record of the first depends on the system."""
    monkeypatch.setattr(tls, "Semaphore", lambda _: Semaphore(2))
    right = {b"a" * 1000: 2000, b"b" * 1000: 2000}
    assert any(two_writers(ids, group) != right for _ in range(1000))


@pytest.mark.usefixtures("installed")
def test_a_reader_that_waits_keeps_no_writer_out(ids: Identities, group: CarrierGroup) -> None:
    one, other = pair(ids)
    with one, other:
        reader = parked(start(group, one.recv, 10))
        start(group, one.sendall, b"first").result(PATIENCE_S)
        assert exactly(other, 5) == b"first"
        other.sendall(b"then")
        assert reader.result(PATIENCE_S) == b"then"


# Errors and ends, as OS threads see them.
def error_of(call: Callable[[], Any]) -> tuple[type[BaseException], str]:
    try:
        call()
    except OSError as error:
        return type(error), str(error).partition(" (_ssl")[0]
    raise AssertionError("no error")


def late_handshake(ids: Identities) -> Callable[[], Any]:
    ours, theirs = socket.socketpair()
    ours.settimeout(SHORT_S / 4)

    def call() -> None:
        with theirs:
            ids.server_context().wrap_socket(ours, server_side=True)

    return call


@pytest.mark.parametrize("timeout_s", [0, SHORT_S / 4])
@pytest.mark.parametrize("name", ["recv", "sendall", "unwrap"])
@pytest.mark.usefixtures("installed")
def test_a_timeout_is_told_as_in_an_os_thread(
    ids: Identities, group: CarrierGroup, name: str, timeout_s: float
) -> None:
    call, _ = CASES[name]

    def case() -> tuple[type[BaseException], str]:
        one, other = pair(ids)
        with one, other:
            one.settimeout(timeout_s)
            return error_of(partial(call, one))

    found: tuple[type[BaseException], str] = start(group, case).result(PATIENCE_S)
    assert found == case()
    assert issubclass(found[0], ssl.SSLError if timeout_s == 0 else TimeoutError)


@pytest.mark.usefixtures("installed")
def test_a_handshake_that_takes_too_long_is_told_as_in_an_os_thread(
    ids: Identities, group: CarrierGroup
) -> None:
    def case() -> tuple[type[BaseException], str]:
        kind, text = error_of(late_handshake(ids))
        return kind, text.rpartition(": ")[2]  # ssl puts a line of _ssl.c before it

    found = start(group, case).result(PATIENCE_S)
    assert found == case() == (TimeoutError, "The handshake operation timed out")


@pytest.mark.usefixtures("installed")
def test_a_close_and_an_interrupt_end_a_wait(ids: Identities, group: CarrierGroup) -> None:
    one, other = pair(ids)
    with one, other:
        reader = parked(start(group, one.recv, 1))
        reader.interrupt()
        with pytest.raises(ThreadInterruptedError):
            reader.result(PATIENCE_S)
        reader = parked(start(group, one.recv, 1))
        start(group, one.close).result(PATIENCE_S)
        with pytest.raises(OSError, match="closed") as caught:
            reader.result(PATIENCE_S)
        assert caught.value.errno == errno.EBADF


@pytest.mark.usefixtures("installed")
def test_os_threads_and_virtual_ones_take_turns_with_a_connection(
    ids: Identities, group: CarrierGroup
) -> None:
    one, other = pair(ids)
    with one, other:
        for number in range(20):
            message = b"message %d" % number
            if number % 2:
                one.sendall(message)
                assert start(group, other.recv, 100).result(PATIENCE_S) == message
            else:
                start(group, one.sendall, message).result(PATIENCE_S)
                assert other.recv(100) == message


@pytest.mark.usefixtures("installed")
def test_a_wait_outlives_uninstall(ids: Identities, group: CarrierGroup) -> None:
    one, other = pair(ids)
    with one, other:
        reader = parked(start(group, one.recv, 1))
        wakeproof.uninstall()
        other.sendall(b"x")
        assert reader.result(PATIENCE_S) == b"x"


# Programs of others, many at once on one carrier.
class Together(http.server.BaseHTTPRequestHandler):
    """Answers when `CLIENTS` requests are there, or after SHORT_S."""

    protocol_version = "HTTP/1.1"
    barrier: threading.Barrier

    def do_GET(self) -> None:
        try:
            self.barrier.wait(SHORT_S if self.path == "/twin" else PATIENCE_S)
            body = b"together"
        except threading.BrokenBarrierError:
            body = b"alone"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


CLIENTS = 50


@pytest.fixture
def url(ids: Identities) -> Iterator[str]:
    """Serve HTTPS in OS threads."""
    Together.barrier = threading.Barrier(CLIENTS)

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = CLIENTS

        def finish_request(self, request: Any, client_address: Any) -> None:
            with ids.server_context().wrap_socket(request, server_side=True) as wrapped:
                super().finish_request(wrapped, client_address)

    with Server(("127.0.0.1", 0), Together) as server:
        serving = in_os_thread(server.serve_forever)
        yield f"https://localhost:{server.server_address[1]}/"
        server.shutdown()
        serving.join(PATIENCE_S)


def ask(ids: Identities, group: CarrierGroup, url: str, clients: int) -> list[bytes]:
    context = ids.client_context()

    def get() -> bytes:
        with urllib.request.urlopen(url, timeout=PATIENCE_S, context=context) as reply:
            body: bytes = reply.read()
            return body

    threads = [start(group, get) for _ in range(clients)]
    return [thread.result(PATIENCE_S) for thread in threads]


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_fifty_requests_by_urllib_are_under_way_at_once(
    ids: Identities, group: CarrierGroup, url: str
) -> None:
    assert ask(ids, group, url, CLIENTS) == [b"together"] * CLIENTS


def test_twin_requests_without_install_are_serial(
    ids: Identities, group: CarrierGroup, url: str
) -> None:
    assert ask(ids, group, f"{url}twin", 2) == [b"alone"] * 2
