# SPDX-License-Identifier: Apache-2.0
"""`wakeproof.aio`: no wakeup of the loop is lost, and none is paid for while the loop is awake."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import errno
import gc
import os
import random
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from tests.python.aio_soak import TWINS, NoAnnouncement, NoSecondLook, NoSend, Watchdog, soak

from wakeproof import CarrierGroup, VirtualThread, aio
from wakeproof._runtime.brief import HAS_GIL

PATIENCE_S = 20.0
LOST_S = 0.3  # a sleep as long as this has missed its wakeup
LOOPS = (aio.EventLoop, aio._PlainEventLoop, aio._FencedEventLoop)
each_loop = pytest.mark.parametrize("make", LOOPS, ids=["default", "flag", "fences"])
beside_asyncio = pytest.mark.parametrize(
    "make", [*LOOPS, asyncio.SelectorEventLoop], ids=["default", "flag", "fences", "asyncio"]
)


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


class SlowEpoll:
    """An epoll that calls `before_block` when its loop is about to block in it.

    Loops in Python call `poll`; the one in C asks for the descriptor, after its announcement.
    """

    before_block: Callable[[], object] | None = None

    def __init__(self, loop: aio.EventLoop) -> None:
        self.loop = loop
        self.epoll = loop._selector._selector

    def __getattr__(self, name: str) -> Any:
        return getattr(self.epoll, name)

    def poll(self, timeout: float | None = None, *most: int) -> Any:
        if timeout != 0:
            self.act()
        return self.epoll.poll(timeout, *most)

    def fileno(self) -> int:
        if self.loop._asleep:
            self.act()
        return int(self.epoll.fileno())

    def act(self) -> None:
        if self.before_block:
            act, self.before_block = self.before_block, None
            act()


def with_slow_epoll(make: type[aio.EventLoop]) -> tuple[aio.EventLoop, SlowEpoll]:
    """Return a loop with its own selector, and the epoll of that."""
    loop = make()
    loop._selector._selector = epoll = SlowEpoll(loop)
    return loop, epoll


def seconds(loop: aio.EventLoop) -> float:
    """Run a loop until it is stopped, and return how long; a loop that missed it is woken late."""
    assert loop._csock is not None
    lid = threading.Timer(LOST_S, loop._csock.send, [b"\0"])
    lid.start()
    begun = time.monotonic()
    loop.run_forever()
    took = time.monotonic() - begun
    lid.cancel()
    lid.join()
    return took


@each_loop
def test_the_own_selector_of_a_loop_loses_no_wakeup_either(make: type[aio.EventLoop]) -> None:
    loop, epoll = with_slow_epoll(make)
    with contextlib.closing(loop):
        epoll.before_block = partial(in_thread, loop.call_soon_threadsafe, loop.stop)
        assert seconds(loop) < LOST_S / 2
        assert epoll.before_block is None
        assert loop.statistics() == aio.LoopStatistics(sent=1, saved=0)
        loop._ready = ready = Watched()
        call = partial(in_thread, loop.call_soon_threadsafe, loop.stop)
        loop.call_soon(lambda: setattr(ready, "act", call))
        assert seconds(loop) < LOST_S / 2
        assert loop.statistics() == aio.LoopStatistics(sent=1, saved=1)
        loop.call_soon(lambda: setattr(ready, "act", loop.stop))
        assert seconds(loop) < LOST_S / 2
        assert not loop._asleep


@each_loop
def test_a_wait_that_fails_ends_the_announcement(make: type[aio.EventLoop]) -> None:
    loop, epoll = with_slow_epoll(make)

    def fail() -> None:
        assert loop._asleep or isinstance(loop, aio._FencedEventLoop)
        raise KeyboardInterrupt

    with contextlib.closing(loop):
        epoll.before_block = fail
        with pytest.raises(KeyboardInterrupt):
            loop.run_forever()
        assert not loop._asleep
        loop.call_soon_threadsafe(loop.stop)
        loop.run_forever()
        assert loop.statistics() == aio.LoopStatistics(sent=0, saved=1)


@beside_asyncio
def test_readers_and_writers_run_when_their_descriptors_are_ready(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    seen: list[object] = []
    loop = make()
    one, other = socket.socketpair()
    third, fourth = socket.socketpair()
    with contextlib.closing(loop), one, other, third, fourth:
        for each in (one, other, third):
            each.setblocking(False)
        loop.add_reader(one, lambda: (seen.append(("reads", one.recv(1))), loop.stop()))
        loop.add_writer(other, lambda: (seen.append("writes"), loop.remove_writer(other)))
        loop.add_reader(third, seen.append, "never")
        loop.add_writer(third, lambda: (seen.append("removes"), loop.remove_reader(third)))
        loop.call_later(0.01, other.send, b"a")
        loop.run_forever()
        assert seen.count("writes") == 1
        assert seen.count(("reads", b"a")) == 1
        assert seen.count("removes") > 1
        fourth.send(b"x")
        del seen[:]
        loop.add_writer(third, seen.append, "writes")
        fourth.close()  # a hangup makes the writer ready, and there is no reader
        loop.add_reader(one, lambda: (seen.append(one.recv(1)), loop.stop()))
        other.close()
        loop.run_forever()
        assert b"" in seen
        assert "never" not in seen
        assert "writes" in seen
        loop.remove_writer(third)
        loop.remove_reader(one)


@beside_asyncio
def test_a_busy_loop_looks_for_descriptors_soon(make: type[asyncio.SelectorEventLoop]) -> None:
    # The loop in C leaves out the look of a turn after one that has blocked.
    seen: list[int] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        here, there = socket.socketpair()
        with here, there:
            loop.add_reader(here, seen.append, 1)
            for _ in range(3):
                await asyncio.sleep(0.002)  # so the last turn has blocked
                there.send(b"x")
                turns = 0
                while not seen and turns < 100:
                    await asyncio.sleep(0)
                    turns += 1
                assert turns <= 3
                here.recv(1)
                seen.clear()
            loop.remove_reader(here)

    with contextlib.closing(make()) as loop:
        loop.run_until_complete(main())


@beside_asyncio
def test_a_writer_runs_when_nobody_can_read(make: type[asyncio.SelectorEventLoop]) -> None:
    loop = make()
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writes, bytes(65536))
    with contextlib.closing(loop):
        loop.add_writer(writes, loop.stop)
        loop.call_soon(os.close, reads)
        loop.call_later(PATIENCE_S, lambda: pytest.fail("the writer was not told of the error"))
        loop.run_forever()
        loop.remove_writer(writes)
    os.close(writes)


@beside_asyncio
def test_a_reader_that_was_cancelled_is_removed(make: type[asyncio.SelectorEventLoop]) -> None:
    loop = make()
    one, other = socket.socketpair()
    with contextlib.closing(loop), one, other:
        for file, add in ((one, loop._add_reader), (other, loop._add_writer)):  # type: ignore[attr-defined]
            handle = add(file, int)
            handle.cancel()
        other.send(b"x")
        loop.call_later(0.05, loop.stop)
        loop.run_forever()
        for file in (one, other):
            with pytest.raises(KeyError):
                loop._selector.get_key(file)  # type: ignore[attr-defined]


@beside_asyncio
def test_a_subclass_may_process_events_itself(make: type[asyncio.SelectorEventLoop]) -> None:
    seen: list[int] = []

    class Counting(make):  # type: ignore[misc, valid-type]
        def _process_events(self, events: list[Any]) -> None:
            seen.extend(mask for _, mask in events)
            super()._process_events(events)

    loop = Counting()
    with contextlib.closing(loop):
        loop._csock.send(b"x")
        loop.call_soon(loop.call_later, 0.02, loop.stop)
        loop.run_forever()
    assert seen == [selectors.EVENT_READ]


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


@pytest.mark.skipif(aio.EventLoop.__mro__[1] in LOOPS, reason="the loop is Python here")
def test_the_soak_of_the_loop_in_c_sleeps_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []
    monkeypatch.setattr(aio._PlainEventLoop, "_block", called.append)
    assert soak(aio.EventLoop, 1_000).lost == 0
    assert called == []


@pytest.mark.slow
@pytest.mark.parametrize("twin", TWINS)
def test_a_loop_without_one_half_loses_calls_of_threads(twin: type[aio.EventLoop]) -> None:
    assert soak(twin, 1_000_000, enough=1).lost == 1


class Careless(Watchdog):
    """A twin: it does not look where the loop is."""

    def sleep(self) -> str | None:
        return ""


LOOK_S = 0.02


def counted(loop: Any, *dogs: Watchdog) -> list[bool]:
    """Run a loop; return of each watchdog whether it has counted a loss."""
    for dog in dogs:
        dog.start()
    loop.run_forever()
    for dog in dogs:
        dog.ends.set()
        dog.join()
    return [dog.lost > 0 for dog in dogs]


def sleep_in_another_epoll(seconds: float) -> None:
    with select.epoll() as epoll:
        epoll.poll(seconds)


def until_one_is_lost(dog: Watchdog, sleep: Callable[[float], object]) -> None:
    """Sleep until the watchdog has counted a loss, each time for longer than it takes to do so."""
    ends = time.monotonic() + PATIENCE_S
    while not dog.lost and time.monotonic() < ends:
        sleep(4 * LOOK_S)


@pytest.mark.parametrize("sleep", [time.sleep, sleep_in_another_epoll])
def test_the_soak_counts_no_loss_while_a_callback_holds_the_loop(sleep: Any) -> None:
    with contextlib.closing(aio.EventLoop()) as loop:
        dogs = [kind(loop, [False], LOOK_S) for kind in (Watchdog, Careless)]
        loop.call_soon(until_one_is_lost, dogs[1], sleep)
        loop.call_soon(loop.call_soon, loop.stop)  # stands in the queue meanwhile
        assert counted(loop, *dogs) == [False, True]


@each_loop
def test_the_soak_counts_no_loss_while_a_call_has_yet_to_write(make: type[aio.EventLoop]) -> None:
    calling = [False]

    class Late:
        def send(self, data: bytes) -> int:
            until_one_is_lost(dogs[1], time.sleep)
            return csock.send(data)

    def call() -> None:
        while dogs[0].sleep() is None:  # a loop that is awake is not written to
            time.sleep(LOOK_S)
        calling[0] = True
        loop.call_soon_threadsafe(loop.stop)
        calling[0] = False

    with contextlib.closing(make()) as loop:
        dogs = [Watchdog(loop, at, LOOK_S) for at in (calling, [False])]
        csock, loop._csock = loop._csock, Late()  # type: ignore[assignment]
        caller = threading.Timer(2 * LOOK_S, call)
        caller.start()
        found = counted(loop, *dogs)
        caller.join()
        loop._csock = csock
    assert found == [False, True]


def test_the_soak_counts_no_loss_between_two_sleeps_of_the_loop() -> None:
    looks = iter(range(4))

    class RunsBetweenLooks:
        def __iter__(self) -> Iterator[bool]:
            ran = threading.Event()
            loop.call_soon_threadsafe(ran.set)
            ran.wait()
            time.sleep(LOOK_S)  # the loop sleeps again
            if next(looks, None) is None:
                loop.call_soon_threadsafe(loop.stop)
            return iter([False])

    with contextlib.closing(aio.EventLoop()) as loop:
        loop.call_later(PATIENCE_S, loop.stop)
        dog = Watchdog(loop, RunsBetweenLooks(), LOOK_S)
        dog.loop = SimpleNamespace(_ready=[0], _csock=loop._csock)
        assert counted(loop, dog) == [False]


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="not run: needs two processors")
def test_the_soak_counts_no_loss_while_the_loop_has_no_processor() -> None:
    allowed = os.sched_getaffinity(0)
    cpu = min(allowed)
    works = f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile os.getppid() == {os.getpid()}: 0"

    def stand_behind() -> None:
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        caller.start()

    def call() -> None:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, allowed - {cpu})
        while not dogs[1].lost and time.monotonic() < ends:
            ran = threading.Event()
            loop.call_soon_threadsafe(ran.set)
            ran.wait()
        loop.call_soon_threadsafe(loop.stop)

    caller, ends = threading.Thread(target=call), time.monotonic() + PATIENCE_S
    with (
        contextlib.closing(aio.EventLoop()) as loop,
        subprocess.Popen([sys.executable, "-c", works]) as worker,
    ):
        dogs = [kind(loop, [False], 0.0005) for kind in (Watchdog, Careless)]
        loop.call_soon(stand_behind)
        try:
            lost = counted(loop, *dogs)
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.sched_setaffinity(0, allowed)
            worker.kill()
    assert lost == [False, True]


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


class Called:
    """A callback that a weak reference may point to."""

    def __call__(self) -> None:
        pass


@beside_asyncio
@pytest.mark.parametrize("way", ["call_soon", "call_soon_threadsafe"])
def test_a_call_has_its_arguments_its_context_and_its_place(
    make: type[asyncio.SelectorEventLoop], way: str
) -> None:
    variable = contextvars.ContextVar("variable", default="of nobody")
    seen: list[Any] = []
    context = contextvars.copy_context()
    context.run(variable.set, "of the context")
    loop = make()
    call = getattr(loop, way)
    with contextlib.closing(loop):
        loop.set_exception_handler(lambda *found: seen.append(found))
        call(seen.append, 1)
        cancelled = call(seen.append, 2)
        cancelled.cancel()
        call(lambda *args: seen.append((*args, variable.get())), 3, 4, context=context)
        call(context=None, callback=lambda: seen.append(variable.get()))
        last = call(loop.stop)
        assert isinstance(last, asyncio.Handle)  # from 3.14 on one with a lock, if threadsafe
        assert "stop" in repr(last)
        loop.run_forever()
        with pytest.raises(TypeError):
            call()
        with pytest.raises(TypeError):
            call(int, wrong=1)
    assert seen == [1, (3, 4, "of the context"), "of nobody"]
    assert cancelled.cancelled()
    assert not last.cancelled()
    with pytest.raises(RuntimeError, match="closed"):
        call(int)


@beside_asyncio
def test_the_handler_gets_what_a_callback_raises_and_the_loop_goes_on(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    seen: list[Any] = []

    def fail(error: BaseException) -> None:
        raise error

    def handler(_loop: object, context: dict[str, Any]) -> None:
        seen.append((context, sys.exc_info()[1]))

    loop = make()
    with contextlib.closing(loop):
        loop.set_exception_handler(handler)
        error = ValueError("one")
        handle = loop.call_soon(fail, error)
        loop.call_soon(loop.stop)
        loop.run_forever()
        ((context, handled),) = seen
        assert context["exception"] is handled is error
        assert context["handle"] is handle
        assert context["message"].startswith(f"Exception in callback {fail.__qualname__}(")
        assert error.__traceback__ is not None
        for ends in (KeyboardInterrupt, SystemExit):
            loop.call_soon(fail, ends())
            later = loop.call_soon(seen.append, ends)
            with pytest.raises(ends):
                loop.run_forever()
            assert seen[-1] is not ends
            loop.call_soon(loop.stop)
            loop.run_forever()
            assert seen[-1] is ends
            assert not later.cancelled()


@beside_asyncio
def test_a_context_that_is_entered_already_is_an_error_of_the_callback(
    make: type[asyncio.SelectorEventLoop], caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[int] = []
    loop = make()
    context = contextvars.copy_context()
    with contextlib.closing(loop):
        loop.call_soon(seen.append, 1, context=context)
        loop.call_soon(loop.stop)
        context.run(loop.run_forever)
    assert seen == []
    assert "Exception in callback" in caplog.text
    assert "is already entered" in caplog.text


@beside_asyncio
def test_nothing_that_has_run_is_kept(make: type[asyncio.SelectorEventLoop]) -> None:
    loop = make()
    called, argument, failing = Called(), Called(), Called()
    failing.__dict__["me"] = failing
    gone = [weakref.ref(each) for each in (called, argument, failing, loop)]
    with contextlib.closing(loop):
        loop.set_exception_handler(lambda *_: None)
        gc.collect()
        kinds = [None, False, True, int, ValueError, asyncio.Handle, asyncio.TimerHandle]
        kinds += [type(loop.call_soon(int)), type(loop.call_later(9, int))]
        before = [sys.getrefcount(kind) for kind in kinds]
        for _ in range(1000):
            loop.call_soon_threadsafe(called)
            loop.call_soon(id, argument)
            loop.call_soon(int, failing)
            loop.call_soon(int).cancel()
            loop.call_later(0, id, argument)
            loop.call_later(0, int, failing)
            loop.call_later(9, id, argument).cancel()
        for _ in range(2):  # the second turn throws out the timers that were cancelled
            loop.call_soon(loop.stop)
            loop.run_forever()
        gc.collect()
        after = [sys.getrefcount(kind) for kind in kinds]
        assert all(abs(one - other) < 500 for one, other in zip(before, after, strict=True))
    loop._ready.append(loop)  # type: ignore[attr-defined]
    del called, argument, failing, loop
    gc.collect()
    assert [each() for each in gone] == [None] * 4


@beside_asyncio
def test_a_handle_in_a_cycle_is_freed(make: type[asyncio.SelectorEventLoop]) -> None:
    variable = contextvars.ContextVar[object]("variable")
    loop = make()
    with contextlib.closing(loop):
        for _ in range(2):  # the second time in the memory of the first
            called, argument, value = Called(), Called(), Called()
            context = contextvars.copy_context()
            context.run(variable.set, value)
            parts = [called, argument, value]
            handles = [
                (schedule(called), schedule(id, argument), schedule(int, context=context))
                for schedule in (loop.call_soon, partial(loop.call_later, 0))
            ]
            for part, *others in zip(parts, *handles, strict=True):
                part.__dict__["handles"] = others
            gone = [weakref.ref(each) for each in (*parts, *handles[0], *handles[1])]
            loop.call_later(0.001, loop.stop)
            loop.run_forever()
            del called, argument, value, context, parts, handles, part, others
            gc.collect()
            assert [each() for each in gone] == [None] * 9


@beside_asyncio
def test_a_weak_reference_to_a_handle_ends_with_it(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    loop = make()
    with contextlib.closing(loop):
        first = weakref.ref(loop.call_soon(loop.stop))
        loop.run_forever()
        again = loop.call_soon(int)  # in the memory of the first
        assert first() is None
        assert weakref.ref(again)() is again


@beside_asyncio
def test_a_loop_that_is_dropped_with_a_call_is_freed(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    loop = make()
    gone = [weakref.ref(each) for each in (loop, loop.call_soon(int), loop.call_later(9, int))]
    del loop
    with pytest.warns(ResourceWarning, match="unclosed event loop"):
        gc.collect()
    assert [each() for each in gone] == [None] * 3


@beside_asyncio
def test_timers_run_in_their_order_among_calls(make: type[asyncio.SelectorEventLoop]) -> None:
    seen: list[int] = []
    loop = make()
    with contextlib.closing(loop):
        loop.call_later(0.02, loop.stop)
        loop.call_later(0.01, seen.append, 3)
        loop.call_later(0.005, seen.append, 2)
        loop.call_later(0.001, seen.append, 9).cancel()
        loop.call_soon(seen.append, 1)
        loop.run_forever()
    assert seen == [1, 2, 3]


class Clock(selectors.DefaultSelector):
    """A selector with a clock: a block lasts exactly as long as it may."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "the loop sleeps without a timer"
        assert timeout <= 24 * 3600
        self.now += timeout
        return super().select(0)


