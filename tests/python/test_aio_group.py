# SPDX-License-Identifier: Apache-2.0
"""`wakeproof.aio.LoopGroup`: coroutines and virtual threads of one carrier await one another."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support.virtual import parked, until

import wakeproof
from wakeproof import (
    CarrierGroup,
    Compensation,
    Latch,
    ThreadInterruptedError,
    VirtualThread,
    aio,
    coroutine,
    current,
    park,
    pinned,
    sleep,
    yield_now,
)
from wakeproof._runtime.here import ARE_OWN
from wakeproof._runtime.loop_sleep import LoopSleep
from wakeproof.errors import (
    ClosedError,
    DeadlineError,
    StateError,
    UnsupportedError,
    UsageError,
    WrongThreadError,
)

PATIENCE_S = 20.0
LOST_S = 0.3  # a twin's sleep as long as this has missed its wakeup
CARRIERS = 1
if not ARE_OWN:
    pytest.skip("needs what Python.h gives", allow_module_level=True)


@pytest.fixture
def loops(group: CarrierGroup) -> Iterator[aio.LoopGroup]:
    """Return loops on one carrier."""
    with aio.LoopGroup(group) as loops:
        yield loops


def running() -> aio.EventLoop:
    """Return the running loop, which is one of ours."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, aio.EventLoop)
    return loop


def virtual(group: CarrierGroup, fn: Callable[..., Any], *args: Any) -> Any:
    """Call the function in a virtual thread; return what it returns, or raise what it raises."""
    return VirtualThread(fn, *args, group=group).start().result(PATIENCE_S)


async def add(one: int, other: int) -> int:
    await asyncio.sleep(0.001)
    return one + other


def test_threads_and_coroutines_of_one_carrier_call_one_another(
    group: CarrierGroup, loops: aio.LoopGroup
) -> None:
    def thread(depth: int) -> int:
        assert group.running() is group[0]
        sleep(0.001)
        return aio.await_(task(depth - 1)) + 1 if depth else 0

    async def task(depth: int) -> int:
        assert running() is loops[0]
        await asyncio.sleep(0.001)
        return await running().run_in_vthread(thread, depth) + 1

    assert loops.run(task(3), PATIENCE_S) == 7
    assert virtual(group, thread, 3) == 6


# Wakeups.


class ByPipe(aio.EventLoop):
    """A twin: it wakes a loop in a virtual thread as one in an OS thread."""

    def _send(self) -> None:
        sleeps, self._sleep = self._sleep, None
        super()._send()
        self._sleep = sleeps


def parks_and_sends(group: CarrierGroup, make: type[aio.EventLoop]) -> tuple[int, int, int]:
    """Let 200 threads and coroutines wake one another; count what costs a system call."""

    async def one() -> None:
        pass

    async def main() -> tuple[int, int, int]:
        loop = running()
        await loop.run_in_vthread(int)
        before = group[0].counts.parks, loop.statistics()
        for _ in range(100):
            await loop.run_in_vthread(aio.await_, one())
        after = loop.statistics()
        return (
            group[0].counts.parks - before[0],
            after.sent - before[1].sent,
            after.unparked - before[1].unparked,
        )

    original, aio.EventLoop = aio.EventLoop, make  # type: ignore[misc]
    try:
        with aio.LoopGroup(group) as loops:
            return loops.run(main(), PATIENCE_S)
    finally:
        aio.EventLoop = original  # type: ignore[misc]


def test_wakeups_within_a_carrier_make_no_system_call(group: CarrierGroup) -> None:
    parks, sent, unparked = parks_and_sends(group, aio.EventLoop)
    assert sent == 0
    assert unparked >= 100
    assert parks < 10  # a carrier that never slept was never woken


def test_a_loop_that_is_woken_by_its_pipe_pays_for_each_wakeup(group: CarrierGroup) -> None:
    assert parks_and_sends(group, ByPipe)[1] >= 100


class NoUnpark(aio.EventLoop):
    """A twin: a call that finds the loop parked does not unpark it."""

    def _send(self) -> None:
        pass


class NoAnnouncement(aio.EventLoop):
    """A twin: it parks without an announcement."""

    def _block(self, select: Any, timeout: float | None = None) -> Any:
        return select(timeout)


