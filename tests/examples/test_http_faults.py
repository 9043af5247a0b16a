# SPDX-License-Identifier: Apache-2.0
"""The HTTP examples under failures, ends and overload: docs/guide/http.md.

Each fault has a twin: the same server with one defect, which the same test must see.
"""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPException
from pathlib import Path

import pytest
from tests.examples.test_http import GET, replies
from tests.support import serving
from tests.support.cases import COMPILES
from tests.support.running import run
from tests.support.serving import HELLO, VARIANTS, Server, get

pytestmark = COMPILES
TSAN_MOST = 5000  # "Thread limit (8128 threads) exceeded": fibers count as threads, too
WAVE = 2000  # requests at once; each also has a descriptor for the backend
# CPU in half a second: a spinning server has more even on a busy machine, a waiting one has none.
SPINS_S = 0.06
TWIN = "-DWP_TWIN_http_{}=1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("http")


@pytest.fixture(scope="module")
def backend(folder: Path) -> Iterator[Server]:
    command = serving.compiled(folder, "backend", "plain")
    with serving.running(command, "--think-ms", 1) as server:
        yield server


def outlives(folder: Path, variant: str, *more: str) -> list[int]:
    """Return the replies to one client while the backend is there, gone, and there again."""
    command = serving.compiled(folder, "backend", "plain")
    with ExitStack() as first, ExitStack() as stack:
        backend = first.enter_context(serving.running(command))
        server = stack.enter_context(serving.echo(folder, variant, backend.port, *more))
        client = stack.enter_context(closing(server.client()))
        said = [get(client)[0], get(client, "/parallel")[0]]
        first.close()
        said += [get(client)[0], get(client, "/parallel")[0]]
        again = stack.enter_context(serving.running(command, "--port", backend.port))
        said += [get(client)[0]]
        again.stop()
        stack.enter_context(serving.running(command, "--port", backend.port))
        return [*said, get(client)[0]]  # over a kept connection that the backend has closed


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_backend_may_die_and_come_back(folder: Path, variant: str) -> None:
    assert outlives(folder, variant) == [200, 200, 502, 502, 200, 200]


def test_a_kept_connection_that_is_told_as_failed_is_seen(folder: Path) -> None:
    assert outlives(folder, "unified", TWIN.format("stale_told"))[-1] == 502


def answered_at_the_end(folder: Path, variant: str, *more: str) -> list[tuple[int, bytes]]:
    """Ask on many connections, end the server, and return the replies."""
    command = serving.compiled(folder, "backend", "plain")
    with ExitStack() as stack:
        backend = stack.enter_context(serving.running(command, "--think-ms", 100))
        server = stack.enter_context(serving.echo(folder, variant, backend.port, *more))
        socks = [stack.enter_context(server.connect()) for _ in range(20)]
        for sock in socks:  # it has accepted them all
            sock.sendall(GET % b"/none")
            replies(sock, "GET")
        server.asked(socks, GET % b"/")
        server.stop()
        return [replies(sock, "GET")[0] for sock in socks]


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_was_asked_is_answered_before_the_end(folder: Path, variant: str) -> None:
    assert answered_at_the_end(folder, variant) == [(200, HELLO)] * 20


def test_an_end_that_drops_requests_is_seen(folder: Path) -> None:
    with pytest.raises((ConnectionError, HTTPException)):
        answered_at_the_end(folder, "unified", TWIN.format("stop_drops"))


@contextmanager
def exhausted(
    folder: Path, variant: str, backend: Server, *more: str
) -> Iterator[tuple[Server, list[socket.socket]]]:
    """Connect and ask more often than the server has descriptors."""
    with ExitStack() as stack:
        given = serving.echo(folder, variant, backend.port, *more, files=64)
        server = stack.enter_context(given)
        socks = [stack.enter_context(server.connect()) for _ in range(100)]
        for sock in socks:
            sock.sendall(GET % b"/none")
        yield server, socks


def cost_s(server: Server) -> float:
    """Return the CPU time of half a second."""
    before = server.cpu_s()
    time.sleep(0.5)  # the measured time
    return server.cpu_s() - before


