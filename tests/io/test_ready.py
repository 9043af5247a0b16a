# SPDX-License-Identifier: Apache-2.0
"""wakeproof.io: waits for descriptors of others, for child processes and for a line of input."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import io as files
import os
import pty
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE

import pytest
from tests.support.talking import start
from tests.support.virtual import PATIENCE_S, parked, until

from wakeproof import (
    CarrierGroup,
    ClosedError,
    Compensation,
    ThreadInterruptedError,
    UsageError,
    coroutine,
    install,
    io,
    park,
    pinned,
    uninstall,
    yield_now,
)
from wakeproof._runtime import descriptor, ready, trampoline
from wakeproof._runtime.here import here

Wait = Callable[..., object]
SHORT_S = 0.02


@contextlib.contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ours, theirs = os.pipe()
    try:
        yield ours, theirs
    finally:
        for fd in (ours, theirs):
            with contextlib.suppress(OSError):
                os.close(fd)


async def awaits(fd: int, **named: float) -> int:
    return await coroutine.wait_ready(fd, **named)


BOTH = pytest.mark.parametrize("wait", [io.wait, awaits])


@BOTH
def test_a_wait_parks_until_there_is_something_to_read(wait: Wait) -> None:
    with CarrierGroup(1) as group, pipe() as (ours, theirs):
        thread = parked(start(group, wait, ours))
        assert start(group, lambda: "others run").result(PATIENCE_S) == "others run"
        os.write(theirs, b"x")
        assert thread.result(PATIENCE_S) == EVENT_READ
        assert start(group, wait, ours).result(PATIENCE_S) == EVENT_READ  # it is still there
        os.read(ours, 1)
        os.close(theirs)
        assert start(group, wait, ours).result(PATIENCE_S) == EVENT_READ  # the end


def blocks(fd: int) -> int:
    """Wait as the twin of `io.wait` that does not park."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return len(poll.poll(PATIENCE_S))


def others_run_while(wait: Wait) -> bool:
    with CarrierGroup(1) as group, pipe() as (ours, theirs):
        begun: list[bool] = []

        def waits() -> None:
            begun.append(True)
            wait(ours)

        thread = start(group, waits)
        until(lambda: begun)
        other = start(group, lambda: None)
        is_done = other.join(SHORT_S if wait is blocks else PATIENCE_S)
        os.write(theirs, b"x")
        thread.join()
        return is_done


def test_others_run_meanwhile_and_a_wait_that_blocks_is_seen() -> None:
    assert others_run_while(io.wait)
    assert not others_run_while(blocks)


def test_an_os_thread_waits_too() -> None:
    with pipe() as (ours, theirs):
        assert io.wait(ours, timeout_s=SHORT_S) == 0
        assert io.wait(ours, timeout_s=0) == 0
        assert io.wait(theirs, write=True, read=False) == EVENT_WRITE
        os.write(theirs, b"x")
        assert io.wait(ours, timeout_s=PATIENCE_S) == EVENT_READ


@BOTH
def test_a_wait_ends_with_its_time(wait: Wait) -> None:
    with CarrierGroup(1) as group, pipe() as (ours, _theirs):
        begin = time.monotonic()
        timed = start(group, lambda: io.wait(ours, timeout_s=SHORT_S))
        assert timed.result(PATIENCE_S) == 0
        assert time.monotonic() - begin >= SHORT_S
        thread = parked(start(group, wait, ours))
        thread.interrupt()
        with pytest.raises(ThreadInterruptedError):
            thread.result(PATIENCE_S)


def test_both_directions_of_a_socket_and_of_an_object(either_group: CarrierGroup) -> None:
    one, other = socket.socketpair()
    with one, other:
        find = start(either_group, lambda: io.wait(one, write=True))
        assert find.result(PATIENCE_S) == EVENT_WRITE
        other.send(b"x")
        until(lambda: select.select([one], [], [], 0)[0])
        find = start(either_group, lambda: io.wait(one, write=True))
        assert find.result(PATIENCE_S) == EVENT_READ | EVENT_WRITE


def flags_after(group: CarrierGroup, wait: Wait) -> bool:
    """Return whether a blocking descriptor still blocks, while a thread waits and afterwards."""
    one, other = socket.socketpair()
    with one, other:

        def does_block() -> bool:
            return not fcntl.fcntl(one, fcntl.F_GETFL) & os.O_NONBLOCK

        thread = parked(start(group, wait, one.fileno()))
        during = does_block()
        other.send(b"x")
        thread.result(PATIENCE_S)
        return during and does_block()


