# SPDX-License-Identifier: Apache-2.0
"""wakeproof.io: receives and sends, which C makes for a virtual thread, and Python for all others.

Serves ``_native/sockets.c`` and ``_runtime/socket.py``.  Descriptors: specs/io/Descriptor.tla.
"""

from __future__ import annotations

import array
import errno
import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from tests.support.talking import exactly, reads, start
from tests.support.virtual import PATIENCE_S, parked

from wakeproof import CarrierGroup, ThreadInterruptedError, io, pinned, sleep
from wakeproof.errors import UsageError

LONG = hashlib.shake_128(b"long").digest(20_000_000)  # more than the system keeps
Caller = Callable[..., Any]


Pair = tuple[io.Socket, io.Socket]


@pytest.fixture
def pair(group: CarrierGroup) -> Iterator[Pair]:
    one, other = io.socketpair(group=group)
    yield one, other
    one.close()
    other.close()


@pytest.fixture(params=["virtual", "pinned", "os"])
def call(request: pytest.FixtureRequest, group: CarrierGroup) -> Caller:
    """Return a function that calls in a virtual thread, in one that is pinned, or here."""

    def call(fn: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        def inside() -> Any:
            with pinned() if request.param == "pinned" else nullcontext():
                return fn(*arguments, **named)

        return inside() if request.param == "os" else start(group, inside).result(PATIENCE_S)

    return call


def test_what_is_longer_than_the_system_keeps_is_sent_whole_and_in_order(
    group: CarrierGroup, pair: Pair
) -> None:
    one, other = pair
    sender = start(group, one.sendall, LONG)
    parked(sender)
    found = bytearray()
    while len(found) < len(LONG):
        found += other.recv(1_000_000)
    assert found == LONG
    sender.result(PATIENCE_S)


def test_a_receiver_that_waits_gets_what_is_sent_whole_and_in_order(
    group: CarrierGroup, pair: Pair
) -> None:
    one, other = pair
    receiver = start(group, exactly, one, len(LONG))
    parked(receiver)
    other.sendall(LONG)
    assert receiver.result(PATIENCE_S) == LONG


def test_sendall_takes_any_buffer(pair: Pair, call: Caller) -> None:
    one, other = pair
    for data in (b"bytes", bytearray(b"array"), memoryview(array.array("H", [1, 2, 3])), b""):
        assert call(one.sendall, data) is None
        assert exactly(other, len(bytes(data))) == bytes(data)
        if data:
            assert call(one.send, data) == len(bytes(data))
            assert exactly(other, len(bytes(data))) == bytes(data)


def test_recv_into_fills_as_much_as_it_is_told(pair: Pair, call: Caller) -> None:
    one, other = pair
    for arguments, named, size in (
        ((), {}, 6), ((0,), {}, 6), ((4,), {}, 4), ((), {"nbytes": 2}, 2),
        ((4, socket.MSG_PEEK), {}, 4), ((4, int(socket.MSG_PEEK)), {}, 4),
    ):  # fmt: skip
        into = bytearray(b"......")
        other.sendall(b"abcdefgh")
        assert call(one.recv_into, into, *arguments, **named) == size
        assert into == b"abcdef"[:size] + b"." * (6 - size)
        if len(arguments) == 2:
            size = 0
        assert exactly(one, 8 - size) == b"abcdefgh"[size:]


def came_of(call: Callable[[], object]) -> tuple[type[BaseException], str] | object:
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("recv", (-1,)), ("recv", ()), ("recv", (1, 0, 0)), ("recv", ("1",)), ("recv", (True,)),
        ("recv", (1.5,)), ("recv", (1, 1 << 40)), ("recv", (0,)),
        ("recv", (1, socket.MSG_DONTWAIT)), ("recv", (2, socket.MSG_PEEK)),
        ("recv_into", (b"read only",)), ("recv_into", (bytearray(2), 3)), ("recv_into", ()),
        ("recv_into", (bytearray(2), -1)), ("recv_into", (1,)),
        ("send", ()), ("send", ("text",)), ("send", (b"x", 0, 0)),
        ("send", (memoryview(b"abc")[::2],)),
        ("sendall", ()), ("sendall", ("text",)), ("sendall", (b"x", "0")), ("sendall", (b"x", 0)),
    ],
)  # fmt: skip
def test_odd_arguments_do_what_they_do_to_a_socket_of_python(
    name: str, arguments: tuple[Any, ...], call: Caller, pair: Pair
) -> None:
    plain, plain_other = socket.socketpair()
    one, other = pair
    with plain, plain_other:
        plain_other.sendall(b"data")
        other.sendall(b"data")
        expected = came_of(lambda: getattr(plain, name)(*arguments))
        found = came_of(lambda: call(getattr(one, name), *arguments))
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        assert found[0] is expected[0]
    else:
        assert found == expected


