# SPDX-License-Identifier: Apache-2.0
"""Under `wakeproof.install` virtual threads that share a buffered file take turns."""

from __future__ import annotations

import io
import os
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.support.talking import start
from tests.support.virtual import PATIENCE_S, parked, until

from wakeproof import CarrierGroup, ThreadInterruptedError
from wakeproof._runtime.here import ARE_OWN

pytestmark = [
    pytest.mark.skipif(not ARE_OWN, reason="needs methods of C types exchanged in place"),
    pytest.mark.usefixtures("installed"),
]
READS: dict[str, Callable[[Any], bytes]] = {
    "read": lambda file: file.read(2),
    "read1": lambda file: file.read1(2),
    "readinto": lambda file: (part := bytearray(2), file.readinto(part), bytes(part))[2],
    "readinto1": lambda file: (part := bytearray(2), file.readinto1(part), bytes(part))[2],
    "readline": lambda file: file.readline(),
    "peek and read": lambda file: file.peek(1)[:0] + file.read(2),
}


@pytest.fixture
def ends() -> Iterator[tuple[io.BufferedReader, socket.socket]]:
    one, other = socket.socketpair()
    with one, other, one.makefile("rb") as file:
        yield file, other


@pytest.mark.parametrize("name", READS)
def test_each_reader_gets_its_part(
    name: str, ends: tuple[io.BufferedReader, socket.socket], either_group: CarrierGroup
) -> None:
    file, other = ends
    readers = [parked(start(either_group, READS[name], file)) for _ in range(4)]
    for part in (b"a\n", b"b\n", b"c\n", b"d\n"):
        other.sendall(part)
    assert {reader.result(PATIENCE_S) for reader in readers} == {b"a\n", b"b\n", b"c\n", b"d\n"}


def test_each_writer_writes_all_of_its_part(either_group: CarrierGroup) -> None:
    size = 300_000  # more than a pipe holds
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb") as sink:
        writers = [parked(start(either_group, sink.write, bytes([at]) * size)) for at in range(3)]
        assert len(source.read(3 * size - 1)) == 3 * size - 1
        assert [one.result(PATIENCE_S) for one in writers] == [size] * 3


def test_a_close_waits_for_the_reader(
    ends: tuple[io.BufferedReader, socket.socket], either_group: CarrierGroup
) -> None:
    file, other = ends
    reader = parked(start(either_group, file.read, 1))
    closer = parked(start(either_group, file.close))
    other.sendall(b"x")
    assert (reader.result(PATIENCE_S), closer.result(PATIENCE_S)) == (b"x", None)
    assert file.closed


def test_an_interrupt_ends_the_wait_for_the_turn(
    ends: tuple[io.BufferedReader, socket.socket], either_group: CarrierGroup
) -> None:
    file, other = ends
    reader, second = (parked(start(either_group, file.read, 1)) for _ in range(2))
    second.interrupt()
    with pytest.raises(ThreadInterruptedError):
        second.result(PATIENCE_S)
    other.sendall(b"x")
    assert reader.result(PATIENCE_S) == b"x"


def test_a_call_inside_of_another_is_refused_as_in_an_os_thread(group: CarrierGroup) -> None:
    class Raw(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, _: Any) -> int:
            return len(file.read(1))

    file = io.BufferedReader(Raw())
    with pytest.raises(RuntimeError, match="reentrant call"):
        file.read(1)
    with pytest.raises(RuntimeError, match="reentrant call"):
        start(group, file.read, 1).result(PATIENCE_S)


def test_a_loop_over_the_lines_takes_a_turn_or_is_refused(
    ends: tuple[io.BufferedReader, socket.socket],
) -> None:
    # As the guide says. CPython 3.12 and the first releases of 3.13 call `readline`, which takes a
    # turn; the others call no method that can be exchanged.
    file, other = ends
    with CarrierGroup(1) as group:
        reader = parked(start(group, file.readline))
        loop = start(group, next, file)
        until(lambda: loop.state == "parked" or not loop.is_alive())
        takes_turn = loop.is_alive()
        assert not takes_turn or sys.version_info[:2] in ((3, 12), (3, 13))
        other.sendall(b"x\ny\n")
        assert reader.result(PATIENCE_S) == b"x\n"
        if takes_turn:
            assert loop.result(PATIENCE_S) == b"y\n"
        else:
            with pytest.raises(RuntimeError, match="reentrant call"):
                loop.result(PATIENCE_S)
