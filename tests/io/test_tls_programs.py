# SPDX-License-Identifier: Apache-2.0
"""TLS of wakeproof.io, against openssl's own client and server, and curl."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.support.cases import IN_CHECKOUT
from tests.support.running import run
from tests.support.talking import exactly, start
from tests.support.tls import (
    ALLOW_CLIENT_RENEGOTIATION,
    NEEDS_CURL,
    NEEDS_OPENSSL,
    Identities,
    identities,
    running,
)
from tests.support.virtual import PATIENCE_S

from wakeproof import CarrierGroup, coroutine, io, locations

CARRIERS = 1  # of `group`
pytestmark = [NEEDS_OPENSSL, pytest.mark.slow]
SWITCHES = ["-tls1_2", "-tls1_3"]


@pytest.fixture(scope="module")
def ids(tmp_path_factory: pytest.TempPathFactory) -> Identities:
    return identities(tmp_path_factory.mktemp("tls"))


def upper(sock: socket.socket, context: ssl.SSLContext) -> None:
    """Answer each message in capitals, until the client says close_notify or breaks off."""
    with (
        io.wrap_socket(sock, context, server_side=True) as server,
        contextlib.suppress(OSError),
    ):
        while data := server.recv(100):
            server.sendall(data.upper())
        server.unwrap().close()


async def aupper(sock: socket.socket, context: ssl.SSLContext) -> None:
    with await coroutine.wrap_socket(sock, context, server_side=True) as server:
        while data := await coroutine.recv(server, 100):
            await coroutine.sendall(server, data.upper())
        (await coroutine.unwrap(server)).close()


def plain_upper(sock: socket.socket, context: ssl.SSLContext) -> None:
    """Do so by ssl alone."""
    plain = socket.socket(fileno=sock.detach())
    plain.setblocking(True)
    with context.wrap_socket(plain, server_side=True) as server:
        while data := server.recv(100):
            server.sendall(data.upper())


@contextmanager
def s_client(
    ids: Identities,
    group: CarrierGroup,
    *switches: str,
    serve: Callable[..., object] = upper,
    context: ssl.SSLContext | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run openssl's client, connected to one of the servers above."""
    with io.create_server(("127.0.0.1", 0), group=group) as listener:
        address = "{}:{}".format(*listener.getsockname())
        command = ["openssl", "s_client", "-connect", address, "-servername", "localhost"]
        command += ["-CAfile", str(ids.server.certificate), "-verify_return_error", *switches]
        with running(command) as client:
            sock, _ = start(group, listener.accept).result(PATIENCE_S)
            serving = start(group, serve, sock, context or ids.server_context())
            yield client
            client.kill()
            client.wait(PATIENCE_S)
            serving.join(PATIENCE_S)
            assert serving.state == "terminated"


def said(client: subprocess.Popen[bytes], what: bytes) -> bytes:
    """Read what the program prints until it has printed `what`."""
    assert client.stdout is not None
    found = b""
    while what not in found:
        line = client.stdout.readline()
        assert line, f"it has ended without {what!r}: {found.decode()}"
        found += line
    return found


def say(client: subprocess.Popen[bytes], what: bytes) -> None:
    assert client.stdin is not None
    os.write(client.stdin.fileno(), what)  # not into a buffer, which the end would flush again


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("serve", [upper, aupper])
def test_openssls_client_is_answered_and_hears_the_end(
    ids: Identities, group: CarrierGroup, serve: Callable[..., object], switch: str
) -> None:
    with s_client(ids, group, switch, serve=serve) as client:
        for number in range(20):
            say(client, b"message %d\n" % number)
            said(client, b"MESSAGE %d\n" % number)
        say(client, b"Q\n")
        assert client.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("is_coroutine", [False, True])