def takes(fd: int) -> None:
    """Wait as the twin of `io.wait` that takes a duplicate over, whose flags are the same."""
    with io.Socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, os.dup(fd)) as sock:
        assert sock._descriptor is not None
        sock._descriptor.call(0, lambda: looks(fd), 1 << 62, "wait")


def looks(fd: int) -> None:
    if not select.select([fd], [], [], 0)[0]:
        raise BlockingIOError(errno.EAGAIN, "nothing")


def test_a_descriptor_stays_as_its_owner_has_it_and_a_wait_that_changes_it_is_seen(
    either_group: CarrierGroup,
) -> None:
    assert flags_after(either_group, io.wait)
    assert not flags_after(either_group, takes)


def test_a_number_that_is_given_to_another_file_confuses_nobody(either_group: CarrierGroup) -> None:
    with pipe() as (ours, theirs), pipe() as (others, filled):
        kept = os.dup(ours)  # the open file lives on
        thread = parked(start(either_group, io.wait, ours))
        os.write(filled, b"x")
        os.dup2(others, ours)  # the number is another's now
        later = start(either_group, lambda: io.wait(ours, timeout_s=PATIENCE_S))
        assert later.result(PATIENCE_S) == EVENT_READ
        assert thread.is_alive()
        os.write(theirs, b"y")
        assert thread.result(PATIENCE_S) == EVENT_READ
        os.close(kept)


def test_many_wait_for_one_descriptor_and_all_are_told(either_group: CarrierGroup) -> None:
    with pipe() as (ours, theirs):
        threads = [parked(start(either_group, io.wait, ours)) for _ in range(50)]
        os.write(theirs, b"x")
        assert [thread.result(PATIENCE_S) for thread in threads] == [EVENT_READ] * 50


def count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_is_left_behind() -> None:
    with CarrierGroup(1) as group, pipe() as (ours, theirs):
        start(group, lambda: io.wait(ours, timeout_s=0.001)).result(PATIENCE_S)  # the pollers
        before = count()
        for _ in range(20):
            start(group, lambda: io.wait(ours, timeout_s=0.001)).result(PATIENCE_S)
        thread = parked(start(group, io.wait, ours))
        thread.interrupt()
        thread.join()
        assert count() == before
        assert not group._descriptors
        os.write(theirs, b"x")


@pytest.mark.parametrize("wait", [io.wait, awaits])
def test_a_group_that_is_cancelled_ends_its_waits(wait: Wait) -> None:
    gc.collect()
    before = count()
    group = CarrierGroup(1)
    with pipe() as (ours, _theirs):
        thread = parked(start(group, wait, ours))
        assert [one.name for one in group.close(cancel=True)] == [thread.name]
        assert thread.state == "closed"
    del group, thread
    gc.collect()
    assert count() == before


def test_a_group_without_pollers_looks_again_and_again() -> None:
    compensation = Compensation(spare_carriers=1)
    with CarrierGroup(1, compensation=compensation) as group, pipe() as (ours, theirs):
        timed = start(group, lambda: io.wait(ours, timeout_s=SHORT_S))
        assert timed.result(PATIENCE_S) == 0
        thread = parked(start(group, io.wait, ours))
        os.write(theirs, b"x")
        assert thread.result(PATIENCE_S) == EVENT_READ
        os.read(ours, 1)
        thread = parked(start(group, lambda: (io.wait(ours), park(0))))
        thread.unpark()  # the permit is for another park, and the wait goes on
        assert not thread.join(SHORT_S)
        os.write(theirs, b"x")
        assert thread.result(PATIENCE_S) == (EVENT_READ, True)
        os.read(ours, 1)
        thread = parked(start(group, io.wait, ours))
        thread.interrupt()
        with pytest.raises(ThreadInterruptedError):
            thread.result(PATIENCE_S)


def test_a_wait_may_begin_while_its_group_is_being_closed() -> None:
    with pipe() as (ours, theirs):
        with CarrierGroup(1) as group:

            def waits() -> int:
                while not group.closed:
                    yield_now()
                assert io.wait(ours, timeout_s=SHORT_S) == 0
                os.write(theirs, b"x")
                return io.wait(ours)

            thread = start(group, waits)
        assert thread.result(PATIENCE_S) == EVENT_READ


