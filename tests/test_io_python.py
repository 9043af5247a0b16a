# SPDX-License-Identifier: Apache-2.0
"""wakeproof.io: sockets of virtual threads, coroutine functions and OS threads."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.virtual import PATIENCE_S

from wakeproof import CarrierGroup, ThreadInterruptedError, VirtualThread, coroutine, io
from wakeproof.errors import ClosedError

CLIENTS = 60


@pytest.fixture(params=[(1, False), (2, True)], ids=["one carrier", "two that steal"])
def group(request: pytest.FixtureRequest) -> Iterator[CarrierGroup]:
    carriers, stealing = request.param
    with CarrierGroup(carriers, work_stealing=stealing) as made:
        yield made


def start(group: CarrierGroup, fn: object, *arguments: object) -> VirtualThread:
    return VirtualThread(fn, *arguments, group=group).start()  # type: ignore[arg-type]


def echo(sock: io.Socket) -> None:
    with sock:
        while data := sock.recv(100):
            sock.sendall(data)


def exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        assert part, "the other end has closed"
        data += part
    return data


def talk(sock: socket.socket, rounds: int = 20) -> int:
    with sock:
        for number in range(rounds):
            message = number.to_bytes(4, "big") * 100
            sock.sendall(message)
            assert exactly(sock, len(message)) == message
    return rounds


def test_two_virtual_threads_and_an_os_thread_talk(group: CarrierGroup) -> None:
    one, other = io.socketpair(group=group)
    answers = start(group, echo, one)
    assert start(group, talk, other).result(PATIENCE_S) == 20
    answers.result(PATIENCE_S)
    one, other = io.socketpair(group=group)
    answers = start(group, echo, one)
    assert talk(other) == 20
    answers.result(PATIENCE_S)


def serve(listener: io.Socket, group: CarrierGroup) -> None:
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:  # it is closed
            return
        start(group, echo, sock)


def test_a_server_of_virtual_threads(group: CarrierGroup) -> None:
    listener = io.create_server(("127.0.0.1", 0), group=group, backlog=CLIENTS)
    address = listener.getsockname()
    servers = [start(group, serve, listener, group) for _ in range(3)]

    def client() -> int:
        return talk(io.create_connection(address, PATIENCE_S))

    clients = [start(group, client) for _ in range(CLIENTS)]
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


def test_coroutine_functions_serve_and_talk(group: CarrierGroup) -> None:
    with io.create_server(("127.0.0.1", 0), group=group, backlog=CLIENTS) as listener:
        server = start(group, aserve, listener, group, CLIENTS)
        clients = [start(group, atalk, listener.getsockname()) for _ in range(CLIENTS)]
        assert [thread.result(PATIENCE_S) for thread in clients] == [20] * CLIENTS
        server.result(PATIENCE_S)


def answer(listener: io.Socket) -> None:
    sock, _ = listener.accept()
    with sock, sock.makefile("rwb") as file:
        assert file.readline().startswith(b"GET / ")
        while file.readline().strip():
            pass
        file.write(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")


def test_a_real_client_is_answered_through_a_file_of_the_socket(group: CarrierGroup) -> None:
    with io.create_server(("127.0.0.1", 0), group=group) as listener:
        thread = start(group, answer, listener)
        url = "http://{}:{}/".format(*listener.getsockname())
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as reply:
            assert reply.read() == b"hello"
        thread.result(PATIENCE_S)


def times_out(sock: io.Socket) -> str:
    sock.settimeout(0.01)
    assert sock.gettimeout() == 0.01
    with pytest.raises(TimeoutError):
        sock.recv(1)
    with pytest.raises(TimeoutError):
        sock.sendall(bytes(10_000_000))
    sock.setblocking(False)
    with pytest.raises(BlockingIOError):
        sock.recv(1)
    return "done"


def test_timeouts_are_those_of_the_socket_module(group: CarrierGroup) -> None:
    for run in (lambda sock: start(group, times_out, sock).result(PATIENCE_S), times_out):
        one, other = io.socketpair(group=group)
        with one, other:
            assert run(one) == "done"


def reads(sock: io.Socket) -> bytes:
    return sock.recv(1)


def wait_until_parked(thread: VirtualThread) -> None:
    until = time.monotonic() + PATIENCE_S
    while thread.state != "parked":
        assert time.monotonic() < until
        time.sleep(0.001)


def test_a_close_wakes_who_waits_and_an_interrupt_too(group: CarrierGroup) -> None:
    one, other = io.socketpair(group=group)
    thread = start(group, reads, one)
    wait_until_parked(thread)
    thread.interrupt()
    with pytest.raises(ThreadInterruptedError):
        thread.result(PATIENCE_S)
    thread = start(group, reads, one)
    wait_until_parked(thread)
    found: list[OSError] = []

    def waits() -> None:
        with pytest.raises(OSError, match="closed") as raised:
            one.recv(1)
        found.append(raised.value)

    waiter = threading.Thread(target=waits)
    waiter.start()
    time.sleep(0.05)
    one.close()
    with pytest.raises(OSError, match="closed") as raised:
        thread.result(PATIENCE_S)
    waiter.join(PATIENCE_S)
    assert [raised.value.errno, found[0].errno] == [errno.EBADF] * 2
    assert other.recv(1) == b""
    with pytest.raises(OSError, match="closed"):
        one.send(b"x")
    other.close()


def test_errors_are_those_of_the_socket_module(group: CarrierGroup) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = gone.getsockname()

    def refused() -> None:
        with pytest.raises(ConnectionRefusedError):
            io.create_connection(address)
        with io.Socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            assert sock.connect_ex(address) == errno.ECONNREFUSED

    start(group, refused).result(PATIENCE_S)
    one, other = io.socketpair(group=group)
    other.close()
    with one, pytest.raises(BrokenPipeError):
        one.sendall(b"x")
    with Path(os.devnull).open("rb") as file, pytest.raises(OSError, match="non-socket"):
        io.Socket(fileno=file.fileno(), group=group)


def test_a_datagram_has_its_sender(group: CarrierGroup) -> None:
    def run() -> tuple[bytes, bool]:
        with (
            io.Socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
            io.Socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
        ):
            one.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            answers = start(group, one.recvfrom, 10)
            other.sendto(b"hello", one.getsockname())
            data, sender = answers.result(PATIENCE_S)
            return data, sender == other.getsockname()

    assert start(group, run).result(PATIENCE_S) == (b"hello", True)


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


def test_a_group_closes_its_sockets_and_hands_back_who_waits() -> None:
    group = CarrierGroup(1)
    one, other = io.socketpair(group=group)
    fds = [one.fileno(), other.fileno()]
    thread = start(group, reads, one)
    wait_until_parked(thread)
    assert [left.name for left in group.close(0.05)] == [thread.name]
    for fd in fds:
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(fd)
    with pytest.raises(OSError, match="closed"):
        other.recv(1)
    with pytest.raises(ClosedError):
        io.socketpair(group=group)
    one.close()
    other.close()


def test_a_forked_child_that_closes_takes_nothing_from_its_parent(group: CarrierGroup) -> None:
    one, other = io.socketpair(group=group)
    child = os.fork()
    if child == 0:
        try:
            one.close()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    answers = start(group, echo, one)
    assert talk(other) == 20
    answers.result(PATIENCE_S)


def test_a_detached_descriptor_is_a_socket_of_its_own(group: CarrierGroup) -> None:
    one, other = io.socketpair(group=group)
    with other:
        with one.dup() as copy:
            copy.sendall(b"x")
        assert other.recv(1) == b"x"
        with socket.socket(fileno=one.detach()) as plain:
            plain.sendall(b"y")
            assert other.recv(1) == b"y"
        assert other.recv(1) == b""