def test_keywords_are_allowed_where_python_allows_them(pair: Pair, call: Caller) -> None:
    one, _ = pair
    with pytest.raises(TypeError):
        call(one.recv, bufsize=1)
    with pytest.raises(TypeError):
        call(one.recv_into, buffer=bytearray(1), size=1)


def test_a_call_that_need_not_wait_never_waits(pair: Pair, call: Caller) -> None:
    one, _ = pair
    with pytest.raises(BlockingIOError):
        call(one.recv, 1, socket.MSG_DONTWAIT)
    one.setblocking(False)
    for receive in (lambda: one.recv(1), lambda: one.recv_into(bytearray(1))):
        with pytest.raises(BlockingIOError):
            call(receive)
    with pytest.raises(BlockingIOError):
        call(one.sendall, LONG)


def test_whoever_waits_gets_what_comes_later(pair: Pair, call: Caller) -> None:
    one, other = pair
    later = threading.Timer(0.05, other.send, (b"later",))
    later.start()
    assert call(one.recv, 100) == b"later"
    later.join()


def test_a_forked_child_has_no_call_on_a_socket_of_its_parent(pair: Pair) -> None:
    one, other = pair
    child = os.fork()
    if child == 0:
        codes = [came_of(call) for call in (lambda: one.send(b"x"), lambda: one.recv(1))]
        os._exit(0 if all(isinstance(code, tuple) and code[0] is OSError for code in codes) else 1)
    assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(BlockingIOError):
        other.recv(1, socket.MSG_DONTWAIT)


def test_who_gives_up_leaves_the_line(group: CarrierGroup, pair: Pair) -> None:
    one, other = pair
    one.settimeout(0.01)
    for receive in (lambda: one.recv(1), lambda: one.recv_into(bytearray(1))):
        with pytest.raises(TimeoutError, match="timed out") as caught:
            start(group, receive).result(PATIENCE_S)
        assert caught.value.errno == errno.ETIMEDOUT
    one.settimeout(None)
    interrupted = start(group, reads, one)
    parked(interrupted)
    interrupted.interrupt()
    with pytest.raises(ThreadInterruptedError):
        interrupted.result(PATIENCE_S)
    behind = start(group, reads, one)
    parked(behind)
    other.send(b"x")
    assert behind.result(PATIENCE_S) == b"x"


def test_the_timeout_of_sendall_is_for_all_of_it(group: CarrierGroup, pair: Pair) -> None:
    one, other = pair
    is_over = threading.Event()

    def drains() -> None:
        while not is_over.wait(0.05):  # long before each wait of the sender has lasted
            other.recv(100_000)

    one.settimeout(0.3)
    reader = threading.Thread(target=drains)
    reader.start()
    begun = time.monotonic()
    try:
        with pytest.raises(TimeoutError):
            start(group, one.sendall, LONG).result(PATIENCE_S)
    finally:
        is_over.set()
        other.send(b"")
        reader.join(PATIENCE_S)
    assert 0.3 <= time.monotonic() - begun < 3