class NoSecondLook(aio.EventLoop):
    """A twin: it does not look at its queue after the announcement."""

    def _block(self, select: Any, timeout: float | None = None) -> Any:
        self._asleep = True
        try:
            return select(timeout)
        finally:
            self._asleep = False


def slept_s(
    group: CarrierGroup,
    make: type[aio.EventLoop],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_announced: bool,
    lost_s: float,
) -> float:
    """Let an OS thread stop a loop right before its announcement or its park; time the sleep."""
    loop = make()
    do = [0]

    def act() -> None:
        if do.pop() if do else False:
            thread = threading.Thread(target=loop.call_soon_threadsafe, args=(loop.stop,))
            thread.start()
            thread.join()

    original = LoopSleep.select, make._block

    def select(self: LoopSleep, look: Any, timeout: float | None) -> Any:
        if is_announced:
            act()
        return original[0](self, look, timeout)

    def block(self: Any, look: Any, timeout: float | None = None) -> Any:
        if not is_announced:
            act()
        return original[1](self, look, timeout)

    def body() -> float:
        with contextlib.closing(loop):
            loop.call_soon(lambda: do.append(1))
            loop.call_later(lost_s, loop.stop)
            begun = time.monotonic()
            loop.run_forever()
            return time.monotonic() - begun

    with monkeypatch.context() as patch:
        patch.setattr(LoopSleep, "select", select)
        patch.setattr(make, "_block", block)
        return virtual(group, body)  # type: ignore[no-any-return]


@pytest.mark.parametrize("make", [aio.EventLoop, aio._PlainEventLoop, aio._FencedEventLoop])
@pytest.mark.parametrize("is_announced", [False, True])
def test_a_call_before_the_announcement_or_the_park_ends_the_sleep(
    group: CarrierGroup,
    make: type[aio.EventLoop],
    monkeypatch: pytest.MonkeyPatch,
    is_announced: bool,
) -> None:
    slept = slept_s(group, make, monkeypatch, is_announced=is_announced, lost_s=PATIENCE_S)
    assert slept < PATIENCE_S / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "is_announced"), [(NoUnpark, True), (NoAnnouncement, True), (NoSecondLook, False)]
)
def test_a_loop_without_one_of_the_steps_sleeps_on(
    group: CarrierGroup,
    make: type[aio.EventLoop],
    monkeypatch: pytest.MonkeyPatch,
    is_announced: bool,
) -> None:
    slept = slept_s(group, make, monkeypatch, is_announced=is_announced, lost_s=LOST_S)
    assert slept >= LOST_S * 0.9


def test_an_executor_wakes_a_loop_that_is_parked(loops: aio.LoopGroup) -> None:
    async def main() -> list[int]:
        return [await asyncio.to_thread(pow, 2, number) for number in range(50)]

    assert loops.run(main(), PATIENCE_S) == [2**number for number in range(50)]


def test_threads_coroutines_and_os_threads_wait_for_one_another_at_random() -> None:
    seen: list[int] = []
    many = 40

    def thread(depth: int) -> None:
        if random.random() < 0.5:
            yield_now()
        if depth:
            aio.await_(task(depth - 1))
        seen.append(depth)

    async def task(depth: int) -> None:
        if random.random() < 0.5:
            await asyncio.sleep(random.random() / 1000)
        if random.random() < 0.3:
            await asyncio.to_thread(int)
        if depth:
            await running().run_in_vthread(thread, depth - 1)
        seen.append(depth)

    with (
        CarrierGroup(2, work_stealing=True) as group,
        aio.LoopGroup(group) as loops,
        ThreadPoolExecutor(2) as pool,
    ):
        outside = [pool.submit(loops.run, task(4), PATIENCE_S) for _ in range(many)]
        inside = [VirtualThread(thread, 4, group=group).start() for _ in range(many)]
        for each in [*outside, *inside]:
            each.result(PATIENCE_S)
    assert sorted(seen) == sorted(list(range(5)) * (2 * many))


