# SPDX-License-Identifier: Apache-2.0
"""wakeproof.io: timeouts, closes, errors, a group that is closed, a fork."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from pathlib import Path

import pytest
from tests.support.talking import echo, reads, start, talk
from tests.support.virtual import PATIENCE_S, parked

from wakeproof import CarrierGroup, ThreadInterruptedError, coroutine, io
from wakeproof.errors import ClosedError


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
    with pytest.raises(BlockingIOError):
        sock.sendall(bytes(10_000_000))
    return "done"


def test_timeouts_are_those_of_the_socket_module(either_group: CarrierGroup) -> None:
    for run in (lambda sock: start(either_group, times_out, sock).result(PATIENCE_S), times_out):
        one, other = io.socketpair(group=either_group)
        with one, other:
            assert run(one) == "done"


def test_a_close_wakes_who_waits_and_an_interrupt_too(either_group: CarrierGroup) -> None:
    one, other = io.socketpair(group=either_group)
    thread = start(either_group, reads, one)
    parked(thread)
    thread.interrupt()
    with pytest.raises(ThreadInterruptedError):
        thread.result(PATIENCE_S)
    thread = start(either_group, reads, one)
    parked(thread)
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


def test_errors_are_those_of_the_socket_module(either_group: CarrierGroup) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = gone.getsockname()

    def refused() -> None:
        with pytest.raises(ConnectionRefusedError):
            io.create_connection(address)
        with io.Socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            assert sock.connect_ex(address) == errno.ECONNREFUSED

    start(either_group, refused).result(PATIENCE_S)
    one, other = io.socketpair(group=either_group)
    other.close()
    with one, pytest.raises(BrokenPipeError):
        one.sendall(b"x")
    with Path(os.devnull).open("rb") as file, pytest.raises(OSError, match="non-socket"):
        io.Socket(fileno=file.fileno(), group=either_group)


def test_a_group_closes_its_sockets_and_hands_back_who_waits() -> None:
    group = CarrierGroup(1)
    one, other = io.socketpair(group=group)
    fds = [one.fileno(), other.fileno()]
    thread = start(group, reads, one)
    parked(thread)
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


def test_a_forked_child_that_closes_takes_nothing_from_its_parent(
    either_group: CarrierGroup,
) -> None:
    one, other = io.socketpair(group=either_group)
    child = os.fork()
    if child == 0:
        try:
            one.close()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    answers = start(either_group, echo, one)
    assert talk(other) == 20
    answers.result(PATIENCE_S)


def test_a_detached_descriptor_is_a_socket_of_its_own(either_group: CarrierGroup) -> None:
    one, other = io.socketpair(group=either_group)
    with other:
        with one.dup() as copy:
            copy.sendall(b"x")
        assert other.recv(1) == b"x"
        with socket.socket(fileno=one.detach()) as plain:
            plain.sendall(b"y")
            assert other.recv(1) == b"y"
        assert other.recv(1) == b""


def test_a_close_of_the_group_ends_the_wait_of_an_os_thread() -> None:
    group = CarrierGroup(1)
    one, other = io.socketpair(group=group)
    found: list[OSError] = []
    begins = threading.Event()

    def waits() -> None:
        begins.set()
        with pytest.raises(OSError, match="closed") as raised:
            one.recv(1)
        found.append(raised.value)

    waiter = threading.Thread(target=waits)
    waiter.start()
    begins.wait(PATIENCE_S)
    group.close(PATIENCE_S)
    waiter.join(PATIENCE_S)
    assert [error.errno for error in found] == [errno.EBADF]
    other.close()


@pytest.mark.parametrize("is_coroutine", [False, True])
def test_a_wait_that_begins_after_the_end_of_its_poller_ends_with_the_group(
    is_coroutine: bool,
) -> None:
    group = CarrierGroup(2)
    one, other = io.socketpair(group=group)  # of both carriers, one after the other
    has_begun, has_ended, found = threading.Event(), threading.Event(), []

    def waits() -> None:
        with pytest.raises(OSError, match="closed"):
            other.recv(1)
        has_ended.set()

    def late() -> None:
        has_begun.set()
        has_ended.wait(PATIENCE_S)
        found.append("begun")
        try:
            other.recv(1)
        except OSError as error:
            found.append(str(error))

    async def later() -> None:
        has_begun.set()
        has_ended.wait(PATIENCE_S)
        found.append("begun")
        try:
            await coroutine.recv(other, 1)
        except OSError as error:
            found.append(str(error))

    waiter = threading.Thread(target=waits)
    waiter.start()
    thread = start(group[0], later if is_coroutine else late)
    has_begun.wait(PATIENCE_S)  # a close with cancel ends a thread that has not begun
    assert [left.name for left in group.close(PATIENCE_S, cancel=True)] == [thread.name]
    waiter.join(PATIENCE_S)
    assert (found, thread.state) == (["begun"], "closed")
    one.close()


def test_a_connection_to_a_full_unix_queue_waits_as_that_of_the_socket_module(
    either_group: CarrierGroup, tmp_path: Path
) -> None:
    path = str(tmp_path / "full")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        queued = [socket.socket(socket.AF_UNIX)]
        queued[0].setblocking(False)
        while queued[-1].connect_ex(path) != errno.EAGAIN:
            queued.append(socket.socket(socket.AF_UNIX))
            queued[-1].setblocking(False)

        def connects(limit_s: float) -> str:
            with io.Socket(socket.AF_UNIX, group=either_group) as sock:
                sock.settimeout(limit_s)
                sock.connect(path)
                return "connected"

        async def aconnects() -> str:
            with io.Socket(socket.AF_UNIX, group=either_group) as sock:
                await coroutine.connect(sock, path)
                return "connected"

        with pytest.raises(TimeoutError):
            start(either_group, connects, 0.01).result(PATIENCE_S)
        with pytest.raises(TimeoutError):
            connects(0.01)
        waiters = [start(either_group, connects, PATIENCE_S), start(either_group, aconnects)]
        for waiter in waiters:
            parked(waiter)
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(connects(PATIENCE_S)))
        thread.start()
        for _ in range(4):  # one was queued
            listener.accept()[0].close()
        assert [waiter.result(PATIENCE_S) for waiter in waiters] == ["connected"] * 2
        thread.join(PATIENCE_S)
        assert found == ["connected"]
        for sock in queued:
            sock.close()


def test_readiness_goes_past_a_thread_of_a_closed_group(group: CarrierGroup) -> None:
    other = CarrierGroup(1)
    one, peer = io.socketpair(group=group)
    dying = start(other, reads, one)
    parked(dying)
    behind = start(group, reads, one)
    parked(behind)
    assert [left.name for left in other.close(cancel=True)] == [dying.name]
    peer.send(b"x")
    assert behind.result(PATIENCE_S) == b"x"
    fd = one.fileno()
    one.close()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(fd)
    peer.close()