def test_all_that_wait_for_one_socket_are_served(group: CarrierGroup, pair: Pair) -> None:
    one, other = pair
    threads = [start(group, reads, one) for _ in range(50)]
    parked(threads[-1])
    other.send(bytes(range(50)))  # one edge
    assert sorted(thread.result(PATIENCE_S) for thread in threads) == [
        bytes([number]) for number in range(50)
    ]


def test_who_is_woken_for_nothing_waits_again(group: CarrierGroup, pair: Pair) -> None:
    one, other = pair
    first = parked(start(group, one.recv, 100))
    second = parked(start(group, one.recv, 100))
    other.send(b"for the first")
    assert first.result(PATIENCE_S) == b"for the first"  # it has passed its wakeup on
    parked(second)
    start(group, other.send, b"for the second")  # on the carrier of who waits
    assert second.result(PATIENCE_S) == b"for the second"


def test_who_gives_up_behind_another_leaves_the_line(group: CarrierGroup, pair: Pair) -> None:
    one, other = pair
    first = parked(start(group, reads, one))
    second = parked(start(group, reads, one))
    second.interrupt()
    with pytest.raises(ThreadInterruptedError):
        second.result(PATIENCE_S)
    parked(first)
    other.send(b"x")
    assert first.result(PATIENCE_S) == b"x"


def test_a_permit_of_somebody_else_ends_no_receive(group: CarrierGroup, pair: Pair) -> None:
    one, other = pair
    thread = start(group, reads, one)
    parked(thread)
    thread.unpark()
    start(group, sleep, 0.01).join()
    assert thread.state == "parked"
    other.send(b"x")
    assert thread.result(PATIENCE_S) == b"x"


@pytest.mark.parametrize("waits", [lambda one: one.recv(1), lambda one: one.sendall(LONG)])
def test_a_close_during_a_call_closes_the_file_at_its_end(
    group: CarrierGroup, pair: Pair, waits: Callable[[io.Socket], object]
) -> None:
    one, _ = pair
    fd = one.fileno()
    thread = start(group, waits, one)
    parked(thread)
    one.close()
    with pytest.raises(OSError, match="closed") as caught:
        thread.result(PATIENCE_S)
    assert caught.value.errno == errno.EBADF
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(fd)


def test_a_group_that_is_closed_ends_a_call_for_its_thread(pair: Pair) -> None:
    one, other = pair
    fd, gone = one.fileno(), CarrierGroup(1)
    thread = start(gone, one.sendall, LONG)
    parked(thread)
    assert [left.name for left in gone.close(cancel=True)] == [thread.name]
    assert exactly(other, 1000) == LONG[:1000]
    one.close()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(fd)


def test_a_closed_socket_refuses_all(pair: Pair, call: Caller) -> None:
    one, _ = pair
    one.close()
    for refused in (
        lambda: one.recv(1), lambda: one.recv_into(bytearray(1)), lambda: one.send(b"x"),
        lambda: one.sendall(b"x"),
    ):  # fmt: skip
        with pytest.raises(OSError, match="closed") as caught:
            call(refused)
        assert caught.value.errno == errno.EBADF


def test_errors_of_the_system_are_those_of_python(pair: Pair, call: Caller) -> None:
    one, other = pair
    other.close()
    for send in (one.send, one.sendall):
        with pytest.raises(BrokenPipeError):
            call(send, b"x")
    assert call(one.recv, 1) == b""


def test_a_socket_that_was_never_made_raises(call: Caller) -> None:
    one = io.Socket.__new__(io.Socket)
    with pytest.raises(AttributeError):
        call(one.recv, 1)


def test_a_wrong_timeout_is_refused(pair: Pair) -> None:
    with pytest.raises(UsageError):
        pair[0].settimeout(-1)