def with_clock(make: type[asyncio.SelectorEventLoop]) -> tuple[asyncio.SelectorEventLoop, Clock]:
    """Return a loop and its clock."""
    clock = Clock()
    loop = make(clock)
    loop.time = lambda: clock.now  # type: ignore[method-assign]
    return loop, clock


@beside_asyncio
@pytest.mark.parametrize("count", [3, 40, 500])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_each_timer_runs_at_its_time_unless_it_was_cancelled(
    make: type[asyncio.SelectorEventLoop], count: int, share: float
) -> None:
    chance = random.Random(count)
    loop, clock = with_clock(make)
    ran: list[tuple[float, int]] = []
    due: list[tuple[float, int]] = []

    def start(number: int, more: int) -> None:
        if number >= 0:
            ran.append((clock.now, number))
        for at in range(len(due), min(len(due) + more, count)):
            when = clock.now + chance.choice([0, 1, 2.5, chance.randrange(6400) / 64])
            timer = loop.call_at(when, start, at, chance.randrange(4))
            timers.append(timer)
            due.append((when, at))
        for at, timer in enumerate(timers):
            if chance.random() < share / 10 and due[at] not in ran:
                timer.cancel()

    timers: list[asyncio.TimerHandle] = []
    with contextlib.closing(loop):
        start(-1, count // 2)
        loop.call_at(1000, loop.stop)
        loop.run_forever()
        assert loop._scheduled == []  # type: ignore[attr-defined]
    kept = [each for at, each in enumerate(due) if not timers[at].cancelled()]
    assert sorted(ran) == sorted(kept)
    assert [when for when, _ in ran] == sorted(when for when, _ in ran)
    assert count == 3 or (len(kept) < len(due)) == (share > 0)


@beside_asyncio
def test_a_heap_that_is_mostly_cancelled_is_cleared(make: type[asyncio.SelectorEventLoop]) -> None:
    loop, clock = with_clock(make)
    seen: list[float] = []
    with contextlib.closing(loop):
        timers = [loop.call_later(1 + (7 * at) % 200, lambda: None) for at in range(200)]
        for timer in timers[:120]:
            timer.cancel()
            timer.cancel()
        for timer in timers[120:]:
            timer._callback = lambda: seen.append(clock.now)  # type: ignore[attr-defined]
        assert loop._timer_cancelled_count == 120  # type: ignore[attr-defined]
        loop.call_later(0, lambda: seen.append(len(loop._scheduled)))  # type: ignore[attr-defined]
        loop.call_later(300, loop.stop)
        loop.run_forever()
    assert seen[0] == 81
    assert seen[1:] == sorted(1 + (7 * at) % 200 for at in range(120, 200))


@beside_asyncio
def test_times_of_any_kind_stand_in_one_heap(make: type[asyncio.SelectorEventLoop]) -> None:
    loop, clock = with_clock(make)
    seen: list[float] = []
    with contextlib.closing(loop):
        for when in (4, 2.5, Fraction(7, 2), True, 3, 0.5, Fraction(1, 4), 2 * 24 * 3600):
            loop.call_at(when, lambda: seen.append(clock.now))
        loop.call_later(2 * 24 * 3600 + 1, loop.stop)
        loop.run_forever()
        assert seen == [0.25, 0.5, 1, 2.5, 3, 3.5, 4, 2 * 24 * 3600]
        with pytest.raises(TypeError):
            loop.call_later(None, int)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            loop.call_at(None, int)  # type: ignore[arg-type]
        for call in (loop.call_at, loop.call_later):
            with pytest.raises(TypeError):
                call(1)  # type: ignore[call-arg, arg-type]
            with pytest.raises(TypeError):
                call(1.0, int, wrong=1)  # type: ignore[call-arg]
    for call in (loop.call_at, loop.call_later):
        with pytest.raises(RuntimeError, match="closed"):
            call(1.0, int)


class Late(float):
    """A time whose comparison fails."""

    def __lt__(self, other: object) -> bool:
        raise ValueError("no order")

    __gt__ = __lt__


@beside_asyncio
def test_a_comparison_of_times_that_fails_is_raised(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    loop, _ = with_clock(make)
    with contextlib.closing(loop):
        for first, second in ((1.0, Late(0.5)), (Late(1.0), 0.5)):
            loop.call_at(first, int)
            with pytest.raises(ValueError, match="no order"):
                loop.call_at(second, int)
            loop._scheduled.clear()  # type: ignore[attr-defined]


@beside_asyncio
def test_a_timer_is_asyncios_and_lets_go_of_what_it_has(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    variable = contextvars.ContextVar("variable", default="of nobody")
    context = contextvars.copy_context()
    context.run(variable.set, "of the context")
    loop, _ = with_clock(make)
    seen: list[object] = []
    with contextlib.closing(loop):
        called, argument = Called(), Called()
        gone = [weakref.ref(each) for each in (called, argument)]
        timer = loop.call_later(1.5, called, argument)
        assert isinstance(timer, asyncio.TimerHandle)
        assert timer.when() == 1.5
        assert repr(timer).startswith("<TimerHandle when=1.5 ")
        timer.cancel()
        del called, argument
        gc.collect()
        assert [each() for each in gone] == [None, None]
        assert timer.cancelled()
        assert repr(timer) == "<TimerHandle cancelled when=1.5>"
        ran = loop.call_later(0, lambda: seen.append(variable.get()), context=context)
        loop.call_later(1, lambda: ran.cancel() or loop.stop())  # type: ignore[func-returns-value]
        loop.run_forever()
        assert seen == ["of the context"]
        assert loop._timer_cancelled_count == 1  # type: ignore[attr-defined]
        loop.set_debug(True)
        timer = loop.call_later(1, int)
        timer.cancel()
        assert "int" in repr(timer)


@beside_asyncio
def test_call_later_takes_the_call_at_of_a_subclass(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    seen: list[float] = []

    class Counting(make):  # type: ignore[misc, valid-type]
        def call_at(self, when: float, *args: Any, **named: Any) -> asyncio.TimerHandle:
            seen.append(when)
            return super().call_at(when, *args, **named)  # type: ignore[no-any-return]

    loop, _ = with_clock(Counting)
    with contextlib.closing(loop):
        loop.call_later(2, loop.stop)
        loop.run_forever()
    assert seen == [2]


@beside_asyncio
def test_tasks_and_futures_are_those_that_asyncio_would_make(
    make: type[asyncio.SelectorEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = contextvars.ContextVar("variable", default="of nobody")
    context = contextvars.copy_context()
    context.run(variable.set, "of the context")

    async def value() -> str:
        return variable.get()

    class Task(asyncio.tasks._PyTask):  # type: ignore[name-defined, misc]
        pass

    class Future(asyncio.futures._PyFuture):  # type: ignore[name-defined, misc]
        pass

    with contextlib.closing(make()) as loop:
        task = loop.create_task(value(), name="named", context=context)
        assert type(task) is asyncio.Task
        assert task.get_name() == "named"
        assert loop.run_until_complete(task) == "of the context"
        assert loop.run_until_complete(loop.create_task(value())) == "of nobody"
        future = loop.create_future()
        assert type(future) is asyncio.Future
        assert future.get_loop() is loop
        for wrong in ((), (value, value), (value,), (1,)):
            with pytest.raises(TypeError):
                loop.create_task(*wrong)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="unknown"):
            loop.create_task(value, unknown=1)  # type: ignore[call-overload]
        monkeypatch.setattr(asyncio.tasks, "Task", Task)
        monkeypatch.setattr(asyncio.futures, "Future", Future)
        task = loop.create_task(value())
        assert type(task) is Task
        assert loop.run_until_complete(task) == "of nobody"
        assert type(loop.create_future()) is Future
    coroutine = value()
    with contextlib.closing(coroutine), pytest.raises(RuntimeError, match="closed"):
        loop.create_task(coroutine)


@beside_asyncio
def test_a_task_factory_makes_the_tasks(make: type[asyncio.SelectorEventLoop]) -> None:
    async def value() -> int:
        return 1

    def factory(loop: asyncio.AbstractEventLoop, coro: Any, **named: Any) -> Any:
        made.append(coro)
        return asyncio.Task(coro, loop=loop, **named)

    made: list[Any] = []
    with contextlib.closing(make()) as loop:
        loop.set_task_factory(factory)
        assert loop.get_task_factory() is factory
        assert loop.run_until_complete(value()) == 1
        loop.set_task_factory(None)
        assert loop.run_until_complete(value()) == 1
    assert len(made) == 1


@beside_asyncio
def test_in_debug_mode_tasks_and_futures_name_their_maker(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    async def nothing() -> None:
        pass

    with contextlib.closing(make()) as loop:
        assert not loop.get_debug()
        loop.set_debug(True)
        assert loop.get_debug()
        future: Any = loop.create_future()
        task: Any = loop.create_task(nothing())
        mine = "test_in_debug_mode_tasks_and_futures_name_their_maker"
        assert mine in [frame.name for frame in future._source_traceback[-2:]]
        assert task._source_traceback[-1].name == mine
        loop.run_until_complete(task)


@beside_asyncio
def test_the_loop_reads_the_clock_of_asyncio_and_timers_that_of_the_loop(
    make: type[asyncio.SelectorEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.closing(make()) as loop:
        before = time.monotonic()
        assert before <= loop.time() <= time.monotonic()
        with monkeypatch.context() as patched:
            patched.setattr("time.monotonic", lambda: 7.0)
            assert loop.time() == 7.0
            assert loop.call_later(1, int).when() == 8.0
        loop.time = lambda: 70.0  # type: ignore[method-assign]
        assert loop.call_later(1, int).when() == 71.0


def test_the_default_loop_is_c_where_it_was_built() -> None:
    native = pytest.importorskip("wakeproof._native.aio", reason="not built: no Python.h")
    if not hasattr(native, "LoopCore"):
        pytest.skip("without the GIL it is Python")
    assert issubclass(aio.EventLoop, native.LoopCore)
    plain = "from wakeproof import aio; print(aio.EventLoop.__base__.__name__)"
    ended = subprocess.run(
        [sys.executable, "-c", plain],
        env={**os.environ, "WAKEPROOF_PLAIN": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "_PlainEventLoop\n"


@pytest.mark.parametrize("make", LOOPS)
def test_in_debug_mode_a_handle_names_its_caller(make: type[asyncio.SelectorEventLoop]) -> None:
    with contextlib.closing(make()) as loop:
        loop.set_debug(True)
        handle: Any = loop.call_soon_threadsafe(int)
        assert handle._source_traceback[-1].name == "test_in_debug_mode_a_handle_names_its_caller"


def test_a_closed_loop_refuses_calls() -> None:
    loop = aio.new_event_loop()
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon_threadsafe(int)
    loop._write_to_self()
    loop._asleep = True  # a call that was on its way when the loop was closed
    loop._write_to_self()


@beside_asyncio
def test_what_an_executor_returns_raises_or_has_not_begun_comes_to_its_await(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    async def turn() -> None:
        await asyncio.sleep(0)

    class Soon(concurrent.futures.Executor):
        """Has no thread, and a future of the loop."""

        def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Any:
            made.set_result(fn(*args))
            return made

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert await loop.run_in_executor(None, pow, 2, 3) == 8
        assert loop.run_in_executor(Soon(), pow, 2, 4) is made
        assert await made == 16
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(None, divmod, 1, 0)
        begun, may_end = threading.Event(), threading.Event()

        def first() -> None:
            begun.set()
            may_end.wait()

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = loop.run_in_executor(pool, first)
            begun.wait()
            called: list[int] = []
            waiting = loop.run_in_executor(pool, called.append, 1)
            running.cancel()
            waiting.cancel()
            await asyncio.wait([running, waiting])
            may_end.set()
        assert not called  # the cancel went on to the executor
        loop.set_debug(True)
        with pytest.raises(TypeError, match="coroutines cannot be used"):
            await loop.run_in_executor(None, turn)
        loop.set_debug(False)
        await loop.shutdown_default_executor()
        with pytest.raises(RuntimeError, match="Executor shutdown has been called"):
            await loop.run_in_executor(None, int)

    loop = make()
    made = loop.create_future()
    with contextlib.closing(loop):
        loop.run_until_complete(asyncio.wait_for(main(), PATIENCE_S))
    with pytest.raises(RuntimeError, match="loop is closed"):
        loop.run_in_executor(Soon(), int)


@each_loop
def test_what_an_executor_returns_after_the_close_of_the_loop_is_dropped(
    make: type[aio.EventLoop], caplog: pytest.LogCaptureFixture
) -> None:
    may_end = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with contextlib.closing(make()) as loop:
            waiter = loop.run_in_executor(pool, may_end.wait)
        may_end.set()
    assert not waiter.done()
    assert not caplog.records


@each_loop
@pytest.mark.parametrize("is_virtual", [False, True], ids=["thread", "virtual"])
@pytest.mark.parametrize("selector", [lambda: None, Interleaved], ids=["own", "given"])
def test_a_closed_loop_is_freed_without_the_garbage_collector(
    make: type[aio.EventLoop],
    is_virtual: bool,
    selector: Callable[[], selectors.BaseSelector | None],
    group: CarrierGroup,
) -> None:
    def use() -> weakref.ref[aio.EventLoop]:
        with contextlib.closing(make(selector())) as loop:
            loop.call_soon_threadsafe(int)
            loop.call_later(0.001, loop.stop)
            loop.run_forever()
        return weakref.ref(loop)

    gc.disable()
    try:
        found = VirtualThread(use, group=group).start().result(PATIENCE_S) if is_virtual else use()
        assert found() is None
    finally:
        gc.enable()


def test_a_loop_that_is_being_closed_by_another_thread_does_not_raise() -> None:
    loop = (aio.EventLoop if HAS_GIL else aio._PlainEventLoop)()  # that with a flag
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

    async def sleeps() -> None:
        thread.start()  # no sooner: on a busy machine the signal came before the run had begun
        await asyncio.sleep(PATIENCE_S)

    thread = threading.Thread(target=interrupt)
    begun = time.monotonic()
    with asyncio.Runner(loop_factory=aio.EventLoop) as runner:
        with pytest.raises(KeyboardInterrupt):
            run(runner, sleeps())
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


class Seen(asyncio.Protocol):
    """Notes what its transport tells it."""

    def __init__(self) -> None:
        self.data: list[bytes] = []
        self.told: list[object] = []

    def connection_made(self, _: asyncio.BaseTransport) -> None:
        self.told.append("made")

    def data_received(self, data: bytes) -> None:
        self.data.append(data)

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def connection_lost(self, exc: BaseException | None) -> None:
        self.told.append(type(exc))


@contextlib.contextmanager
def connected(
    make: type[asyncio.SelectorEventLoop], protocol: Seen
) -> Iterator[tuple[asyncio.SelectorEventLoop, Any, socket.socket]]:
    """Give a loop, a transport of it, and the other end, which is reset at its end."""
    ours, theirs = pair()
    with contextlib.closing(make()) as loop, theirs:
        made = loop.connect_accepted_socket(lambda: protocol, ours)
        transport, _ = loop.run_until_complete(made)
        yield loop, transport, theirs
        transport.abort()
        turn(loop)


def pair() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a connection by TCP."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]


def reset(sock: socket.socket) -> None:
    """Close a socket so that its peer gets an error."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.close()


def turn(loop: asyncio.AbstractEventLoop, seconds: float = 0) -> None:
    loop.run_until_complete(asyncio.sleep(seconds))


def until(loop: asyncio.AbstractEventLoop, condition: Callable[[], object]) -> None:
    """Run the loop until the condition holds."""

    async def wait() -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0.001)

    loop.run_until_complete(wait())


@beside_asyncio
@pytest.mark.parametrize("size", [1000, 50_000, 200_000])
def test_what_a_socket_does_not_take_at_once_is_sent_in_its_order(
    make: type[asyncio.SelectorEventLoop], size: int
) -> None:
    seen = Seen()
    with connected(make, seen) as (loop, transport, theirs):
        sent = b""
        while not transport.get_write_buffer_size():
            sent += bytes([len(sent) % 251]) * size
            transport.write(sent[-size:])
        got = [theirs.recv(len(sent) // 2, socket.MSG_WAITALL)]  # there is room again
        transport.write(b"not ")
        transport.write(bytearray(b"before "))
        transport.write(memoryview(b"it"))
        sent += b"not before it"

        def read() -> None:
            while sum(map(len, got)) < len(sent):
                got.append(theirs.recv(100_000))

        reader = threading.Thread(target=read)
        reader.start()
        until(loop, lambda: not reader.is_alive())
        assert b"".join(got) == sent
        assert seen.told[0] == "made"
        assert seen.told.count("pause") == seen.told.count("resume")


@beside_asyncio
def test_what_is_received_is_handed_on_as_bytes_until_reading_pauses(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    seen = Seen()
    with connected(make, seen) as (loop, transport, theirs):
        theirs.sendall(b"one")
        until(loop, lambda: seen.data)
        transport.pause_reading()
        theirs.sendall(b"two")
        turn(loop, 0.02)
        assert seen.data == [b"one"]
        transport.resume_reading()
        until(loop, lambda: len(seen.data) == 2)
        assert seen.data == [b"one", b"two"]
        theirs.close()
        until(loop, lambda: transport.is_closing())
        turn(loop)
        assert seen.told == ["made", type(None)]


@beside_asyncio
def test_nothing_is_received_once_the_connection_is_lost(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    seen = Seen()
    with connected(make, seen) as (_, transport, theirs):
        theirs.sendall(b"late")
        transport.abort()
        transport._read_ready()
        assert seen.data == []


@beside_asyncio
@pytest.mark.parametrize("does", ["receive", "send"])
def test_an_error_of_the_socket_closes_its_transport(
    make: type[asyncio.SelectorEventLoop], does: str
) -> None:
    seen = Seen()
    with connected(make, seen) as (loop, transport, theirs):
        if does == "send":
            transport.pause_reading()
        reset(theirs)
        if does == "send":
            time.sleep(0.02)
            transport.write(b"lost")
        until(loop, lambda: len(seen.told) > 1)
        assert seen.told == ["made", ConnectionResetError]
        transport.write(b"dropped")


@beside_asyncio
def test_a_transport_whose_socket_was_closed_sends_to_no_other_that_has_its_number(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    with connected(make, Seen()) as (loop, transport, _):
        number = transport._sock.fileno()
        other, peer = socket.socketpair()
        with other, peer:
            loop._remove_reader(number)  # type: ignore[attr-defined]
            transport._sock.close()
            os.dup2(other.fileno(), number)
            transport.write(b"astray")
            os.close(number)
            peer.setblocking(False)
            with pytest.raises(BlockingIOError):
                peer.recv(10)


@beside_asyncio
def test_what_a_protocol_raises_is_reported_and_closes_the_transport(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    class Broken(Seen):
        def data_received(self, data: bytes) -> None:
            raise LookupError(data)

    seen, contexts = Broken(), []
    with connected(make, seen) as (loop, transport, theirs):
        loop.set_exception_handler(lambda _, context: contexts.append(context))
        theirs.sendall(b"x")
        until(loop, lambda: len(seen.told) > 1)
        assert seen.told == ["made", LookupError]
        (context,) = contexts
        assert context["message"] == "Fatal error: protocol.data_received() call failed."
        assert (context["transport"], context["protocol"]) == (transport, seen)


@beside_asyncio
def test_a_protocol_that_is_interrupted_ends_the_loop(
    make: type[asyncio.SelectorEventLoop],
) -> None:
    class Interrupted(Seen):
        def data_received(self, _: bytes) -> None:
            raise KeyboardInterrupt

    with connected(make, Interrupted()) as (loop, _, theirs):
        theirs.sendall(b"x")
        with pytest.raises(KeyboardInterrupt):
            turn(loop, PATIENCE_S)


@beside_asyncio
def test_a_write_is_refused_as_asyncio_refuses_it(make: type[asyncio.SelectorEventLoop]) -> None:
    with connected(make, Seen()) as (_, transport, theirs):
        with pytest.raises(TypeError, match=r"data argument must be .*, not 'str'"):
            transport.write("text")
        transport.write(b"")
        transport.write_eof()
        with pytest.raises(RuntimeError, match="after write_eof"):
            transport.write(b"more")
        assert theirs.recv(10) == b""


@beside_asyncio
def test_a_signal_is_handled_beside_wakeups(make: type[asyncio.SelectorEventLoop]) -> None:
    with contextlib.closing(make()) as loop:
        seen: list[str] = []
        loop.add_signal_handler(signal.SIGUSR1, seen.append, "signal")
        loop.call_soon_threadsafe(seen.append, "call")
        in_thread(os.kill, os.getpid(), signal.SIGUSR1)
        until(loop, lambda: len(seen) == 2)
        assert sorted(seen) == ["call", "signal"]
