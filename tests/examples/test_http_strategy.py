# SPDX-License-Identifier: Apache-2.0
"""Strategies that drive selectors: strategy_server.h; Guard.tla, Strategy.tla.

The backend is this test: it sees a request, and replies when all threads of the server wait.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from tests.examples.test_http import GET, replies
from tests.support import serving
from tests.support.cases import COMPILES
from tests.support.serving import HELLO, PATIENCE_S, Server

from wakeproof.bench.web.servers import OURS, Programs, Setup, command, modes

pytestmark = COMPILES
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(HELLO), HELLO)
STRATEGIES = ("produce-consume", "produce-execute-consume", "execute-produce-consume", "adaptive")
HANDING = STRATEGIES[1:]
TWIN = "-DWP_TWIN_strategy_server_{}=1"
NEVER_S = 2  # how long a twin has for what it never does


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("strategy")


@contextmanager
def asked(
    folder: Path, strategy: str, *more: object
) -> Iterator[tuple[Server, socket.socket, socket.socket]]:
    """Start a server; return it, its backend's listener, and a client that came while it slept."""
    with socket.create_server(("127.0.0.1", 0)) as backend:
        backend.settimeout(PATIENCE_S)
        options = ("--mode", "strategy", "--strategy", strategy, "--stats", *more)
        given = serving.echo(folder, "unified", backend.getsockname()[1], *options)
        with given as server:
            await_sleep(server)
            with server.connect() as client:
                yield server, backend, client


def heard(line: socket.socket) -> None:
    """Read a request, as the backend."""
    line.settimeout(PATIENCE_S)
    said = b""
    while not said.endswith(b"\r\n\r\n"):
        part = line.recv(1000)
        assert part, "the server has closed it"
        said += part


def threads(server: Server) -> list[tuple[str, ...]]:
    found = []
    for status in sorted(Path(f"/proc/{server.process.pid}/task").glob("*/status")):
        lines = dict(line.split(":\t") for line in status.read_text().splitlines() if ":\t" in line)
        found.append((lines["Pid"], lines["State"][0], lines["voluntary_ctxt_switches"]))
    return found


def await_sleep(server: Server) -> None:
    """Return when all its threads wait: none has run from one look to the next."""
    until, before = time.monotonic() + PATIENCE_S, []
    while True:
        now = threads(server)
        if now == before and all(state == "S" for _, state, _ in now):
            return
        assert time.monotonic() < until, now
        before = now


def end(server: Server) -> None:
    server.process.kill()
    server.process.wait()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_selector_that_sleeps_hears_of_updates(folder: Path, strategy: str) -> None:
    with asked(folder, strategy) as (server, backend, client):
        client.sendall(GET % b"/")
        line, _ = backend.accept()
        with line:
            for _ in range(3):
                heard(line)
                await_sleep(server)
                line.sendall(REPLY)
                assert replies(client, "GET") == [(200, HELLO)]
                await_sleep(server)
                client.sendall(GET % b"/")
            heard(line)
            line.sendall(REPLY)
            assert replies(client, "GET") == [(200, HELLO)]
    counts = server.counts
    tasks = [counts[how] for how in ("consumed", "tagged", "executed", "handed_over")]
    assert (counts["requests"], counts["accepted"]) == (4, 1)
    assert sum(tasks) == counts["events"] >= 4
    assert 0 < counts["wakeups"] <= counts["sleeps"] <= counts["looks"]
    if strategy in HANDING:  # its join, and three reads
        assert counts["wakeups"] >= 4


def test_an_update_that_wakes_nobody_is_seen(folder: Path) -> None:
    with asked(folder, "adaptive", TWIN.format("unwoken")) as (server, backend, client):
        client.sendall(GET % b"/")
        backend.settimeout(NEVER_S)
        with pytest.raises(TimeoutError):
            backend.accept()
        end(server)


