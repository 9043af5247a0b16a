# SPDX-License-Identifier: Apache-2.0
"""The HTTP examples, driven by independent clients and by hand.

Each server runs in a build of its own; a finding of its sanitizer fails the last of its tests.
"""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse

import pytest
from tests.support import serving
from tests.support.cases import COMPILES
from tests.support.serving import HELLO, VARIANTS, Server, get

from wakeproof import locations

pytestmark = COMPILES
GET = b"GET %b HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    command = serving.compiled(tmp_path_factory.mktemp("backend"), "backend", "plain")
    with serving.running(command, "--think-ms", 1) as server:
        yield server


@pytest.fixture(scope="module", params=VARIANTS)
def server(
    request: pytest.FixtureRequest, backend: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("echo")
    with serving.echo(folder, request.param, backend.port) as server:
        yield server


def replies(sock: socket.socket, *methods: str) -> list[tuple[int, bytes]]:
    """Read one reply to each, and no byte more."""
    found = []
    for method in methods:
        reply = HTTPResponse(sock, method=method)
        reply.fp.close()
        reply.fp = sock.makefile("rb", buffering=0)  # type: ignore[assignment]
        reply.begin()
        found.append((reply.status, reply.read()))
    return found


def refused(server: Server, request: bytes) -> int:
    """Send it, and return how it was refused before the connection was closed."""
    with server.connect() as sock:
        sock.sendall(request)
        ((status, _),) = replies(sock, "GET")
        assert sock.recv(1) == b"", "it goes on"
        return status


def test_a_connection_serves_many_requests(server: Server) -> None:
    client = server.client()
    assert [get(client) for _ in range(3)] == [(200, HELLO)] * 3
    client.close()


def test_two_forks_of_a_scope_call_at_once(server: Server) -> None:
    status, body = server.get("/parallel")
    first, *halves = body.decode().splitlines()
    assert (status, len(halves)) == (200, 2)
    assert all(half.endswith(HELLO.decode().strip()) for half in halves), halves
    where, number = first.removeprefix("handler on ").split()
    if "steal" not in str(server.process.args):
        assert all(f"on {where} {number}:" in half for half in halves)


def test_pipelined_requests_are_answered_in_order(server: Server) -> None:
    with server.connect() as sock:
        head = b"HEAD / HTTP/1.1\r\nHost: here\r\n\r\n"
        sock.sendall(GET % b"/" + GET % b"/none" + head + (GET % b"/?again") * 5)
        found = replies(sock, "GET", "GET", "HEAD", *["GET"] * 5)
    assert [status for status, _ in found] == [200, 404, 200] + [200] * 5
    assert [body for _, body in found[2:]] == [b""] + [HELLO] * 5


def test_a_chunked_body_is_read_whole(server: Server) -> None:
    client = server.client()
    for _ in range(2):
        parts = iter([b"a" * 5000, b"b", b"GET /none HTTP/1.1\r\n\r\n"])
        client.request("POST", "/", body=parts, encode_chunked=True,
                       headers={"Transfer-Encoding": "chunked"})  # fmt: skip
        reply = client.getresponse()
        assert (reply.status, reply.read()) == (200, HELLO)
    client.close()


def test_a_head_has_no_body(server: Server) -> None:
    client = server.client()
    client.request("HEAD", "/")
    reply = client.getresponse()
    assert (reply.status, reply.read()) == (200, b"")
    assert int(reply.headers["Content-Length"]) == len(HELLO)
    assert get(client) == (200, HELLO)
    client.close()


def test_what_is_not_there_and_what_is_not_allowed(server: Server) -> None:
    client = server.client()
    assert get(client, "/none")[0] == 404
    client.request("DELETE", "/")
    reply = client.getresponse()
    assert (reply.status, bool(reply.read())) == (405, True)
    assert get(client) == (200, HELLO)
    client.close()


@pytest.mark.parametrize(
    "request_",
    [
        b"HELLO\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["no request", "TLS", "version", "header", "length", "both lengths", "chunk"],
)
def test_what_is_not_http_is_refused_and_closed(server: Server, request_: bytes) -> None:
    assert refused(server, request_) == 400
    assert server.get() == (200, HELLO)


def test_headers_may_be_large_but_not_endless(server: Server) -> None:
    client = server.client()
    client.request("GET", "/", headers={f"X-{n}": "x" * 1000 for n in range(12)})
    assert client.getresponse().read() == HELLO
    client.close()
    large = b"".join(b"X-%d: %b\r\n" % (n, b"x" * 1000) for n in range(40))
    assert refused(server, b"GET / HTTP/1.1\r\n" + large) == 431


def test_who_has_closed_its_half_is_answered(server: Server) -> None:
    with server.connect() as sock:
        sock.sendall(GET % b"/" + GET % b"/parallel")
        sock.shutdown(socket.SHUT_WR)
        assert [status for status, _ in replies(sock, "GET", "GET")] == [200, 200]
        assert sock.recv(1) == b""


def test_old_clients_and_those_that_say_close_are_closed(server: Server) -> None:
    for request in (b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"):
        assert refused(server, request) == 200


def test_resets_in_the_middle_harm_nobody_else(server: Server) -> None:
    whole = GET % b"/parallel"
    for size in (0, 1, 20, len(whole), len(whole)):
        sock = server.connect()
        sock.sendall(whole[:size])
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    assert server.get() == (200, HELLO)


def test_a_slow_client_is_waited_for(server: Server) -> None:
    with server.connect() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n":
            sock.sendall(bytes([byte]))
            assert server.get("/none")[0] == 404  # the others are not kept waiting
        assert replies(sock, "POST") == [(200, HELLO)]


def test_other_clients_agree(server: Server) -> None:
    url = f"http://127.0.0.1:{server.port}"
    with urllib.request.urlopen(f"{url}/", timeout=serving.PATIENCE_S) as reply:
        assert reply.read() == HELLO
    with pytest.raises(urllib.error.HTTPError, match="404") as caught:
        urllib.request.urlopen(f"{url}/none", timeout=serving.PATIENCE_S)
    caught.value.close()
    if curl := shutil.which("curl"):
        command = [curl, "-s", f"{url}/", f"{url}/?2", "-d", "body", "-H", "Expect: 100-continue"]
        assert subprocess.check_output(command, timeout=serving.PATIENCE_S) == HELLO * 2


def test_make_knows_how_to_build_the_examples() -> None:
    command = ["make", "-n", "examples", "SAN=thread", "EXAMPLES_OUT=build/none"]
    said = subprocess.check_output(command, cwd=locations.sources(), text=True)
    assert all(f"-o build/none/{program}" in said for program in ("backend", "echo_server"))
