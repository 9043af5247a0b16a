# SPDX-License-Identifier: Apache-2.0
"""The proxy on uvloop: protocols with httptools, as fast servers in Python are written."""

from __future__ import annotations

import argparse
import asyncio
from collections import deque

import httptools
import uvloop

REQUEST = b"GET / HTTP/1.1\r\nHost: backend\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
BAD = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"


class Backend(asyncio.Protocol):
    """A kept connection: it has one request at a time, and gives the body to the client."""

    def __init__(self, idle: deque[Backend]) -> None:
        self.idle = idle
        self.client: Client | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.parser = httptools.HttpResponseParser(self)
        self.body = b""

    def ask(self, client: Client) -> None:
        self.client = client
        self.transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        client, self.client, body, self.body = self.client, None, self.body, b""
        self.idle.append(self)
        if client is not None:
            client.transport.write(HEAD % len(body) + body)

    def connection_lost(self, _error: Exception | None) -> None:
        if self in self.idle:
            self.idle.remove(self)
        if self.client is not None:
            self.client.transport.write(BAD)


class Client(asyncio.Protocol):
    """A connection of the load generator."""

    def __init__(self, idle: deque[Backend], host: str, port: int) -> None:
        self.idle, self.host, self.port = idle, host, port

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        if self.idle:
            self.idle.pop().ask(self)
        else:
            self.opening = asyncio.ensure_future(self.open())

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, made = await loop.create_connection(lambda: Backend(self.idle), self.host, self.port)
        except OSError:
            self.transport.write(BAD)
            return
        made.ask(self)


async def main() -> None:
    """Listen until the process is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--backend", required=True)
    chosen = parser.parse_args()
    host, _, port = chosen.backend.rpartition(":")
    idle: deque[Backend] = deque()
    server = await asyncio.get_running_loop().create_server(
        lambda: Client(idle, host, int(port)), "127.0.0.1", chosen.port, backlog=4096
    )
    print(f"listening on 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


uvloop.run(main())
