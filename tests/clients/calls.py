# SPDX-License-Identifier: Apache-2.0
"""Many calls at once by an unmodified client library, in virtual threads of one carrier.

  python calls.py requests PORT --threads 200 --seconds 0.05

Each thread makes a connection and a first call; when all have, each makes its call, which the
server answers after --seconds.  It prints JSON: how long that took, the answers, and at most how
many calls the server had at a time, by the server's clock.  `--kind os` makes OS threads, and
`--kind plain` virtual threads without `wakeproof.install`, which is the defect that tests expect.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

Answer = tuple[str, float, float]  # the token, when the server began, and when it ended
Call = Callable[[float, int], Answer]  # seconds, token


def answer(parsed: dict[str, Any]) -> Answer:
    """Return what the HTTP server said."""
    return parsed["token"], parsed["began"], parsed["ended"]


def requests(port: int) -> Callable[[], Call]:
    """A session for each thread."""
    import requests

    def connect() -> Call:
        session = requests.Session()

        def call(seconds: float, token: int) -> Answer:
            return answer(session.get(f"http://127.0.0.1:{port}/{seconds}/{token}").json())

        return call

    return connect


def urllib3(port: int) -> Callable[[], Call]:
    """One pool of connections for all threads, as large as the threads are many."""
    import urllib3

    pool = urllib3.HTTPConnectionPool("127.0.0.1", port, maxsize=300, block=True)

    def call(seconds: float, token: int) -> Answer:
        return answer(pool.request("GET", f"/{seconds}/{token}").json())

    return lambda: call


def httpx(port: int) -> Callable[[], Call]:
    """One client for all threads."""
    import httpx

    limits = httpx.Limits(max_connections=300, max_keepalive_connections=300)
    client = httpx.Client(limits=limits, timeout=30)

    def call(seconds: float, token: int) -> Answer:
        return answer(client.get(f"http://127.0.0.1:{port}/{seconds}/{token}").json())

    return lambda: call


def urllib_request(port: int) -> Callable[[], Call]:
    """The standard library, a connection a call."""
    from urllib.request import urlopen

    def call(seconds: float, token: int) -> Answer:
        with urlopen(f"http://127.0.0.1:{port}/{seconds}/{token}") as reply:
            return answer(json.load(reply))

    return lambda: call


def redis(port: int) -> Callable[[], Call]:
    """One client for all threads; BLPOP waits in the server."""
    import redis

    client = redis.Redis("127.0.0.1", port, socket_timeout=30, max_connections=300)

    def call(seconds: float, token: int) -> Answer:
        began = time.time()
        if seconds:
            assert client.blpop([f"nothing:{token}"], seconds) is None
        value = client.echo(str(token))
        return value.decode(), began, time.time()

    return lambda: call


def pg8000(port: int) -> Callable[[], Call]:
    """A connection for each thread."""
    import pg8000.native

    def connect() -> Call:
        connection = pg8000.native.Connection("tester", "127.0.0.1", "postgres", port)

        def call(seconds: float, token: int) -> Answer:
            [[said, began, ended]] = connection.run(POSTGRES, token=str(token), seconds=seconds)
            return said, float(began), float(ended)

        return call

    return connect


POSTGRES = """
    SELECT a.token, a.began, extract(epoch FROM clock_timestamp()) FROM (
      SELECT CAST(:token AS text) AS token, extract(epoch FROM clock_timestamp()) AS began,
             pg_sleep(:seconds) AS slept OFFSET 0) a WHERE a.slept IS NOT NULL"""


def psycopg(port: int) -> Callable[[], Call]:
    """A connection for each thread."""
    import psycopg

    statement = POSTGRES.replace(":token", "%(token)s").replace(":seconds", "%(seconds)s")

    def connect() -> Call:
        connection = psycopg.connect(
            f"host=127.0.0.1 port={port} user=tester dbname=postgres", autocommit=True
        )

        def call(seconds: float, token: int) -> Answer:
            found = connection.execute(statement, {"token": str(token), "seconds": seconds})
            said, began, ended = found.fetchone()  # type: ignore[misc]
            return said, float(began), float(ended)

        return call

    return connect


def pymysql(port: int) -> Callable[[], Call]:
    """A connection for each thread."""
    import pymysql

    def connect() -> Call:
        connection = pymysql.connect(host="127.0.0.1", port=port, user="tester")

        def call(seconds: float, token: int) -> Answer:
            with connection.cursor() as cursor:
                cursor.execute(MARIADB, (str(token), seconds))
                said, began, _, ended = cursor.fetchone()
                return said, float(began), float(ended)

        return call

    return connect


MARIADB = "SELECT %s, unix_timestamp(now(6)), sleep(%s), unix_timestamp(sysdate(6))"


def grpc(port: int) -> Callable[[], Call]:
    """One channel for all threads; `future` waits in Python."""
    multi = grpc_method(port)

    def call(seconds: float, token: int) -> Answer:
        return answer(json.loads(multi.future(f"{seconds}/{token}".encode()).result()))

    return lambda: call


def grpc_blocking(port: int) -> Callable[[], Call]:
    """One channel for all threads; a plain call waits in C."""
    multi = grpc_method(port)

    def call(seconds: float, token: int) -> Answer:
        return answer(json.loads(multi(f"{seconds}/{token}".encode())))

    return lambda: call


def grpc_offloaded(port: int) -> Callable[[], Call]:
    """As `grpc_blocking`, but in helper threads of wakeproof."""
    from wakeproof import io

    multi = grpc_method(port)

    def call(seconds: float, token: int) -> Answer:
        return answer(json.loads(io.offload(multi, f"{seconds}/{token}".encode())))

    return lambda: call


def grpc_method(port: int) -> Any:
    """Return the method of the server in grpc_server.py."""
    import grpc

    return grpc.insecure_channel(f"127.0.0.1:{port}").unary_unary("/late/answer")


def most_at_once(spans: Iterable[tuple[float, float]]) -> int:
    """Return how many spans of time overlap at most."""
    edges = sorted(edge for began, ended in spans for edge in ((began, 1), (ended, -1)))
    most = now = 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most


def start_os(body: Callable[[], None]) -> Callable[[], object]:
    """Start an OS thread; return what waits for it."""
    thread = threading.Thread(target=body)
    thread.start()
    return thread.join


def starter(kind: str) -> Callable[[Callable[[], None]], Callable[[], object]]:
    """Return a function that starts a thread and returns what waits for it."""
    if kind == "os":
        return start_os
    import wakeproof

    if kind == "virtual":
        wakeproof.install()
    group = wakeproof.CarrierGroup(1)
    return lambda body: wakeproof.VirtualThread(body, group=group).start().result


def main() -> None:
    """Make the calls and print what came of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("client")
    parser.add_argument("port", type=int)
    parser.add_argument("--kind", choices=("virtual", "os", "plain"), default="virtual")
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.05)
    options = parser.parse_args()
    start = starter(options.kind)
    connect = globals()[options.client](options.port)
    calls: dict[int, Call] = {}
    answers: dict[int, Answer] = {}

    def prepare(token: int) -> None:
        calls[token] = connect()
        calls[token](0, token)

    def work(token: int) -> None:
        answers[token] = calls[token](options.seconds, token)

    def all_of(body: Callable[[int], None]) -> float:
        began = time.perf_counter()
        waits = [start(lambda token=token: body(token)) for token in range(options.threads)]  # type: ignore[misc]
        for wait in waits:
            wait()
        return time.perf_counter() - began

    connecting_s = all_of(prepare)
    seconds = all_of(work)
    right = sum(answers.get(token, ("",))[0] == str(token) for token in range(options.threads))
    most = most_at_once((began, ended) for _, began, ended in answers.values())
    json.dump(
        {"seconds": seconds, "connecting_s": connecting_s, "right": right, "most": most}, sys.stdout
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
