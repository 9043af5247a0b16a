# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 for echo_server.py: requests of a connection, and calls to a backend, by httptools."""

from __future__ import annotations

import contextlib
import errno
from collections import deque
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING

import httptools

from wakeproof import io

if TYPE_CHECKING:
    import wakeproof

HEAD_MOST = 16384  # bytes of target and headers of one request
CALL_PATIENCE_S = 60.0  # the time limit of a call to the backend


class TooLargeError(Exception):
    """The target and headers of a request have more than HEAD_MOST bytes."""


@dataclass
class Request:
    """A complete request."""

    method: bytes
    target: bytes
    keeps_alive: bool


@dataclass
class Requests:
    """The requests that the parser of one connection has found; httptools calls on_*."""

    target: bytes = b""
    head_bytes: int = 0
    is_begun: bool = False
    complete: deque[Request] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.parser = httptools.HttpRequestParser(self)

    def on_message_begin(self) -> None:
        """Begin a new request."""
        self.target, self.head_bytes, self.is_begun = b"", 0, True

    def on_url(self, part: bytes) -> None:
        """Add a part to the target."""
        self.target += part
        self.count(len(part))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the bytes of a header."""
        self.count(len(name) + len(value))

    def on_message_complete(self) -> None:
        """Add the request to those that are complete."""
        method, keeps_alive = self.parser.get_method(), self.parser.should_keep_alive()
        self.complete.append(Request(method, self.target, keeps_alive))
        self.is_begun = False

    def count(self, size: int) -> None:
        """Count bytes of target and headers, and refuse more than HEAD_MOST."""
        self.head_bytes += size
        if self.head_bytes > HEAD_MOST:
            raise TooLargeError

    def feed(self, data: bytes) -> HTTPStatus | None:
        """Parse `data`; return the status with which to refuse it, or None if it is valid."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserCallbackError:
            return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return HTTPStatus.BAD_REQUEST
        return None


@dataclass
class Reply:
    """A reply of the backend, while httptools parses it."""

    body: bytes = b""
    is_complete: bool = False

    def on_body(self, part: bytes) -> None:
        """Add a part to the body."""
        self.body += part

    def on_message_complete(self) -> None:
        """Note that the reply is complete."""
        self.is_complete = True


class Backend:
    """Calls a backend over kept connections; each carrier has connections of its own."""

    def __init__(self, address: tuple[str, int], group: wakeproof.CarrierGroup) -> None:
        self.address, self.group = address, group
        self.idle: dict[int, list[io.Socket]] = {home.index: [] for home in group}

    def get(self) -> tuple[int, bytes]:
        """Return the status and the body of a call; if it fails, 502 and the reason."""
        try:
            return self.exchanged()
        except (OSError, httptools.HttpParserError) as error:
            return HTTPStatus.BAD_GATEWAY, f"the backend: {error}\n".encode()

    def exchanged(self) -> tuple[int, bytes]:
        """Make a call over a kept connection, or over a new one if no kept one works.

        Raises:
            OSError: there is no backend, or the connection breaks.
            httptools.HttpParserError: the reply is not HTTP.
        """
        home = self.group.home()
        assert home is not None
        idle = self.idle[home.index]
        while idle:
            with contextlib.suppress(ConnectionError):
                return self.exchange(idle.pop(), idle)
        return self.exchange(io.create_connection(self.address, CALL_PATIENCE_S), idle)

    @staticmethod
    def exchange(sock: io.Socket, idle: list[io.Socket]) -> tuple[int, bytes]:
        """Make one call, and keep the connection if another call may follow."""
        reply, is_kept = Reply(), False
        parser = httptools.HttpResponseParser(reply)
        try:
            sock.sendall(b"GET /x HTTP/1.1\r\nHost: backend\r\n\r\n")
            while not reply.is_complete:
                data = sock.recv(4096)
                if not data:
                    raise ConnectionResetError(errno.ECONNRESET, "it has closed the connection")
                parser.feed_data(data)
            is_kept = parser.should_keep_alive()
        finally:
            if is_kept:
                idle.append(sock)
            else:
                sock.close()
        return parser.get_status_code(), reply.body
