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
from tests.talking import echo, reads, start, talk, wait_until_parked
from tests.virtual import PATIENCE_S

from wakeproof import CarrierGroup, ThreadInterruptedError, io
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
    wait_until_parked(thread)
    thread.interrupt()
    with pytest.raises(ThreadInterruptedError):
        thread.result(PATIENCE_S)
    thread = start(either_group, reads, one)
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
