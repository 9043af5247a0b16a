# SPDX-License-Identifier: Apache-2.0
"""The peers of the bench: an absent one reports that and fails nothing; the others print numbers.

Serves no spec: docs/inside/performance.md.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wakeproof.bench import ROWS, Samples, measure, peers, program, python
from wakeproof.judge.process import Children

ALL = ("go", "tokio", "boost", "jdk")


def build(*sides: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    with Children() as children:
        return peers.build(children, sides)


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(peers, "JDKS", tmp_path)
    monkeypatch.setattr(peers.locations, "cache", lambda: tmp_path)


@pytest.mark.usefixtures("no_tools")
def test_schedulers_without_their_tools_are_named() -> None:
    built, missing = build(*ALL)
    assert not built
    assert missing == {
        "go": "not run: install Go", "tokio": "not run: install cargo",
        "boost": "not run: install g++ and libboost-fiber-dev",
        "jdk": "not run: install a JDK (21 or newer: javac)",
    }  # fmt: skip


@pytest.mark.usefixtures("no_tools")
def test_only_the_sides_of_the_row_are_looked_for() -> None:
    assert build("ours", "ring", "go") == ({}, {"go": "not run: install Go"})


def test_a_scheduler_that_cannot_be_built_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "GO_PATH", "/bin/false")
    monkeypatch.setattr(shutil, "which", {"/bin/false": "/bin/false"}.get)
    built, missing = build("go")
    assert not built
    assert missing["go"] == "not run: false cannot build bench/peers"


def test_a_missing_library_of_fibers_names_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(peers.locations, "cache", lambda: tmp_path)
    monkeypatch.setenv("CXX", "/bin/false")
    assert build("boost") == ({}, {"boost": "not run: install libboost-fiber-dev"})


def test_a_javac_that_is_too_old_is_as_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(peers.locations, "cache", lambda: tmp_path)
    monkeypatch.setattr(peers, "_javacs", lambda: ["/bin/false"])
    assert build("jdk") == ({}, {"jdk": "not run: install a JDK (21 or newer: javac)"})


def test_without_gevent_its_rows_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python, "find_spec", lambda _: None)
    sides, missing = python.sides()
    assert sides == ("ours", "coroutines", "asyncio")
    row = next(row for row in ROWS if row.peer == "gevent")
    found = measure.judge(row, Samples({"ours": [1.0]}, missing=missing))
    assert found.not_run.endswith(f"-m pip install {python.GEVENT}")
    assert found.not_run.startswith("not run: ")


def test_what_a_peer_counts_stands_beside_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Samples({"ours": [8.0]}, {"bytes": {"ours": [4224.0]}})
    said = {"go": {"ns": 4.0, "bytes": 2736}, "tokio": 2}
    monkeypatch.setattr(measure, "_run", lambda *_: ours)
    monkeypatch.setattr(measure, "_json", lambda _, command: said[command[0]])
    monkeypatch.setattr(peers, "build", lambda *_: ({"go": ["go"], "tokio": ["tokio"]}, {}))
    any_program = program.Program(Path("bench"), "", "")
    with Children() as children:
        found = measure._measure_peers(children, any_program, "vthread_memory", (0, 1))
    rounds = measure.PEERS_ROUNDS
    assert found.ns == {"ours": [8.0] * rounds, "go": [4.0] * rounds, "tokio": [2.0] * rounds}
    assert found.counts == {"bytes": {"ours": [4224.0] * rounds, "go": [2736.0] * rounds}}


def test_every_goal_of_virtual_threads_has_a_row() -> None:
    goals = {(row.program, row.ours, row.peer): row.goal for row in ROWS if row.goal != "-"}
    for name in ("yield", "turns", "join", "many", "wake"):
        assert goals[f"vthread_{name}", "ours", "jdk"] == "<= 1x"
    assert goals["mutex_free", "ours", "locked"] == "<= 1.1x"
    assert goals["mutex_free", "ours", "tokio"] == "<= 1x"
    for name in ("channel_hand", "channel_slots", "channel_far", "mutex_one", "mutex_two"):
        assert goals[name, "ours", "go"] == goals[name, "ours", "tokio"] == "<= 1x"
    for name in ("vthread_yield", "vthread_turns", "vthread_join", "channel_hand", "mutex_one"):
        assert goals[name, "ours", "boost"] == "<= 1x"
    for name in ("hash_1", "hash_3", "answer", "executes", "nest_1k", "nest_100k"):
        for peer in ("go", "tokio", "jdk"):
            assert goals[f"shapes_{name}", "ours", peer] == "<= 1x"
    assert goals["scale_yield", "1k", "2"] == goals["scale_turn", "1k", "2"] == "<= 1.25x"
    for size in ("100k", "1m"):
        assert goals["scale_yield", size, f"model_{size}"] == "<= 1.6x"
        assert goals["scale_turn", size, f"model_{size}"] == "<= 1.25x"
    for name in python.OPERATIONS.keys() - {
        "echo",
        "python_memory",
        *python.OWN,
        *python.POOLS,
        *python.LOOPS,
    }:
        assert goals[name, "ours", "gevent"] == "<= 0.8x"
        assert goals[name, "coroutines", "asyncio"] == "<= 0.3x"
    for side, peer in (("ours", "gevent"), ("coroutines", "asyncio")):
        assert goals["python_memory", side, peer] == "<= 1x"
    for name, goal in (("python_lock", "<= 1.5x"), ("python_channel", "<= 1x")):
        for side in ("ours", "installed"):
            assert goals[name, side, "standard"] == goal
    for name in python.POOLS:
        goal = "<= 1x" if name == "python_outside" else "<= 0.5x"
        assert goals[name, "ours", "standard"] == goal
    assert goals["loop_channel", "ours", "culsans"] == "<= 0.5x"
    assert goals["loop_channel", "ours", "janus"] == "<= 0.5x"
    for peer, goal in (("asyncio", "<= 0.25x"), ("uvloop", "<= 2.5x")):
        assert goals["loop_threadsafe", "plain", peer] == goal
    for name in set(python.LOOPS) - {"loop_channel"}:
        goal = "<= 0.25x" if name == "loop_threadsafe" else "<= 1.03x"
        assert goals[name, "ours", "asyncio"] == goal
    for name in ("loop_threadsafe", "loop_executor"):
        assert goals[name, "ours", "uvloop"] == "<= 1x"
    # 0.9 of what uvloop does in each second of CPU time
    for name in ("loop_stream", "http_protocol", "http_aiohttp"):
        assert goals[name, "ours", "uvloop"] == "<= 1.11x"
    assert goals["echo", "aio", "uvloop"] == goals["echo", "aio_protocol", "protocol"] == "<= 1.11x"
    # 0.8 of the echoes of uvloop for each second of CPU time
    for peer, goal in (("gevent", "<= 1x"), ("asyncio", "<= 1x"), ("uvloop", "<= 1.25x")):
        assert goals["echo", "ours", peer] == goal


def test_every_row_beside_a_peer_says_how_often_it_is_done() -> None:
    for row in ROWS:
        if row.peer in ALL:
            assert row.program in peers.OPERATIONS, row.name
            assert row.needs, row.name


@pytest.mark.parametrize("row", ["yield", "join", "many", "turns", "memory"])
@pytest.mark.parametrize("side", python.SIDES)
def test_every_way_to_have_threads_in_python_does_every_row(row: str, side: str) -> None:
    if side not in python.sides()[0]:
        pytest.skip(python.sides()[1][side])
    runpy.run_path(str(program.folder() / "peers" / "threads.py"))[side](row, 10)


@pytest.mark.parametrize("name", python.OWN)
@pytest.mark.parametrize("side", python.OWN_SIDES)
def test_what_python_has_itself_does_the_rows_beside_it(name: str, side: str) -> None:
    assert python.sides(name) == (python.OWN_SIDES, {})
    threads = runpy.run_path(str(program.folder() / "peers" / "threads.py"))
    threads[side](name.split("_")[1], 10)


@pytest.mark.parametrize("name", python.POOLS)
@pytest.mark.parametrize("side", python.POOL_SIDES)
def test_every_pool_does_every_row(name: str, side: str) -> None:
    assert python.sides(name) == (python.POOL_SIDES, {})
    threads = runpy.run_path(str(program.folder() / "peers" / "threads.py"))
    threads[side](name.split("_")[1], 10)


@pytest.mark.parametrize(
    ("name", "side"),
    [(name, side) for name in python.LOOPS
     for side in python.OTHER_SIDES.get(name, python.LOOP_SIDES)],
)  # fmt: skip
def test_every_event_loop_does_every_row(name: str, side: str) -> None:
    found, missing = python.sides(name)
    if side not in found:
        pytest.skip(missing[side])
    ended = subprocess.run(
        [*python.command(name, side)[:-1], "1000"], capture_output=True, check=True
    )
    assert float(ended.stdout) > 0


@pytest.mark.parametrize("side", python.ECHO_SIDES)
def test_every_server_sends_back_what_it_receives(side: str) -> None:
    found, missing = python.sides("echo")
    if side not in found:
        pytest.skip(missing[side])
    echo = peer("echo")
    measured = echo["measure"](side, 300, connections=3)
    assert 500 < measured["ns"] < 1e9  # more than a system call
    assert measured["rate"] > 0
    assert 0 < measured["client"] <= 101  # two clocks


def test_a_server_that_sends_back_something_else_is_not_measured() -> None:
    echo = peer("echo")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"as sent")
        echo["echoes"]([ours], b"as sent", 1)
        assert theirs.recv(100) == b"as sent"
        theirs.sendall(b"another")
        with pytest.raises(ValueError, match="did not send back"):
            echo["echoes"]([ours], b"as sent", 1)


def test_a_server_that_answers_something_else_is_not_measured() -> None:
    plaintext = peer("plaintext")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(plaintext["RESPONSE"][:50])
        threading.Timer(0.01, theirs.sendall, [plaintext["RESPONSE"][50:]]).start()
        plaintext["requests"]([ours], 1)
        assert theirs.recv(1000) == plaintext["REQUEST"]
        theirs.sendall(b"HTTP/1.1 500 Hello, World!")
        with pytest.raises(ValueError, match=r"the server answered b'HTTP/1\.1 500"):
            plaintext["requests"]([ours], 1)


def test_a_request_in_parts_and_several_at_once_are_answered_each() -> None:
    plaintext = peer("plaintext")
    sent: list[bytes] = []
    served = plaintext["Plaintext"]()
    served.connection_made(SimpleNamespace(write=sent.append))
    for data in (
        plaintext["REQUEST"][:-2],
        plaintext["REQUEST"][-2:] + plaintext["REQUEST"],
        b"\r",
    ):
        served.data_received(data)
    assert (sent, served.rest) == ([plaintext["RESPONSE"] * 2], b"\r")


def test_the_memory_of_each_that_waits_is_of_a_size_that_can_be() -> None:
    command = [*python.command("python_memory", "coroutines")[:-1], "5000"]
    ended = subprocess.run(command, capture_output=True, check=True)
    assert 300 < float(ended.stdout) < 5000  # an object of Python, a frame, the kernel's block


def test_a_row_of_python_prints_nanoseconds() -> None:
    command = [*python.command("python_join", "coroutines")[:-1], "100"]
    ended = subprocess.run(command, capture_output=True, check=True)
    assert float(ended.stdout) > 0


def peer(name: str) -> dict[str, Any]:
    """Return what is in a program of peers, which imports others beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(program.folder() / "peers"))
        return runpy.run_path(str(program.folder() / "peers" / f"{name}.py"))


def run(command: list[str], row: str, operations: int) -> Any:
    ended = subprocess.run([*command, row, str(operations), "0"], capture_output=True, check=True)
    return json.loads(ended.stdout)


@pytest.mark.slow
# A process per row; Go and Tokio take too long to build.
@pytest.mark.parametrize("side", ["boost", "jdk"])
def test_a_scheduler_prints_nanoseconds_for_each_of_its_rows(side: str) -> None:
    built, missing = build(side)
    if side in missing:
        assert side != "boost" or "WAKEPROOF_CI" not in os.environ, missing
        pytest.skip(missing[side])
    for name in {row.program for row in ROWS if row.peer == side}:
        said = run(built[side], name, 8192)
        assert min(said.values() if isinstance(said, dict) else [said]) > 0, name
