# SPDX-License-Identifier: Apache-2.0
"""Unmodified client libraries against real servers, in 200 virtual threads of one carrier.

``make clients`` fetches the libraries, by versions and hashes, and runs this.  A library or server
that is not there is a named skip.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.clients import servers
from tests.support.running import run

PACKAGES = servers.PACKAGES
CALLS = Path(__file__).with_name("calls.py")
THREADS = 200
HELD_S = 3.0  # a call, where all of them shall be in the server at a time
SHORT_S = 0.05
SERVERS = {
    "requests": servers.web, "urllib3": servers.web, "httpx": servers.web,
    "urllib_request": servers.web, "redis": servers.redis, "pg8000": servers.postgres,
    "psycopg": servers.postgres, "pymysql": servers.mariadb, "grpc": servers.grpc,
}  # fmt: skip
OF_OUR_OWN = {"urllib_request": ""}  # in the standard library
pytestmark = pytest.mark.slow
Started = Callable[[Callable[[], AbstractContextManager[int]]], int]


@dataclass(frozen=True)
class Came:
    """What calls.py has measured."""

    seconds: float
    connecting_s: float
    right: int
    most: int


@pytest.fixture(scope="module")
def started() -> Iterator[Started]:
    """Start a server when it is first asked for, until the module's tests are done."""
    ports: dict[object, int] = {}
    with ExitStack() as stack:

        def port(server: Callable[[], AbstractContextManager[int]]) -> int:
            if server not in ports:
                try:
                    ports[server] = stack.enter_context(server())
                except servers.NoServerError as error:
                    pytest.skip(str(error))
            return ports[server]

        yield port


def calls(client: str, port: int, *, threads: int, seconds: float, kind: str = "virtual") -> Came:
    """Run calls.py."""
    needs(client)
    flags = ["--threads", str(threads), "--seconds", str(seconds), "--kind", kind]
    done = run([sys.executable, CALLS, client, str(port), *flags], PYTHONPATH=str(PACKAGES))
    assert done.returncode == 0, done.stderr[-4000:]
    print(client, kind, threads, seconds, done.stdout, done.stderr)
    return Came(**json.loads(done.stdout))


def needs(client: str) -> None:
    """Skip the test if the library is not there."""
    package = OF_OUR_OWN.get(client, client.partition("_")[0])
    if package and not (PACKAGES / package).is_dir():
        pytest.skip(f"lacks {package}: run `make clients`, which fetches it")


@pytest.mark.parametrize("client", SERVERS)
def test_the_server_has_as_many_calls_at_a_time_as_there_are_threads(
    client: str, started: Started
) -> None:
    needs(client)
    came = calls(client, started(SERVERS[client]), threads=THREADS, seconds=HELD_S)
    assert (came.right, came.most) == (THREADS, THREADS)


@pytest.mark.parametrize("client", SERVERS)
def test_short_calls_do_not_wait_for_one_another(client: str, started: Started) -> None:
    needs(client)
    came = calls(client, started(SERVERS[client]), threads=THREADS, seconds=SHORT_S)
    assert came.right == THREADS
    assert came.seconds < THREADS * SHORT_S / 3  # 10 s if they did


@pytest.mark.parametrize("client", SERVERS)
def test_without_install_they_do(client: str, started: Started) -> None:
    needs(client)
    came = calls(client, started(SERVERS[client]), threads=5, seconds=0.2, kind="plain")
    assert (came.right, came.most) == (5, 1)
    assert came.seconds >= 1.0


def test_a_plain_call_of_grpc_blocks_because_it_waits_in_c(started: Started) -> None:
    needs("grpc")
    came = calls("grpc_blocking", started(servers.grpc), threads=5, seconds=0.2)
    assert (came.right, came.most) == (5, 1)


def test_a_plain_call_of_grpc_parks_in_offload(started: Started) -> None:
    needs("grpc")
    came = calls("grpc_offloaded", started(servers.grpc), threads=5, seconds=1.0)
    assert (came.right, came.most) == (5, 5)