@pytest.mark.parametrize("strategy", HANDING)
def test_a_client_has_one_task_at_a_time(folder: Path, strategy: str) -> None:
    with asked(folder, strategy) as (server, backend, client):
        client.sendall(GET % b"/")
        line, _ = backend.accept()
        with line:
            heard(line)
            client.sendall(GET % b"/")
            assert server.get("/none")[0] == 404  # the selector has looked since then
            await_sleep(server)
            backend.settimeout(0)
            with pytest.raises(BlockingIOError):
                backend.accept()
            line.sendall(REPLY)
            assert replies(client, "GET") == [(200, HELLO)]
            heard(line)
            line.sendall(REPLY)
            assert replies(client, "GET") == [(200, HELLO)]


def test_a_client_that_is_armed_early_is_seen(folder: Path) -> None:
    with asked(folder, "adaptive", TWIN.format("arms_early")) as (server, backend, client):
        client.sendall(GET % b"/")
        line, _ = backend.accept()
        with line:
            heard(line)
            client.sendall(GET % b"/")
            backend.accept()[0].close()
            end(server)


KINDS = {
    ("produce-consume", "blocking"): "consumed",
    ("produce-execute-consume", "blocking"): "executed",
    ("produce-execute-consume", "non-blocking"): "consumed",
    ("execute-produce-consume", "non-blocking"): "consumed",
    ("adaptive", "non-blocking"): "consumed",
    ("adaptive", "blocking"): "executed",  # no thread is reserved of two
    ("adaptive", "either"): "tagged",
}


@pytest.mark.parametrize(("strategy", "kind"), KINDS)
def test_tasks_are_run_as_strategy_and_kind_say(folder: Path, strategy: str, kind: str) -> None:
    with asked(folder, strategy, "--kind", kind, "--threads", 2) as (server, backend, client):
        client.sendall(GET % b"/")
        line, _ = backend.accept()
        with line:
            heard(line)
            line.sendall(REPLY)
            assert replies(client, "GET") == [(200, HELLO)]
    assert server.counts[KINDS[strategy, kind]] == server.counts["events"] > 0


def flood(client: socket.socket, server: Server) -> None:
    """Send requests until neither side takes more."""
    one, at, is_full = GET % b"/none", 0, False
    client.settimeout(0)
    while True:
        try:
            at = (at + client.send((one * 1000)[at:])) % len(one)
            is_full = False
        except BlockingIOError:
            if is_full:
                return
            await_sleep(server)
            is_full = True


def test_who_does_not_read_holds_up_nobody_else(folder: Path) -> None:
    with asked(folder, "adaptive", "--kind", "either", "--threads", 2) as (server, _, client):
        flood(client, server)
        assert server.get("/none")[0] == 404
        client.close()


def send_on(client: socket.socket) -> NoReturn:
    while True:
        client.sendall(b"more")


def test_who_lingers_is_closed(folder: Path) -> None:
    with asked(folder, "adaptive") as (_, _, client):
        client.sendall(b"HELLO\r\n\r\n")
        assert replies(client, "GET")[0][0] == 400
        with pytest.raises(ConnectionError):
            send_on(client)


def test_a_pool_with_no_thread_for_tasks_is_refused(folder: Path) -> None:
    with pytest.raises(AssertionError), asked(folder, "adaptive", "--carriers", 2, "--threads", 2):
        pass


@pytest.mark.parametrize("mode", OURS)
def test_the_bench_gives_each_mode_options_that_it_takes(folder: Path, mode: str) -> None:
    ours = modes(Path(serving.compiled(folder, "echo_server", "plain")[-1]))
    setup = Setup(mode, stealing=True)
    given = command(Programs(folder, folder, ours), setup, "127.0.0.1:1", 2)
    with serving.running(given + ["--trace-depth"] * setup.has_queues) as server:
        assert server.get("/none")[0] == 404
    assert (server.counts["mode"], server.counts["requests"]) == (mode, 1)