@pytest.mark.parametrize("twin", [False, True])
def test_a_socket_may_be_made_while_its_group_is_being_closed(
    twin: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if twin:
        monkeypatch.setattr(descriptor, "_group_here", lambda: group)
    with CarrierGroup(1) as group:

        def talks() -> bytes:
            while not group.closed:
                yield_now()
            one, other = io.socketpair()
            with one, other:
                other.send(b"x")
                return one.recv(1)

        thread = start(group, talks)
    if twin:
        with pytest.raises(ClosedError):
            thread.result(PATIENCE_S)
    else:
        assert thread.result(PATIENCE_S) == b"x"
    with pytest.raises(ClosedError):
        io.socketpair(group=group)


def test_a_pipe_may_be_read_while_its_group_is_being_closed() -> None:
    install()
    try:
        with CarrierGroup(1) as group, pipe() as (ours, theirs):

            def reads() -> bytes:
                while not group.closed:
                    yield_now()
                writer.start()
                return os.read(ours, 1)

            writer = threading.Timer(SHORT_S, lambda: os.write(theirs, b"x"))
            thread = start(group, reads)
            group.close()
            writer.join()
            assert thread.result(PATIENCE_S) == b"x"
    finally:
        uninstall()


def receives(pair: tuple[io.Socket, io.Socket], timeout_s: float | None) -> bool:
    pair[0].settimeout(timeout_s)
    return pair[0].recv(1) == b"x"


def waits(pair: tuple[io.Socket, io.Socket], timeout_s: float | None) -> bool:
    return io.wait(pair[0], timeout_s=timeout_s) == EVENT_READ


def pins(call: Wait, *arguments: object) -> object:
    with pinned():
        return call(*arguments)


async def does_not_await(call: Wait, *arguments: object) -> object:
    return call(*arguments)


@pytest.mark.parametrize("call", [receives, waits])
@pytest.mark.parametrize("where", [pins, does_not_await])
def test_a_wait_that_blocks_the_carrier_of_its_poller_ends(where: Wait, call: Wait) -> None:
    with CarrierGroup(1) as group:
        pair = io.socketpair(group=group)
        thread = start(group, where, call, pair, None)
        until(lambda: group[0].counts.pinned == 1)
        pair[1].send(b"x")
        assert thread.result(PATIENCE_S) is True
        pair[0].settimeout(0)
        with contextlib.suppress(BlockingIOError):
            pair[0].recv(1)
        timed = start(group, where, call, pair, SHORT_S)
        with contextlib.suppress(TimeoutError):
            assert timed.result(PATIENCE_S) is False
        thread = start(group, where, call, pair, None)
        assert not thread.join(SHORT_S)
        thread.interrupt()
        with pytest.raises(ThreadInterruptedError):
            thread.result(PATIENCE_S)


def test_a_close_ends_a_wait_that_blocks_its_carrier() -> None:
    with CarrierGroup(1) as group:
        one, _other = io.socketpair(group=group)
        thread = start(group, pins, one.recv, 1)
        assert not thread.join(SHORT_S)
        one.close()
        with pytest.raises(OSError, match="it is closed"):
            thread.result(PATIENCE_S)


@pytest.mark.parametrize("call", [receives, waits])
@pytest.mark.usefixtures("without_looks")
def test_a_poller_cannot_tell_a_thread_that_blocks_it(
    call: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: the thread waits for the poller, which waits for the carrier."""
    monkeypatch.setattr(trampoline, "parks", lambda: here.thread)
    monkeypatch.setattr(ready, "parks", lambda: here.thread)
    with CarrierGroup(1) as group:
        pair = io.socketpair(group=group)
        thread = start(group, pins, call, pair, None)
        assert not thread.join(SHORT_S)
        pair[1].send(b"x")
        assert not thread.join(10 * SHORT_S)
        thread.interrupt()
        with pytest.raises(ThreadInterruptedError):
            thread.result(PATIENCE_S)


def test_a_file_is_always_ready(either_group: CarrierGroup) -> None:
    with Path(__file__).open(encoding="utf-8") as file:
        thread = start(either_group, lambda: io.wait(file, write=True))
        assert thread.result(PATIENCE_S) == EVENT_READ | EVENT_WRITE


def test_refused() -> None:
    with pipe() as (ours, _):
        with pytest.raises(UsageError, match="at least one"):
            io.wait(ours, read=False)
        with pytest.raises(UsageError, match="timeout_s is -1"):
            io.wait(ours, timeout_s=-1)
    with pytest.raises(OSError, match=f"descriptor {ours}") as caught:
        io.wait(ours)
    assert caught.value.errno == errno.EBADF
    with pytest.raises(OSError, match="descriptor -1"):
        io.wait(-1)
    with pytest.raises(UsageError, match="'x'"):
        io.wait("x")  # type: ignore[arg-type]


SLEEPS = [sys.executable, "-c", "import sys; sys.stdin.read(); sys.exit(7)"]


async def awaits_child(child: coroutine.children.Child) -> int:
    return await coroutine.wait_child(child)


@pytest.mark.parametrize("wait", [io.wait_child, awaits_child])
def test_a_child_is_waited_for(wait: Wait) -> None:
    with CarrierGroup(1) as group:
        child = subprocess.Popen(SLEEPS, stdin=subprocess.PIPE)
        thread = parked(start(group, wait, child))
        assert start(group, lambda: "others run").result(PATIENCE_S) == "others run"
        assert child.stdin is not None
        child.stdin.close()
        assert thread.result(PATIENCE_S) == child.returncode == 7
        assert start(group, wait, child).result(PATIENCE_S) == 7  # once more
        number = os.spawnlp(os.P_NOWAIT, "sh", "sh", "-c", "kill -9 $$")
        assert start(group, wait, number).result(PATIENCE_S) == -9
        with pytest.raises(ChildProcessError):
            start(group, wait, number).result(PATIENCE_S)


def test_a_wait_for_a_child_ends_with_its_time() -> None:
    with subprocess.Popen(SLEEPS, stdin=subprocess.PIPE) as child:
        with pytest.raises(TimeoutError, match=rf"process {child.pid} has not ended within 0.02"):
            io.wait_child(child.pid, SHORT_S)
        with pytest.raises(TimeoutError):
            io.wait_child(child, 0)
        assert child.stdin is not None
        child.stdin.close()
        assert io.wait_child(child) == 7
    for wrong in (0, True, "1"):
        with pytest.raises(UsageError, match="a child process"):
            io.wait_child(wrong)  # type: ignore[arg-type]


async def ainput(prompt: str = "") -> str:
    return await coroutine.input(prompt)


@pytest.mark.parametrize("read", [io.input, ainput])
def test_lines_of_a_pipe(
    read: Wait, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = os.pipe()
    with os.fdopen(ours) as stdin, os.fdopen(theirs, "w") as out, CarrierGroup(1) as group:
        monkeypatch.setattr(sys, "stdin", stdin)
        thread = parked(start(group, read, "name: "))
        assert start(group, lambda: "others run").result(PATIENCE_S) == "others run"
        out.write("grün\r\n\nthird\nlast")
        out.close()
        assert thread.result(PATIENCE_S) == "grün"
        assert capsys.readouterr().out == "name: "
        assert start(group, read).result(PATIENCE_S) == ""
        assert stdin.readline() == "third\n"  # what is left is for others
        with pytest.raises(EOFError):  # they have read ahead
            start(group, read).result(PATIENCE_S)


def test_a_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    controls, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin, CarrierGroup(1) as group:
        monkeypatch.setattr(sys, "stdin", stdin)
        thread = parked(start(group, io.input))
        os.write(controls, b"hel")
        assert not thread.join(SHORT_S)
        os.write(controls, b"lo\nyou\n")
        assert thread.result(PATIENCE_S) == "hello"
        assert start(group, io.input).result(PATIENCE_S) == "you"
        os.write(controls, b"\x04")
        with pytest.raises(EOFError):
            start(group, io.input).result(PATIENCE_S)
    os.close(controls)


def test_input_of_an_object_without_a_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", files.StringIO("one\ntwo\n"))
    with CarrierGroup(1) as group:
        assert start(group, io.input).result(PATIENCE_S) == "one"
        assert start(group, ainput).result(PATIENCE_S) == "two"
    assert sys.stdin.read() == ""
