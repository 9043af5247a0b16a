# SPDX-License-Identifier: Apache-2.0
"""`wakeproof.aio`: no wakeup of the loop is lost, and none is paid for while the loop is awake."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import selectors
import signal
import socket
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.python.aio_soak import TWINS, NoAnnouncement, NoSecondLook, NoSend, soak

from wakeproof import aio

PATIENCE_S = 20.0
LOST_S = 0.3  # a sleep as long as this has missed its wakeup
LOOPS = (aio.EventLoop, aio._FencedEventLoop)
each_loop = pytest.mark.parametrize("make", LOOPS, ids=["flag", "fences"])


class Interleaved(selectors.DefaultSelector):
    """A selector that calls `before_block` when the loop is about to block, and measures sleeps.

    It bounds each block, so that a lost wakeup is seen as a sleep that lasted.
    """

    before_block: Callable[[], object] | None = None
    timeouts: list[float | None]
    slept_s = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.timeouts = []

    def select(self, timeout: float | None = None) -> list[Any]:
        self.timeouts.append(timeout)
        if timeout != 0 and self.before_block:
            act, self.before_block = self.before_block, None
            act()
        begun = time.monotonic()
        found = super().select(LOST_S if timeout is None else timeout)
        self.slept_s = max(self.slept_s, time.monotonic() - begun)
        return found


class Watched(deque[Any]):
    """A queue of ready handles that calls `act` once, after a look that found nothing."""

    act: Callable[[], object] | None = None

    def __len__(self) -> int:
        length = super().__len__()
        if not length and self.act:
            act, self.act = self.act, None
            act()
        return length


def in_thread(fn: Callable[..., object], *args: object) -> None:
    """Call the function in another OS thread, and wait for its end."""
    thread = threading.Thread(target=fn, args=args)
    thread.start()
    thread.join()


def call_before_announcement(make: type[aio.EventLoop]) -> float:
    """Stop a loop between its look at the queue and its announcement; return how long it slept."""
    selector = Interleaved()
    loop = make(selector)
    with contextlib.closing(loop):
        loop.call_soon_threadsafe(int)
        ready = Watched(loop._ready)
        loop._ready = ready
        loop.call_soon(
            lambda: setattr(ready, "act", partial(in_thread, loop.call_soon_threadsafe, loop.stop))
        )
        loop.run_forever()
    return selector.slept_s


def call_before_block(make: type[aio.EventLoop]) -> float:
    """Stop a loop between its announcement and its block; return how long it slept."""
    selector = Interleaved()
    loop = make(selector)
    with contextlib.closing(loop):
        selector.before_block = partial(in_thread, loop.call_soon_threadsafe, loop.stop)
        loop.run_forever()
    return selector.slept_s


@each_loop
def test_a_call_between_the_look_and_the_announcement_is_seen(make: type[aio.EventLoop]) -> None:
    assert call_before_announcement(make) < LOST_S / 2


@each_loop
def test_a_call_between_the_announcement_and_the_block_ends_the_block(
    make: type[aio.EventLoop],
) -> None:
    assert call_before_block(make) < LOST_S / 2


@pytest.mark.slow
def test_a_poller_that_does_not_look_again_loses_the_wakeup() -> None:
    assert call_before_announcement(NoSecondLook) >= LOST_S * 0.9
    assert call_before_block(NoSecondLook) < LOST_S / 2


@pytest.mark.slow
@pytest.mark.parametrize("twin", [NoAnnouncement, NoSend])
def test_without_its_announcement_or_without_the_write_the_wakeup_is_lost(
    twin: type[aio.EventLoop],
) -> None:
    assert call_before_block(twin) >= LOST_S * 0.9


@each_loop
def test_a_loop_that_was_stopped_meanwhile_does_not_block(make: type[aio.EventLoop]) -> None:
    selector = Interleaved()
    loop = make(selector)
    with contextlib.closing(loop):
        loop._ready = ready = Watched()
        loop.call_soon(lambda: setattr(ready, "act", loop.stop))
        loop.run_forever()
    assert selector.timeouts == [0, 0]


@each_loop
def test_a_busy_loop_is_woken_without_a_system_call(make: type[aio.EventLoop]) -> None:
    seen: list[int] = []
    loop = make()

    def call() -> None:
        in_thread(lambda: [loop.call_soon_threadsafe(seen.append, i) for i in range(100)])
        loop.call_soon(loop.stop)

    with contextlib.closing(loop):
        loop.call_soon(call)
        loop.run_forever()
        assert seen == list(range(100))
        assert loop.statistics() == aio.LoopStatistics(sent=0, saved=100)


@each_loop
def test_of_many_calls_during_one_sleep_one_is_paid_for(make: type[aio.EventLoop]) -> None:
    selector = Interleaved()
    loop = make(selector)

    def call() -> None:
        for _ in range(9):
            loop.call_soon_threadsafe(int)
        loop.call_soon_threadsafe(loop.stop)

    with contextlib.closing(loop):
        selector.before_block = partial(in_thread, call)
        loop.run_forever()
        assert loop.statistics() == aio.LoopStatistics(sent=1, saved=9)


@each_loop
@pytest.mark.parametrize("debug", [False, True])
def test_no_call_of_threads_is_lost_by_a_loop_that_sleeps(
    make: type[aio.EventLoop], debug: bool
) -> None:
    found = soak(make, 10_000, debug=debug)
    assert found.calls >= 10_000
    assert found.lost == 0
    assert found.sent > 100


@pytest.mark.slow
@pytest.mark.parametrize("twin", TWINS)
def test_a_loop_without_one_half_loses_calls_of_threads(twin: type[aio.EventLoop]) -> None:
    assert soak(twin, 1_000_000, enough=1).lost == 1


@each_loop
def test_a_failed_send_raises_and_the_next_call_tries_again(make: type[aio.EventLoop]) -> None:
    selector = Interleaved()
    loop = make(selector)
    raised: list[OSError] = []

    class Broken:
        def send(self, _data: bytes) -> int:
            raise OSError(errno.ENOBUFS, "no room")

    def call() -> None:
        good, loop._csock = loop._csock, Broken()  # type: ignore[assignment]
        try:
            loop.call_soon_threadsafe(int)
        except OSError as error:
            raised.append(error)
        loop._csock = good
        loop.call_soon_threadsafe(loop.stop)

    with contextlib.closing(loop):
        selector.before_block = partial(in_thread, call)
        loop.run_forever()
    assert [error.errno for error in raised] == [errno.ENOBUFS]
    assert selector.slept_s < LOST_S / 2


@each_loop
def test_a_full_pipe_is_no_error(make: type[aio.EventLoop]) -> None:
    selector = Interleaved()
    loop = make(selector)

    def call() -> None:
        assert loop._csock is not None
        with contextlib.suppress(BlockingIOError):
            while True:
                loop._csock.send(bytes(4096))
        loop.call_soon_threadsafe(loop.stop)

    with contextlib.closing(loop):
        selector.before_block = partial(in_thread, call)
        loop.run_forever()
    assert selector.slept_s < LOST_S / 2


def test_a_closed_loop_refuses_calls() -> None:
    loop = aio.new_event_loop()
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon_threadsafe(int)
    loop._write_to_self()
    loop._asleep = True  # a call that was on its way when the loop was closed
    loop._write_to_self()


def test_a_loop_that_is_being_closed_by_another_thread_does_not_raise() -> None:
    loop = aio.new_event_loop()
    assert loop._csock is not None
    assert loop._ssock is not None
    loop._asleep = True
    loop._csock.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        loop._write_to_self()
    loop.remove_reader(loop._ssock)
    loop._ssock.close()
    loop._write_to_self()
    loop._ssock = loop._csock = None  # as `close` does next
    loop._selector.close()  # type: ignore[attr-defined]
    loop._closed = True  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "run",
    [asyncio.Runner.run, lambda runner, coro: runner.get_loop().run_until_complete(coro)],
    ids=["runner", "loop"],
)
def test_sigint_ends_a_sleep(run: Callable[[asyncio.Runner, Any], object]) -> None:
    def interrupt() -> None:
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    with asyncio.Runner(loop_factory=aio.EventLoop) as runner:
        thread = threading.Thread(target=interrupt)
        begun = time.monotonic()
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            run(runner, asyncio.sleep(PATIENCE_S))
        thread.join()
        assert time.monotonic() - begun < PATIENCE_S / 2


def test_a_signal_handler_runs_while_the_loop_would_sleep() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, came.set)
        loop.call_later(0.01, os.kill, os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(came.wait(), PATIENCE_S)

    with asyncio.Runner(loop_factory=aio.EventLoop) as runner:
        runner.run(main())


def test_executors_subprocesses_and_streams_work() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    async def main() -> tuple[int, bytes, bytes]:
        number = await asyncio.to_thread(pow, 2, 10)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "print('child')", stdout=asyncio.subprocess.PIPE
        )
        out, _ = await child.communicate()
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"line\n")
            line = await reader.readline()
            writer.close()
        return number, out, line

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child watchers of Python 3.12
        with asyncio.Runner(loop_factory=aio.EventLoop) as runner:
            assert runner.run(asyncio.wait_for(main(), PATIENCE_S)) == (1024, b"child\n", b"line\n")


@pytest.mark.parametrize(
    ("events", "act"),
    [
        (selectors.EVENT_READ, lambda peer: peer.send(b"x")),
        (selectors.EVENT_READ, lambda peer: peer.close()),
        (selectors.EVENT_WRITE, lambda _peer: None),
        (selectors.EVENT_WRITE, lambda peer: peer.close()),
        (selectors.EVENT_READ | selectors.EVENT_WRITE, lambda peer: peer.send(b"x")),
        (selectors.EVENT_READ | selectors.EVENT_WRITE, lambda peer: peer.close()),
        (selectors.EVENT_READ, lambda _peer: None),
    ],
)
def test_a_look_finds_what_the_standard_selector_finds(
    events: int, act: Callable[[socket.socket], object]
) -> None:
    ours, theirs = aio._Epoll(), selectors.EpollSelector()
    assert ours.select(0) == theirs.select(0) == []
    one, peer = socket.socketpair()
    with one, peer, ours, theirs:
        for selector in (ours, theirs):
            selector.register(one, events, "data")
        act(peer)
        assert ours.select(0) == theirs.select(0)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="asyncio deprecates policies from 3.14 on")
def test_the_policy_makes_our_loops() -> None:
    asyncio.set_event_loop_policy(aio.EventLoopPolicy())
    try:
        loop = asyncio.new_event_loop()
        loop.close()
        assert type(loop) is aio.EventLoop
    finally:
        asyncio.set_event_loop_policy(None)
