# SPDX-License-Identifier: Apache-2.0
"""Event loops of asyncio serve HTTP: ours, the standard library's, and uvloop's.

``plaintext.py http_ROW SIDE REQUESTS`` prints nanoseconds of the server's CPU time for each request
of a short text, over 100 connections that stay.  Each has a request under way all the time.  ROW:
``protocol`` (an `asyncio.Protocol` that looks for the end of a request), ``aiohttp`` (a handler of
aiohttp).  The server is a process of its own.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from echo import CONNECTIONS, HOST, WARM_UP, cpu_ns, raise_limit, serving, with_loop

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n"
BODY = b"Hello, World!"
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)
END = b"\r\n\r\n"


class Plaintext(asyncio.Protocol):
    """Answers each request, whatever it asks for."""

    rest = b""

    def connection_made(self, transport: Any) -> None:
        """Keep what sends."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Send as many answers as requests have ended."""
        data = self.rest + data
        if requests := data.count(END):
            self.transport.write(RESPONSE * requests)
        self.rest = data[data.rfind(END) + len(END) :] if requests else data


async def protocol() -> None:
    """Serve with an object for each connection."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Plaintext, HOST, 0, backlog=CONNECTIONS)
    serving(server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def aiohttp() -> None:
    """Serve with aiohttp."""
    from aiohttp import web

    async def hello(_: web.Request) -> web.Response:
        return web.Response(body=BODY, content_type="text/plain")

    app = web.Application()
    app.router.add_get("/", hello)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0, backlog=CONNECTIONS).start()
    serving(runner.addresses[0][1])
    await asyncio.Event().wait()


SERVERS: dict[str, Callable[[], Awaitable[None]]] = {"protocol": protocol, "aiohttp": aiohttp}


def requests(socks: list[socket.socket], each: int) -> None:
    """Let each connection, which has a request under way, have so many answered.

    Raises:
        ValueError: a server sent something else.
    """
    for _ in range(each):
        for sock in socks:
            answer = sock.recv(4096)
            while answer and not answer.endswith(BODY):
                answer += sock.recv(4096)
            if not answer.startswith(b"HTTP/1.1 200 OK\r\n"):
                raise ValueError(f"the server answered {answer!r}")
            sock.send(REQUEST)


def measure(row: str, side: str, ops: int, connections: int = 100) -> float:
    """Return what the server took for each of `ops` requests over so many connections."""
    command = [sys.executable, __file__, "serve", row, side]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            address = HOST, int(server.stdout.readline())
            socks = [socket.create_connection(address) for _ in range(connections)]
            for sock in socks:
                sock.send(REQUEST)
            requests(socks, WARM_UP)
            begun, each = cpu_ns(server.pid), ops // connections
            requests(socks, each)
            took = cpu_ns(server.pid) - begun
            for sock in socks:
                sock.close()
        finally:
            server.kill()
    return took / (each * connections)


if __name__ == "__main__":
    raise_limit()
    if sys.argv[1] == "serve":
        with_loop(sys.argv[3], SERVERS[sys.argv[2]])
    else:
        print(measure(sys.argv[1].removeprefix("http_"), sys.argv[2], int(sys.argv[3])))
