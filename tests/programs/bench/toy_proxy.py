# SPDX-License-Identifier: Apache-2.0
"""Stands in for a server and for its backend: it answers by itself, as --how says.

It counts as the real ones do, and prints one line of JSON when it is ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
STALLS_AT, STALL_S = 100, 0.3


class Toy(asyncio.Protocol):
    requests = 0
    how = "answers"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, _data: bytes) -> None:
        Toy.requests += 1
        if Toy.how == "stalls" and Toy.requests == STALLS_AT:
            time.sleep(STALL_S)  # all requests wait, on purpose
        if Toy.how == "refuses":
            self.transport.write(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
        elif Toy.how == "closes" and Toy.requests % 10 == 0:
            self.transport.close()
        elif Toy.how == "in parts":
            self.transport.write(ANSWER[:20])
            asyncio.get_running_loop().call_later(0.01, self.transport.write, ANSWER[20:])
        elif Toy.how != "is silent":
            self.transport.write(ANSWER)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--how", default="answers")
    Toy.how = parser.parse_known_args()[0].how
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    server = await loop.create_server(Toy, "127.0.0.1", 0, backlog=1024)
    print(f"listening on 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await ended.wait()
    counted = {"requests": Toy.requests, "looks": 10, "events": 20, "sleeps": 8, "wakeups": 4}
    print(json.dumps({**counted, "parks": 0, "depth_most": 3, "mode": "toy"}))


asyncio.run(main())