def test_openssls_server_is_asked(
    ids: Identities, group: CarrierGroup, switch: str, is_coroutine: bool
) -> None:
    command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-rev", switch]
    command += ["-cert", str(ids.server.certificate), "-key", str(ids.server.key)]
    with running(command) as server:
        port = int(said(server, b"ACCEPT ").rpartition(b":")[2])

        def ask() -> bytes:
            plain = io.create_connection(("127.0.0.1", port), PATIENCE_S)
            with io.wrap_socket(plain, context, server_hostname="localhost") as client:
                client.sendall(b"able was I\n" * 1000)
                return exactly(client, 11_000)

        async def aask() -> bytes:
            plain = io.Socket(socket.AF_INET, socket.SOCK_STREAM)
            with io.wrap_socket(plain, context, server_hostname="localhost") as client:
                await coroutine.connect(client, ("127.0.0.1", port))
                await coroutine.sendall(client, b"able was I\n" * 1000)
                got = b""
                while len(got) < 11_000:
                    got += await coroutine.recv(client, 4096)
                return got

        context = ids.client_context()
        asking = start(group, aask if is_coroutine else ask)
        assert asking.result(PATIENCE_S) == b"I saw elba\n" * 1000


# The letters R and K at the beginning of a line are commands of s_client.
def renegotiate(ids: Identities, group: CarrierGroup, serve: Callable[..., object]) -> bytes:
    """Return what openssl's client says when it asks for a renegotiation."""
    context = ids.server_context()
    context.options |= ALLOW_CLIENT_RENEGOTIATION  # OpenSSL 3 refuses it without this
    with s_client(ids, group, "-tls1_2", serve=serve, context=context) as client:
        say(client, b"before\n")
        said(client, b"BEFORE\n")
        say(client, b"R\n")
        found = said(client, b"RENEGOTIATING\n")
        with contextlib.suppress(BrokenPipeError):  # it may have ended already
            say(client, b"after\n")
        assert client.stdout is not None
        while b"AFTER" not in found and (line := client.stdout.readline()):
            found += line
        return found


def test_renegotiation_is_refused(ids: Identities, group: CarrierGroup) -> None:
    found = renegotiate(ids, group, upper)
    assert b"no renegotiation" in found
    assert b"AFTER" not in found


def test_twin_a_context_that_allows_renegotiation(ids: Identities, group: CarrierGroup) -> None:
    found = renegotiate(ids, group, plain_upper)
    assert b"no renegotiation" not in found
    assert b"AFTER" in found


def test_a_change_of_keys_is_answered(ids: Identities, group: CarrierGroup) -> None:
    with s_client(ids, group, "-tls1_3", "-msg") as client:
        say(client, b"first\n")
        said(client, b"FIRST\n")
        say(client, b"K\n")  # update my keys, and you yours
        said(client, b">>> TLS 1.3, Handshake [length 0005], KeyUpdate\n")
        say(client, b"second\n")
        found = said(client, b"SECOND\n")
        assert b"<<< TLS 1.3, Handshake [length 0005], KeyUpdate\n" in found


@NEEDS_CURL
@IN_CHECKOUT
def test_curl_keeps_its_connection_to_the_example(ids: Identities) -> None:
    example = locations.sources() / "examples" / "https_hello.py"
    files = [str(ids.server.certificate), str(ids.server.key)]
    with running([sys.executable, str(example), *files]) as server:
        url = said(server, b"/\n").decode().strip()
        with socket.create_connection(("127.0.0.1", int(url.split(":")[2].rstrip("/")))):
            trust = ["curl", "-sS", "-v", "--max-time", "60", "--cacert", files[0]]
            ran = run([*trust, url, f"{url}again", f"{url}once-more"])
        assert ran.stdout == "hello\n" * 3, ran.stderr
        assert ran.stderr.count("Connected to") == 1
        assert ran.stderr.count("Re-using existing connection") == 2
        assert "server accepted http/1.1" in ran.stderr
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE_S) == 0
        assert server.stdout is not None
        assert server.stdout.read() == b""
