# SPDX-License-Identifier: Apache-2.0
"""Servers that send back what they receive, beside one another: what a receive and a send cost.

``echo.py echo SIDE ECHOES`` prints, as JSON, nanoseconds of the server's CPU time for each echo of
64 bytes over 1,000 connections (``ns``), thousands of echoes a second by the clock (``rate``), and
the percentage of that time that the client computed (``client``; near 100 the client is the limit).
Each connection has a message under way all the time.  The server is a process of its own.

SIDE: ``ours`` (sockets of wakeproof.io), ``coroutines`` (the same in coroutine functions),
``installed`` (the code of ``threads`` after `wakeproof.install`), ``threads`` (an OS thread for
each connection), ``gevent``, ``asyncio``, ``aio`` (our event loop) and ``uvloop`` (streams),
``protocol`` and ``aio_protocol`` (a protocol of uvloop, and of our event loop).
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from loops import loop_of

CONNECTIONS, SIZE, MOST = 1000, 64, 65_536
HOST = "127.0.0.1"
WARM_UP = 5  # echoes of each connection


def serving(port: int) -> None:
    """Tell the client where to connect."""
    print(port, flush=True)


def echo(sock: Any) -> None:
    """Send back what a blocking socket receives."""
    with sock:
        while data := sock.recv(MOST):
            sock.sendall(data)


def ours() -> None:
    """Serve with a virtual thread for each connection, on one carrier."""
    from wakeproof import CarrierGroup, VirtualThread, io

    def serve() -> None:
        while True:
            VirtualThread(echo, listener.accept()[0]).start()

    group = CarrierGroup(1)
    listener = io.create_server((HOST, 0), backlog=CONNECTIONS, group=group)
    serving(listener.getsockname()[1])
    VirtualThread(serve, group=group).start().join()


def coroutines() -> None:
    """Serve with a coroutine function for each connection, on one carrier."""
    from wakeproof import CarrierGroup, VirtualThread, coroutine, io

    async def echo(sock: io.Socket) -> None:
        with sock:
            while data := await coroutine.recv(sock, MOST):
                await coroutine.sendall(sock, data)

    async def serve() -> None:
        while True:
            VirtualThread(echo, (await coroutine.accept(listener))[0]).start()

    group = CarrierGroup(1)
    listener = io.create_server((HOST, 0), backlog=CONNECTIONS, group=group)
    serving(listener.getsockname()[1])
    VirtualThread(serve, group=group).start().join()


def threads() -> None:
    """Serve with a thread of `threading` for each connection."""

    def serve() -> None:
        while True:
            threading.Thread(target=echo, args=listener.accept()[:1], daemon=True).start()

    listener = socket.create_server((HOST, 0), backlog=CONNECTIONS)
    serving(listener.getsockname()[1])
    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()


def installed() -> None:
    """Serve with the same, which are virtual threads of one carrier."""
    os.environ["WAKEPROOF_CARRIERS"] = "1"
    from wakeproof import install

    install(threads="virtual")
    threads()


def gevent() -> None:
    """Serve with a greenlet for each connection."""
    from gevent.server import StreamServer

    server = StreamServer((HOST, 0), lambda sock, _: echo(sock), backlog=CONNECTIONS)
    server.start()
    serving(server.server_port)
    server.serve_forever()


async def streams() -> None:
    """Serve with a task for each connection."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(MOST):
            writer.write(data)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, HOST, 0, backlog=CONNECTIONS)
    serving(server.sockets[0].getsockname()[1])
    await server.serve_forever()


class Echo(asyncio.Protocol):
    """Sends back what it receives, without a task."""

    def connection_made(self, transport: Any) -> None:
        """Keep what sends."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Send it back."""
        self.transport.write(data)


async def protocols() -> None:
    """Serve with an object for each connection."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Echo, HOST, 0, backlog=CONNECTIONS)
    serving(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def with_loop(side: str, main: Callable[[], Any]) -> None:
    """Run `main` with the event loop of a side."""
    with asyncio.Runner(loop_factory=lambda: loop_of(side)) as runner:
        runner.run(main())


SERVERS: dict[str, Callable[[], None]] = {
    "ours": ours, "coroutines": coroutines, "installed": installed, "threads": threads,
    "gevent": gevent, "asyncio": lambda: with_loop("asyncio", streams),
    "uvloop": lambda: with_loop("uvloop", streams), "aio": lambda: with_loop("ours", streams),
    "protocol": lambda: with_loop("uvloop", protocols),
    "aio_protocol": lambda: with_loop("ours", protocols),
}  # fmt: skip


def raise_limit() -> None:
    """Allow as many descriptors as this process may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def cpu_ns(pid: int) -> int:
    """Return the CPU time of a process, by its clock (clock_getcpuclockid(3))."""
    return time.clock_gettime_ns(~pid << 3 | 2)


def echoes(socks: list[socket.socket], data: bytes, each: int) -> None:
    """Let each connection, which has a message under way, echo so many.

    Raises:
        ValueError: a server sent back something else.
    """
    for _ in range(each):
        for sock in socks:
            if sock.recv(len(data), socket.MSG_WAITALL) != data:
                raise ValueError("the server did not send back what it received")
            sock.send(data)


def measure(side: str, ops: int, connections: int = CONNECTIONS) -> dict[str, float]:
    """Return what the server took for `ops` echoes over so many connections."""
    command = [sys.executable, __file__, "serve", side]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            address, each = (HOST, int(server.stdout.readline())), ops // connections
            socks = [socket.create_connection(address) for _ in range(connections)]
            data = os.urandom(SIZE)
            for sock in socks:
                sock.send(data)
            echoes(socks, data, WARM_UP)
            begun, cpu, own = time.perf_counter_ns(), cpu_ns(server.pid), time.process_time_ns()
            echoes(socks, data, each)
            own, cpu = time.process_time_ns() - own, cpu_ns(server.pid) - cpu
            took = time.perf_counter_ns() - begun
            for sock in socks:
                sock.recv(SIZE, socket.MSG_WAITALL)
                sock.close()
        finally:
            server.kill()
    made = each * connections
    return {"ns": cpu / made, "rate": made / took * 1e6, "client": 100 * own / took}


if __name__ == "__main__":
    raise_limit()
    if sys.argv[1] == "serve":
        SERVERS[sys.argv[2]]()
    else:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