@pytest.mark.parametrize("variant", ["unified", "reactive-address", "adaptive-thread", "python"])
def test_without_descriptors_it_waits_and_goes_on(
    folder: Path, variant: str, backend: Server
) -> None:
    with exhausted(folder, variant, backend) as (server, socks):
        assert replies(socks[0], "GET")[0][0] == 404
        assert cost_s(server) < SPINS_S
        socks.pop(0).close()
        for sock in socks:  # in the order in which it accepts
            assert replies(sock, "GET")[0][0] == 404
            sock.close()
        while server.get()[0] == 502:  # it closes the last of them gradually
            pass
        assert server.get() == (200, HELLO)


def test_an_acceptor_that_spins_is_seen(folder: Path, backend: Server) -> None:
    with exhausted(folder, "unified", backend, TWIN.format("accept_spins")) as (server, _):
        for _ in range(100):
            if cost_s(server) >= SPINS_S:
                server.process.kill()
                server.process.wait()
                return
    pytest.fail("it is not")


@pytest.mark.parametrize("variant", VARIANTS)
def test_many_connections_are_served(folder: Path, variant: str, backend: Server) -> None:
    is_traced = variant.endswith("-thread")
    many = int(os.environ.get("WAKEPROOF_CONNECTIONS", 200 if is_traced else 1000))
    many = min(many, TSAN_MOST) if is_traced else many
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as stack:
        server = stack.enter_context(serving.echo(folder, variant, backend.port))
        socks = [stack.enter_context(server.connect()) for _ in range(many)]
        for begin in range(0, many, WAVE):
            for sock in socks[begin : begin + WAVE]:
                sock.sendall(GET % b"/")
            for sock in socks[begin : begin + WAVE]:
                assert replies(sock, "GET") == [(200, HELLO)]


@pytest.mark.parametrize("mode", ["unified", "split"])
def test_a_poller_is_woken_once_per_sleep_at_most(folder: Path, mode: str, backend: Server) -> None:
    options = ("--mode", mode, "--carriers", 2, "--stealing", "on", "--stats", "--trace-depth")
    with serving.echo(folder, "unified", backend.port, *options) as server:
        for _ in range(50):
            assert server.get("/parallel")[0] == 200
    counts = server.counts
    assert (counts["requests"], counts["accepted"], counts["carriers"]) == (50, 50, 2)
    assert 0 < counts["wakeups"] <= counts["sleeps"] <= counts["looks"]
    assert counts["events"] >= 50 * 4  # at least those of a client and of two calls
    assert "depth_most" in counts


POOL, GROUPS = "allowed with --mode strategy\n", "allowed with --mode unified, split\n"
ALLOWED = {
    ("--backend", "here"): "--backend here: allowed is an IPv4 address and a port",
    ("--carriers", "0"): "--carriers 0: allowed is 1 to 1024",
    ("--mode", "best"): "--mode best: allowed is unified, split, reactive, strategy",
    ("--pin", "each", "--carriers", "1000"): "CPUs are needed for --carriers 1000",
    ("--port",): "--port: it takes a value",
    ("--fast",): "--fast: no such option; see --help",
    ("--strategy", "adaptive"): f"--strategy: not with --mode unified: {POOL}",
    ("--kind", "either", "--mode", "split"): f"--kind: not with --mode split: {POOL}",
    ("--threads", "2", "--mode", "reactive"): f"--threads: not with --mode reactive: {POOL}",
    ("--stealing", "off", "--mode", "reactive"): f"--stealing: not with --mode reactive: {GROUPS}",
    ("--stealing", "on", "--mode", "strategy"): f"--stealing: not with --mode strategy: {GROUPS}",
    ("--trace-depth", "--mode", "strategy"): f"--trace-depth: not with --mode strategy: {GROUPS}",
}


@pytest.mark.parametrize("options", ALLOWED, ids=" ".join)
def test_an_option_that_is_wrong_is_named(folder: Path, options: tuple[str, ...]) -> None:
    command = [*serving.compiled(folder, "echo_server", "plain"), "--backend", "127.0.0.1:1"]
    ended = run(command, *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ALLOWED[options] in ended.stderr
    helped = run(command, "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert options[0] in helped.stdout or options == ("--fast",)
