# SPDX-License-Identifier: Apache-2.0
"""wakeproof.io: sockets of virtual threads, coroutine functions and OS threads."""

from __future__ import annotations

import socket
import threading
import urllib.request
from typing import TYPE_CHECKING

import pytest
from tests.support.talking import echo, start, talk
from tests.support.virtual import PATIENCE_S

from wakeproof import CarrierGroup, VirtualThread, coroutine, io
from wakeproof._runtime import descriptor
from wakeproof._runtime.wait import new_waiter
from wakeproof.config import Tuning

if TYPE_CHECKING:
    from wakeproof._native.ffi import CWaiter

CLIENTS = 60


def test_two_virtual_threads_and_an_os_thread_talk(either_group: CarrierGroup) -> None:
    one, other = io.socketpair(group=either_group)
    answers = start(either_group, echo, one)
    assert start(either_group, talk, other).result(PATIENCE_S) == 20
    answers.result(PATIENCE_S)
    one, other = io.socketpair(group=either_group)
    answers = start(either_group, echo, one)
    assert talk(other) == 20
    answers.result(PATIENCE_S)


def serve(listener: io.Socket, group: CarrierGroup) -> None:
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:  # it is closed
            return
        start(group, echo, sock)


def test_a_server_of_virtual_threads(either_group: CarrierGroup) -> None:
    listener = io.create_server(("127.0.0.1", 0), group=either_group, backlog=CLIENTS)
    address = listener.getsockname()
    servers = [start(either_group, serve, listener, either_group) for _ in range(3)]

    def client() -> int:
        return talk(io.create_connection(address, PATIENCE_S))

    clients = [start(either_group, client) for _ in range(CLIENTS)]
    assert [thread.result(PATIENCE_S) for thread in clients] == [20] * CLIENTS
    assert talk(socket.create_connection(address, PATIENCE_S)) == 20
    listener.close()
    for server in servers:
        server.result(PATIENCE_S)


async def aecho(sock: io.Socket) -> None:
    with sock:
        while data := await coroutine.recv(sock, 100):
            await coroutine.sendall(sock, data)


async def aserve(listener: io.Socket, group: CarrierGroup, count: int) -> None:
    for _ in range(count):
        sock, _address = await coroutine.accept(listener)
        start(group, aecho, sock)


async def atalk(address: tuple[str, int]) -> int:
    with io.Socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        await coroutine.connect(sock, address)
        for number in range(20):
            message = number.to_bytes(4, "big")
            await coroutine.sendall(sock, message)
            assert await coroutine.recv(sock, 4) == message
    return await coroutine.offload(len, "twenty, about 20 ...")


def test_coroutine_functions_serve_and_talk(either_group: CarrierGroup) -> None:
    with io.create_server(("127.0.0.1", 0), group=either_group, backlog=CLIENTS) as listener:
        server = start(either_group, aserve, listener, either_group, CLIENTS)
        clients = [start(either_group, atalk, listener.getsockname()) for _ in range(CLIENTS)]
        assert [thread.result(PATIENCE_S) for thread in clients] == [20] * CLIENTS
        server.result(PATIENCE_S)


def answer(listener: io.Socket) -> None:
    sock, _ = listener.accept()
    with sock, sock.makefile("rwb") as file:
        assert file.readline().startswith(b"GET / ")
        while file.readline().strip():
            pass
        file.write(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")


def echo_from(sock: io.Socket) -> None:
    with sock:
        while data := sock.recvfrom(100)[0]:
            sock.sendall(data)


def test_waits_one_after_the_other_share_a_waiter(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def count(thread: VirtualThread) -> CWaiter:
        made.append(thread.name)
        return new_waiter(thread)

    monkeypatch.setattr(descriptor, "new_waiter", count)
    monkeypatch.setattr(descriptor, "_spare", [])
    with CarrierGroup(1) as group:
        ours, theirs = io.socketpair(group=group)
        for thread in [start(group, echo_from, theirs), start(group, talk, ours, 50)]:
            thread.result(PATIENCE_S)
    assert 1 <= len(made) <= 2  # as many as wait at the same time


def test_a_real_client_is_answered_through_a_file_of_the_socket(either_group: CarrierGroup) -> None:
    with io.create_server(("127.0.0.1", 0), group=either_group) as listener:
        thread = start(either_group, answer, listener)
        url = "http://{}:{}/".format(*listener.getsockname())
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as reply:
            assert reply.read() == b"hello"
        thread.result(PATIENCE_S)


def test_a_datagram_has_its_sender(either_group: CarrierGroup) -> None:
    def run() -> tuple[bytes, bool]:
        with (
            io.Socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
            io.Socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
        ):
            one.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            answers = start(either_group, one.recvfrom, 10)
            other.sendto(b"hello", one.getsockname())
            data, sender = answers.result(PATIENCE_S)
            return data, sender == other.getsockname()

    assert start(either_group, run).result(PATIENCE_S) == (b"hello", True)


def test_what_is_offloaded_blocks_no_carrier() -> None:
    with CarrierGroup(1) as group:
        blocked, over = threading.Event(), threading.Event()

        def blocks() -> str:
            blocked.set()
            assert over.wait(PATIENCE_S)
            return threading.current_thread().name

        thread = start(group, io.offload, blocks)
        assert blocked.wait(PATIENCE_S)
        assert start(group, lambda: "others run").result(PATIENCE_S) == "others run"
        over.set()
        assert thread.result(PATIENCE_S).startswith("wakeproof-offload")
        found = start(group, io.getaddrinfo, "127.0.0.1", 80).result(PATIENCE_S)
        assert found[0][4] == ("127.0.0.1", 80)
        with pytest.raises(ZeroDivisionError):
            start(group, io.offload, divmod, 1, 0).result(PATIENCE_S)


def test_pollers_count_what_they_do() -> None:
    with CarrierGroup(2) as group:
        assert io.statistics(group) == (io.PollerStatistics(0, 0, 0, 0),) * 2
        one, other = io.socketpair(group=group)
        thread = start(group, echo, one)
        assert talk(other) == 20
        thread.result(PATIENCE_S)
        found = io.statistics(group)
    assert sum(poller.looks for poller in found) > 0
    assert sum(poller.events for poller in found) >= 20


def test_a_poller_looks_as_often_as_it_is_told_before_it_sleeps() -> None:
    spins = 1000
    with CarrierGroup(1, tuning=Tuning(idle_spins=spins)) as group:
        one, other = io.socketpair(group=group)
        thread = start(group, one.recv, 1)
        while io.statistics(group)[0].sleeps == 0:
            assert thread.is_alive()
        assert io.statistics(group)[0].looks > spins
        other.sendall(b"x")
        assert thread.result(PATIENCE_S) == b"x"