def test_a_busy_loop_leaves_its_carrier_to_threads_and_to_their_sockets(
    loops: aio.LoopGroup,
) -> None:
    seen: list[object] = []

    def thread() -> None:
        one, other = wakeproof.io.socketpair()
        for number in range(5):
            yield_now()
            one.sendall(bytes([number]))
            seen.append(other.recv(1)[0])
        one.close()
        other.close()

    async def main() -> None:
        task = asyncio.create_task(running().run_in_vthread(thread))
        while not task.done():
            await asyncio.sleep(0)
        await task

    loops.run(main(), PATIENCE_S)
    assert seen == list(range(5))


def test_a_busy_loop_that_does_not_yield_keeps_its_carrier(
    loops: aio.LoopGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    monkeypatch.setattr(LoopSleep, "turn", LoopSleep.look)

    async def main() -> int:
        task = asyncio.create_task(running().run_in_vthread(ran.append, 1))
        for _ in range(1000):
            await asyncio.sleep(0)
        came = len(ran)
        await task
        return came

    assert loops.run(main(), PATIENCE_S) == 0
    monkeypatch.undo()
    ran.clear()
    assert loops.run(main(), PATIENCE_S) == 1


# Descriptors and timers.


def bytes_read(loops: aio.LoopGroup, lost_s: float, *, is_busy: bool) -> list[bytes]:
    """Let a loop read what came at once byte by byte, and what comes later."""
    one, other = socket.socketpair()
    one.setblocking(False)
    seen: list[bytes] = []

    async def main() -> None:
        loop = running()
        done = asyncio.Event()

        def read() -> None:
            seen.append(one.recv(1))
            if len(seen) == 3:
                loop.call_later(0.005, other.send, b"d")
            if len(seen) == 4:
                done.set()

        loop.add_reader(one, read)
        loop.call_later(0.005, other.send, b"abc")
        while is_busy and not done.is_set():
            await asyncio.sleep(0)
        await done.wait()
        loop.remove_reader(one)

    with one, other, contextlib.suppress(DeadlineError):
        loops.run(main(), lost_s)
    return seen


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_loop_finds_each_event_of_its_descriptors(loops: aio.LoopGroup, is_busy: bool) -> None:
    assert bytes_read(loops, PATIENCE_S, is_busy=is_busy) == [b"a", b"b", b"c", b"d"]


@pytest.mark.slow
@pytest.mark.parametrize("is_busy", [False, True])
def test_a_loop_that_looks_once_for_each_edge_misses_what_is_left(
    loops: aio.LoopGroup, monkeypatch: pytest.MonkeyPatch, is_busy: bool
) -> None:
    original = LoopSleep.look

    def look(self: LoopSleep, look: Any) -> Any:
        before = wakeproof._native.ffi.lib.wp__io_look(self.io, 0)
        found = original(self, look)
        self.seen = before
        return found

    monkeypatch.setattr(LoopSleep, "look", look)
    assert len(bytes_read(loops, LOST_S, is_busy=is_busy)) < 4


def test_streams_timers_and_threads_of_a_loop_on_a_carrier(loops: aio.LoopGroup) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(await running().run_in_vthread(line.upper))
        writer.close()
        await writer.wait_closed()
        ended.release()

    async def client(address: Any) -> bytes:
        reader, writer = await asyncio.open_connection(*address)
        found = b""
        for number in range(20):
            await asyncio.sleep(0.0001)
            writer.write(b"line %d\n" % number)
            found = await reader.readline()
        writer.close()
        await writer.wait_closed()
        await ended.acquire()
        return found

    ended = asyncio.Semaphore(0)

    async def main() -> list[bytes]:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server:
            address = server.sockets[0].getsockname()
            return await asyncio.gather(*[client(address) for _ in range(5)])

    assert loops.run(main(), PATIENCE_S) == [b"LINE 19\n"] * 5


def test_a_loop_in_any_virtual_thread_parks_it(group: CarrierGroup) -> None:
    others: list[int] = []

    async def main() -> int:
        VirtualThread(others.append, 1, group=group).start()
        await asyncio.sleep(0.02)
        return len(others)

    def body() -> int:
        with asyncio.Runner(loop_factory=aio.EventLoop) as runner:
            return runner.run(main())

    assert virtual(group, body) == 1

    def bare() -> int:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            return runner.run(main())

    others.clear()
    assert virtual(group, bare) == 0  # asyncio's own loop blocks the carrier


def test_each_thread_of_a_carrier_has_its_own_running_loop_and_hooks(loops: aio.LoopGroup) -> None:
    import sys

    async def numbers() -> Any:
        yield sys.get_asyncgen_hooks().firstiter

    async def main() -> tuple[Any, ...]:
        ours = await anext(numbers())
        theirs = await running().run_in_vthread(sys.get_asyncgen_hooks)
        with pytest.raises(RuntimeError, match="no running"):
            await running().run_in_vthread(asyncio.get_running_loop)
        return ours, theirs.firstiter

    ours, theirs = loops.run(main(), PATIENCE_S)
    assert ours is not None
    assert theirs is None


# Exceptions, contexts, bad calls.


@pytest.mark.parametrize("error", [ValueError("one"), StopIteration(1), SystemExit(3)])
def test_an_await_raises_what_the_thread_raises(loops: aio.LoopGroup, error: BaseException) -> None:
    def fail() -> None:
        raise error

    async def main() -> object:
        try:
            await running().run_in_vthread(fail)
        except BaseException as raised:
            return raised.__cause__ if isinstance(error, StopIteration) else raised
        return None

    assert loops.run(main(), PATIENCE_S) is error


def test_a_thread_raises_what_its_coroutine_raises(
    group: CarrierGroup, loops: aio.LoopGroup
) -> None:
    async def fail() -> None:
        raise KeyError("one")

    async def give_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(KeyError, match="one"):
        virtual(group, aio.await_, fail())
    with pytest.raises(KeyError, match="one"):
        loops.run(fail(), PATIENCE_S)
    with pytest.raises(CancelledError):
        virtual(group, aio.await_, give_up())


variable = contextvars.ContextVar("variable", default="nothing")


def test_threads_and_tasks_start_with_copies_of_the_callers_context(loops: aio.LoopGroup) -> None:
    async def task() -> str:
        found = variable.get()
        variable.set("of the task")
        return found

    def thread() -> tuple[str, str, str]:
        found = variable.get()
        variable.set("of the thread")
        return found, aio.await_(task()), variable.get()

    async def main() -> tuple[tuple[str, str, str], str]:
        variable.set("of main")
        return await running().run_in_vthread(thread), variable.get()

    assert loops.run(main(), PATIENCE_S) == (
        ("of main", "of the thread", "of the thread"),
        "of main",
    )


def test_arguments_are_passed(loops: aio.LoopGroup) -> None:
    async def main() -> Any:
        return await running().run_in_vthread(sorted, [2, 3, 1], reverse=True)

    assert loops.run(main(), PATIENCE_S) == [3, 2, 1]


def test_a_loop_in_an_os_thread_runs_threads_in_the_default_group() -> None:
    async def main() -> Any:
        with pytest.raises(UsageError, match="coroutine"):
            await running().run_in_vthread(main)
        with pytest.raises(UsageError, match="callable"):
            await running().run_in_vthread(3)  # type: ignore[arg-type]
        return await running().run_in_vthread(lambda: current() is not None)

    with asyncio.Runner(loop_factory=aio.EventLoop) as runner:
        assert runner.run(main())


def test_a_coroutine_function_in_a_virtual_thread_awaits_the_future_of_a_task(
    group: CarrierGroup, loops: aio.LoopGroup
) -> None:
    async def refused() -> None:
        aio.await_(add(1, 2))

    with pytest.raises(StateError, match=r"run_coroutine_threadsafe\(coroutine, loop\)"):
        virtual(group, refused)

    async def awaits() -> int:
        return await coroutine.result(asyncio.run_coroutine_threadsafe(add(1, 2), loops[0]))

    assert virtual(group, awaits) == 3

    async def late() -> None:
        future = asyncio.run_coroutine_threadsafe(asyncio.sleep(PATIENCE_S), loops[0])
        try:
            await coroutine.result(future, 0.01)
        finally:
            future.cancel()

    with pytest.raises(TimeoutError):
        virtual(group, late)


def test_calls_in_the_wrong_place_are_refused(group: CarrierGroup, loops: aio.LoopGroup) -> None:
    with pytest.raises(UsageError, match="async function"):
        loops.run(3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="group is 5; allowed: a CarrierGroup"):
        aio.LoopGroup(5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="timeout_s"):
        loops.run(add(1, 2), -1)
    with pytest.raises(WrongThreadError):
        aio.await_(add(1, 2))
    with pytest.raises(StateError, match="cannot park"):
        group.submit(loops.run, add(1, 2)).result()

    def in_pinned() -> None:
        with pinned():
            aio.await_(add(1, 2))

    with pytest.raises(StateError, match="cannot park"):
        virtual(group, in_pinned)

    async def inside(call: Callable[..., object], *args: Any) -> None:
        call(*args)

    with pytest.raises(StateError, match="await it"):
        loops.run(inside(aio.await_, add(1, 2)), PATIENCE_S)
    with pytest.raises(StateError, match="from outside"):
        loops.run(inside(loops.close), PATIENCE_S)
    with pytest.raises(StateError, match="would block the event loop"):
        loops.run(inside(aio.Channel(1).receive), PATIENCE_S)
    with pytest.raises(StateError, match="has a LoopGroup"):
        aio.LoopGroup(group)
    with CarrierGroup(1) as other, pytest.raises(StateError, match="no event loops"):
        virtual(other, aio.await_, add(1, 2))
    with (
        CarrierGroup(1, compensation=Compensation(spare_carriers=1)) as spares,
        pytest.raises(StateError, match="spare"),
    ):
        aio.LoopGroup(spares)


def test_without_values_of_its_own_for_each_thread_there_are_no_loops(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wakeproof.aio_group.ARE_OWN", False)
    with pytest.raises(UnsupportedError, match=r"Python\.h"):
        aio.LoopGroup(group)


def test_a_group_of_several_carriers_has_a_loop_on_each() -> None:
    async def where() -> aio.EventLoop:
        return running()

    with CarrierGroup(2) as group, aio.LoopGroup(group) as loops:
        assert len(loops) == 2
        assert list(loops) == [loops[0], loops[1]]
        assert {loops.run(where()) for _ in range(2)} == set(loops)
        for carrier in group:
            thread = carrier.factory(pinned=True)(aio.await_, where())
            assert thread.result(PATIENCE_S) is loops[carrier.index]
    assert loops.closed
    loops.close()


# Cancellation and deadlines.


def test_a_cancel_interrupts_the_thread_and_waits_for_its_end(loops: aio.LoopGroup) -> None:
    seen: list[str] = []

    def thread() -> None:
        try:
            park()
        except ThreadInterruptedError:
            sleep(0.02)
            seen.append("thread")
            raise

    async def main() -> None:
        task = asyncio.create_task(running().run_in_vthread(thread))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        seen.append("task")
        assert task.cancelled()

    loops.run(main(), PATIENCE_S)
    assert seen == ["thread", "task"]


def test_a_cancel_is_not_swallowed_by_a_thread_that_returns(loops: aio.LoopGroup) -> None:
    def thread() -> int:
        with contextlib.suppress(ThreadInterruptedError):
            park()
        return 1

    def fail() -> None:
        try:
            park()
        except ThreadInterruptedError as error:
            raise ValueError("its own") from error

    async def main() -> None:
        for body, raised in ((thread, asyncio.CancelledError), (fail, ValueError)):
            task = asyncio.create_task(running().run_in_vthread(body))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(raised):
                await task

    loops.run(main(), PATIENCE_S)


def test_each_cancel_interrupts_the_thread_once_more(loops: aio.LoopGroup) -> None:
    seen: list[int] = []

    def thread() -> None:
        while len(seen) < 3:
            with contextlib.suppress(ThreadInterruptedError):
                park()
            seen.append(1)

    async def main() -> None:
        task = asyncio.create_task(running().run_in_vthread(thread))
        for count in range(1, 4):
            await asyncio.sleep(0.005)
            task.cancel()
            while len(seen) < count:
                await asyncio.sleep(0.001)
        with pytest.raises(asyncio.CancelledError):
            await task

    loops.run(main(), PATIENCE_S)


def test_a_timeout_of_asyncio_ends_the_thread(loops: aio.LoopGroup) -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await running().run_in_vthread(sleep, PATIENCE_S)

    begun = time.monotonic()
    loops.run(main(), PATIENCE_S)
    assert time.monotonic() - begun < PATIENCE_S / 2


def test_an_interrupt_from_elsewhere_is_the_threads_exception(loops: aio.LoopGroup) -> None:
    def thread() -> None:
        me = current()
        assert me is not None
        me.interrupt()
        park()

    async def main() -> None:
        with pytest.raises(ThreadInterruptedError):
            await running().run_in_vthread(thread)

    loops.run(main(), PATIENCE_S)


@pytest.mark.usefixtures("loops")
def test_an_interrupted_thread_cancels_its_task_and_waits_for_its_end(group: CarrierGroup) -> None:
    seen: list[str] = []
    begun: list[bool] = []

    async def task() -> None:
        begun.append(True)
        try:
            await asyncio.sleep(PATIENCE_S)
        except asyncio.CancelledError:
            await asyncio.sleep(0.02)
            seen.append("task")
            raise

    def thread() -> None:
        with pytest.raises(ThreadInterruptedError):
            aio.await_(task())
        seen.append("thread")
        assert not wakeproof.interrupted()

    waits = parked(VirtualThread(thread, group=group).start())
    until(lambda: begun)  # a task that has not begun is cancelled without a word
    waits.interrupt()
    waits.result(PATIENCE_S)
    assert seen == ["task", "thread"]


@pytest.mark.usefixtures("loops")
def test_an_interrupt_is_not_swallowed_by_a_task_that_returns(group: CarrierGroup) -> None:
    async def swallow() -> int:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(PATIENCE_S)
        return 1

    async def fail() -> None:
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            raise ValueError("its own")

    for awaited, raised in ((swallow(), ThreadInterruptedError), (fail(), ValueError)):
        waits = parked(VirtualThread(aio.await_, awaited, group=group).start())
        waits.interrupt()
        with pytest.raises(raised):
            waits.result(PATIENCE_S)


@pytest.mark.usefixtures("loops")
def test_an_interrupt_during_the_cancel_cancels_once_more_and_stays_set(
    group: CarrierGroup,
) -> None:
    seen: list[int] = []

    async def task() -> None:
        for number in range(2):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(PATIENCE_S)
            seen.append(number)

    def thread() -> bool:
        with pytest.raises(ThreadInterruptedError):
            aio.await_(task())
        return wakeproof.interrupted()

    waits = VirtualThread(thread, group=group).start()
    for number in range(2):
        parked(waits).interrupt()
        until(lambda number=number: len(seen) > number)
    assert waits.result(PATIENCE_S)
    assert seen == [0, 1]


def test_a_deadline_cancels_the_task_unless_it_returns(
    group: CarrierGroup, loops: aio.LoopGroup
) -> None:
    ended: list[bool] = []

    async def task(returns: bool) -> int:
        try:
            await asyncio.sleep(PATIENCE_S)
        except asyncio.CancelledError:
            ended.append(True)
            if not returns:
                raise
        return 7

    with pytest.raises(DeadlineError, match=r"within 0\.01 s"):
        virtual(group, aio.await_, task(False), 0.01)
    assert ended == [True]
    assert virtual(group, aio.await_, task(True), 0.01) == 7
    with pytest.raises(TimeoutError):
        loops.run(task(False), 0.01)


def test_ctrl_c_in_an_os_thread_cancels_the_task(loops: aio.LoopGroup) -> None:
    ended: list[bool] = []

    async def task() -> None:
        running().call_later(0.2, os.kill, os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        loops.run(task(), PATIENCE_S)
    assert ended == [True]


# Shutdown.


def test_a_close_ends_what_waits_in_both_directions(group: CarrierGroup) -> None:
    ended: list[str] = []
    begun = Latch()

    def thread() -> None:
        begun.open()
        try:
            park()
        finally:
            ended.append("thread")

    async def waits_for_thread() -> None:
        await running().run_in_vthread(thread)

    loops = aio.LoopGroup(group)
    outer = VirtualThread(aio.await_, waits_for_thread(), group=group).start()
    begun.wait(PATIENCE_S)
    waits = parked(VirtualThread(aio.await_, asyncio.sleep(PATIENCE_S), group=group).start())
    loops.close()
    assert ended == ["thread"]
    for each in (outer, waits):
        with pytest.raises(ClosedError, match="were closed"):
            each.result(PATIENCE_S)
    with pytest.raises(ClosedError):
        loops.run(add(1, 2))
    with pytest.raises(StateError, match="no event loops"):
        virtual(group, aio.await_, add(1, 2))
    with aio.LoopGroup(group) as others:
        assert others.run(add(1, 2), PATIENCE_S) == 3


def test_a_call_that_the_loop_never_takes_ends_with_the_close(
    loops: aio.LoopGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wakeproof.aio_group._Await._start", lambda _self: None)
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(loops.run, add(1, 2))
        until(lambda: loops._awaits)
        loops.close()
        with pytest.raises(ClosedError):
            waits.result(PATIENCE_S)


def test_a_call_that_comes_when_the_tasks_were_cancelled_begins_nothing(
    group: CarrierGroup,
) -> None:
    """Nobody would cancel its task any more."""
    is_ending, goes_on = threading.Event(), threading.Event()

    async def generate() -> Any:
        try:
            yield
        finally:
            is_ending.set()  # the loop ends its generators after its tasks
            await asyncio.to_thread(goes_on.wait, PATIENCE_S)

    async def keep() -> None:
        generator = generate()
        kept.append(generator)
        await anext(generator)

    kept: list[Any] = []
    loops = aio.LoopGroup(group)
    loops.run(keep())
    with ThreadPoolExecutor(1) as pool:
        closes = pool.submit(loops.close)
        assert is_ending.wait(PATIENCE_S)
        try:
            with pytest.raises(ClosedError, match="were closed"):
                loops.run(add(1, 2))
        finally:
            goes_on.set()
        closes.result(PATIENCE_S)


def test_a_thread_that_is_interrupted_by_the_close_may_await(group: CarrierGroup) -> None:
    log: list[int] = []

    def thread() -> None:
        begun.open()
        try:
            park()
        finally:
            log.append(aio.await_(add(1, 2)))

    async def waits_for_thread() -> None:
        await running().run_in_vthread(thread)

    begun = Latch()
    with ThreadPoolExecutor(1) as pool, aio.LoopGroup(group) as loops:
        waits = pool.submit(loops.run, waits_for_thread())
        begun.wait(PATIENCE_S)
        loops.close()
        with pytest.raises(ClosedError):
            waits.result(PATIENCE_S)
    assert log == [3]


def loop_sleeps() -> list[LoopSleep]:
    return [each for each in gc.get_objects() if isinstance(each, LoopSleep)]


def test_a_group_that_is_cancelled_first_leaves_nothing_that_waits() -> None:
    of_others = set(map(id, earlier := loop_sleeps()))
    group = CarrierGroup(1)
    loops = aio.LoopGroup(group)
    waits = parked(VirtualThread(aio.await_, asyncio.sleep(PATIENCE_S), group=group).start())
    assert {each.name for each in group.close(0, cancel=True)} == {waits.name, "loop-0"}
    sleeps = [each for each in loop_sleeps() if id(each) not in of_others]
    assert sleeps
    assert all(each.has_left for each in sleeps)
    del earlier  # alive until here, so that no other object has its number
    loops.close()
    with pytest.raises(ClosedError):
        waits.result(PATIENCE_S)
    with pytest.raises(ClosedError):
        aio.LoopGroup(group)


def test_a_group_whose_loops_cannot_start_has_none(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no descriptor")

    monkeypatch.setattr("wakeproof.aio.EventLoop", fail)
    with pytest.raises(OSError, match="no descriptor"):
        aio.LoopGroup(group)
    monkeypatch.undo()
    with aio.LoopGroup(group) as loops:
        assert loops.run(add(1, 2), PATIENCE_S) == 3


def test_a_loop_that_has_ended_leaves_no_descriptor(group: CarrierGroup) -> None:
    def count() -> int:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir()))

    with aio.LoopGroup(group):
        pass
    before = count()
    for _ in range(5):
        with aio.LoopGroup(group) as loops:
            loops.run(add(1, 2), PATIENCE_S)
    assert count() == before


def test_a_channel_between_a_thread_and_a_coroutine_of_one_carrier(loops: aio.LoopGroup) -> None:
    channel = aio.Channel[int](2)

    def thread() -> None:
        for number in range(100):
            channel.send(number)
        channel.close()

    async def main() -> list[int]:
        sends = asyncio.create_task(running().run_in_vthread(thread))
        found = [number async for number in channel]
        await sends
        return found

    assert loops.run(main(), PATIENCE_S) == list(range(100))
