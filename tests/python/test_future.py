# SPDX-License-Identifier: Apache-2.0
"""A virtual thread that waits for a future parks, and its carrier goes on.

One carrier without stealing: a thread that blocks it would hang, and so would its test.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from typing import Any

import pytest
from tests.support.holding import run
from tests.support.virtual import PATIENCE_S, until

import wakeproof
from wakeproof import (
    CarrierGroup,
    QueuedThreadPool,
    ThreadInterruptedError,
    VirtualThread,
    VirtualThreadExecutor,
    VirtualThreadPool,
    coroutine,
)
from wakeproof._runtime import future as own
from wakeproof._runtime.future import SteadyLock
from wakeproof._runtime.line import IS_OWN
from wakeproof._runtime.signal import anyway

Make = Callable[[CarrierGroup], Executor]
MAKES: dict[str, Make] = {
    "virtual": lambda group: VirtualThreadPool(4, group=group),
    "of one": lambda group: VirtualThreadPool(1, group=group),
    "unbounded": lambda group: VirtualThreadPool(None, group=group),
    "thread per task": lambda group: VirtualThreadExecutor(group),
}


@pytest.fixture
def one() -> Iterator[CarrierGroup]:
    with CarrierGroup(1) as group:
        yield group


@pytest.fixture(params=MAKES)
def pool(request: pytest.FixtureRequest, one: CarrierGroup) -> Iterator[Executor]:
    with MAKES[request.param](one) as pool:
        yield pool


def test_a_call_that_waits_for_a_call_of_its_pool_lets_it_run(pool: Executor) -> None:
    def outer() -> int:
        return pool.submit(pow, 2, 3).result(PATIENCE_S)

    assert pool.submit(outer).result(PATIENCE_S) == 8


def test_a_map_within_a_map_ends(pool: Executor) -> None:
    def size(count: int) -> int:
        return count if count < 2 else sum(pool.map(size, [count // 2, count - count // 2]))

    assert pool.submit(size, 33).result(PATIENCE_S) == 33


def test_coroutine_functions_that_wait_for_calls_of_their_pool_end(pool: Executor) -> None:
    async def size(count: int) -> int:
        if count < 2:
            return count
        parts = [pool.submit(size, part) for part in (count // 2, count - count // 2)]
        return sum([await coroutine.result(part, PATIENCE_S) for part in parts])  # type: ignore[misc]

    assert pool.submit(size, 17).result(PATIENCE_S) == 17  # type: ignore[comparison-overlap]


def test_no_more_run_than_may_though_calls_wait_for_calls(one: CarrierGroup) -> None:
    running, most = 0, 0

    def leaf() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        wakeproof.sleep(0.001)
        running -= 1

    def outer() -> None:
        for future in [pool.submit(leaf) for _ in range(5)]:
            future.result(PATIENCE_S)
        leaf()  # with a permit again

    with VirtualThreadPool(2, group=one) as pool:
        for future in [pool.submit(outer) for _ in range(5)]:
            future.result(PATIENCE_S)
        assert most == 2
        until(lambda: pool.statistics().ended == 30)
        assert pool.statistics().running == 0


def test_a_call_that_is_interrupted_while_it_waits_has_its_permit_again(one: CarrierGroup) -> None:
    gate = wakeproof.Semaphore(0)

    def outer() -> str:
        inner = pool.submit(gate.acquire)
        try:
            inner.result(PATIENCE_S)
        except ThreadInterruptedError:
            return f"interrupted, {pool.statistics().running} run"
        return "not interrupted"

    with VirtualThreadPool(1, group=one) as pool:
        future = pool.submit(outer)
        until(lambda: pool.statistics().running == 1 and len(pool._calls) == 2)
        call = next(iter(pool._calls))
        until(lambda: not call.has_permit and call.thread.state == "parked")
        call.thread.interrupt()
        until(lambda: not call.thread.is_interrupted())  # its wait has heard of it
        gate.release()
        assert future.result(PATIENCE_S) == "interrupted, 1 run"
    assert pool.statistics().running == 0


@pytest.mark.parametrize("make", ["group", "queued", "virtual"])
def test_each_of_our_futures_parks_who_waits(make: str, one: CarrierGroup) -> None:
    gate = threading.Event()

    def held(submit: Callable[..., Future[Any]]) -> Any:
        future = submit(gate.wait, PATIENCE_S)
        with pytest.raises(TimeoutError):
            future.result(0)
        return future.result(PATIENCE_S), future.exception()

    with CarrierGroup(1) as other, QueuedThreadPool(2, min_threads=0) as queued:
        submits: dict[str, Callable[..., Future[Any]]] = {
            "group": other.submit,
            "queued": queued.submit,
            "virtual": VirtualThreadExecutor(other).submit,
        }
        waits = VirtualThread(held, submits[make], group=one).start()
        opens = VirtualThread(gate.set, group=one).start()  # on the carrier of the waiting thread
        assert opens.join(PATIENCE_S)
        assert waits.result(PATIENCE_S) == (True, None)


def test_a_wait_for_several_parks(pool: Executor) -> None:
    def outer() -> object:
        futures = [pool.submit(pow, 2, power) for power in range(5)]
        done = sorted(future.result(0) for future in as_completed(futures, PATIENCE_S))
        if is_of_one:  # the parked thread has its only permit
            return done, True, True
        held = pool.submit(wakeproof.park, PATIENCE_S)
        quick = pool.submit(int)
        first = wait([quick, held], PATIENCE_S, FIRST_COMPLETED)
        too_early = wait([held], 0.001)
        return done, quick in first.done, held in too_early.not_done

    is_of_one = isinstance(pool, VirtualThreadPool) and pool.statistics().max_tasks == 1
    held = pool.submit(outer)
    until(lambda: held.done())
    assert held.result(0) == ([1, 2, 4, 8, 16], True, True)
    assert isinstance(pool, VirtualThreadPool)
    for call in list(pool._calls):
        call.thread.unpark()


def test_who_waits_for_a_future_that_is_cancelled_is_told(one: CarrierGroup) -> None:
    gate = threading.Event()
    with QueuedThreadPool(1, min_threads=0) as queued:
        running = queued.submit(gate.wait, PATIENCE_S)
        until(running.running)
        pending = queued.submit(int)
        waits = VirtualThread(pending.result, PATIENCE_S, group=one).start()
        until(lambda: waits.state == "parked")
        pending.cancel()
        with pytest.raises(CancelledError):
            waits.result(PATIENCE_S)
        gate.set()


def test_an_interrupt_ends_the_wait_for_a_future(one: CarrierGroup) -> None:
    with VirtualThreadPool(1, group=one) as pool:
        future = pool.submit(wakeproof.park)
        waits = VirtualThread(future.result, group=one).start()
        until(lambda: waits.state == "parked")
        waits.interrupt()
        with pytest.raises(ThreadInterruptedError):
            waits.result(PATIENCE_S)
        next(iter(pool._calls)).thread.unpark()


def test_a_coroutine_awaits_the_future_of_any_executor(one: CarrierGroup) -> None:
    async def asks() -> tuple[int, str]:
        with pytest.raises(TimeoutError):
            await coroutine.result(Future(), 0.001)
        with pytest.raises(KeyError):
            await coroutine.result(threads.submit({}.__getitem__, 3), PATIENCE_S)
        return await coroutine.result(threads.submit(pow, 2, 3), PATIENCE_S), "done"

    with ThreadPoolExecutor(1) as threads:
        assert VirtualThread(asks, group=one).start().result(PATIENCE_S) == (8, "done")


def test_a_shutdown_from_a_call_of_the_pool_waits_for_the_others_and_ends(pool: Executor) -> None:
    ended: list[int] = []

    def other(number: int) -> None:
        wakeproof.yield_now()
        ended.append(number)

    def last() -> list[int]:
        for number in range(5):
            pool.submit(other, number)
        pool.shutdown(wait=True)
        return sorted(ended)

    assert pool.submit(last).result(PATIENCE_S) == [0, 1, 2, 3, 4]
    pool.shutdown(wait=True)


def test_two_calls_that_shut_down_their_pool_both_end(one: CarrierGroup) -> None:
    for made in (VirtualThreadPool(2, group=one), VirtualThreadExecutor(one)):
        gate = wakeproof.Semaphore(0)

        def ends(pool: Executor, gate: wakeproof.Semaphore = gate) -> None:
            gate.acquire()
            pool.shutdown()

        with made as pool:
            futures = [pool.submit(ends, pool) for _ in range(2)]
            gate.release(2)
            assert [future.result(PATIENCE_S) for future in futures] == [None, None]


def test_a_pool_of_os_threads_is_shut_down_by_its_own_call() -> None:
    pool = QueuedThreadPool(2, min_threads=0)
    pool.submit(pool.shutdown).result(PATIENCE_S)
    pool.shutdown()


def test_a_virtual_thread_that_shuts_down_a_pool_of_os_threads_parks(one: CarrierGroup) -> None:
    gate, pool = threading.Event(), QueuedThreadPool(1, min_threads=0)
    pool.submit(gate.wait, PATIENCE_S)
    waits = VirtualThread(pool.shutdown, group=one).start()
    VirtualThread(gate.set, group=one).start()
    assert waits.join(PATIENCE_S)


@pytest.mark.slow
def test_asyncio_in_a_virtual_thread_awaits_calls_of_the_default_pool() -> None:
    # Its loop blocks a carrier in the system; the other one takes the tasks queued there.
    said = run("""
        import asyncio
        from wakeproof import CarrierGroup, VirtualThread, VirtualThreadPool, default_group
        async def main():
            with VirtualThreadPool(4) as pool:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(pool, pow, 2, 3)
        if len(default_group()) > 1:
            print(VirtualThread(asyncio.run, main()).start().result(30))
        else:
            print(8)
    """)
    assert said == "8\n"


@pytest.mark.slow
def test_a_map_within_a_map_ends_in_the_default_pool() -> None:
    said = run("""
        from wakeproof import VirtualThreadPool
        with VirtualThreadPool() as pool:
            def size(n):
                return n if n < 2 else sum(pool.map(size, [n // 2, n - n // 2]))
            print(pool.submit(size, 500).result(30))
    """)
    assert said == "500\n"


def test_asyncio_waits_for_our_futures(one: CarrierGroup) -> None:
    async def main() -> list[int]:
        return await asyncio.gather(
            *(asyncio.wrap_future(pool.submit(pow, 2, power)) for power in range(4))
        )

    with VirtualThreadPool(2, group=one) as pool:
        assert asyncio.run(main()) == [1, 2, 4, 8]


def cancelled_while_its_lock_is_taken(group: CarrierGroup) -> Future[None]:
    """Return the future of a call, cancelled before it began; the call found its lock taken."""
    is_over = threading.Event()
    with VirtualThreadPool(2, group=group) as pool:
        begun = threading.Event()

        def spins() -> None:
            begun.set()
            while not is_over.is_set():
                pass

        pool.submit(spins)
        assert begun.wait(PATIENCE_S)
        future = pool.submit(print)  # it has a permit, and no carrier
        thread = pool._alive()[-1]
        with future._condition:  # type: ignore[attr-defined]
            assert future.cancel()
            is_over.set()
            until(lambda: thread.state == "parked" or not thread.is_alive())
    return future


@pytest.mark.skipif(not IS_OWN, reason="locks block their carriers here")
def test_a_cancelled_call_tells_its_waiters_although_its_lock_was_taken(
    one: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not wait([cancelled_while_its_lock_is_taken(one)], PATIENCE_S).not_done
    monkeypatch.setattr(SteadyLock, "acquire", SteadyLock.__base__.acquire)
    monkeypatch.setattr(SteadyLock, "__enter__", SteadyLock.__base__.acquire)
    assert wait([cancelled_while_its_lock_is_taken(one)], 0.1).not_done  # a twin


@pytest.mark.skipif(not IS_OWN, reason="locks block their carriers here")
@pytest.mark.parametrize("waits_for", [wait, lambda futures: list(as_completed(futures))])
def test_an_interrupted_wait_leaves_no_future_locked(
    one: CarrierGroup, waits_for: Callable[[list[Future[Any]]], object]
) -> None:
    futures: list[Any] = sorted((own.Future() for _ in range(2)), key=id)  # as they are locked

    def waits() -> None:
        with pytest.raises(ThreadInterruptedError):
            waits_for(futures)

    with futures[1]._condition:
        thread = VirtualThread(waits, group=one).start()
        until(lambda: thread.state == "parked")
        thread.interrupt()
        until(lambda: not thread.is_interrupted())  # the wait has heard of it
    thread.result(PATIENCE_S)
    assert all(future._condition.acquire(timeout=PATIENCE_S) for future in futures)


@pytest.mark.skipif(not IS_OWN, reason="locks block their carriers here")
@pytest.mark.parametrize("waits_for", [wait, lambda futures: list(as_completed(futures))])
def test_who_sets_a_result_and_is_interrupted_wakes_who_waits(
    one: CarrierGroup,
    installed: None,  # noqa: ARG001
    waits_for: Callable[[list[Future[Any]]], object],
) -> None:
    future: Any = own.Future()
    waiting = threading.Thread(target=waits_for, args=([future],), daemon=True)
    waiting.start()
    until(lambda: future._waiters)
    with future._waiters[0].lock:  # as another future that ends at the same time has it
        thread = VirtualThread(future.set_result, 1, group=one).start()
        until(lambda: thread.state == "parked")
        thread.interrupt()
        until(lambda: not thread.is_interrupted())  # the wait has heard of it
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()


def test_an_interrupt_that_ends_no_wait_is_not_forgotten_when_the_wait_fails(
    one: CarrierGroup,
) -> None:
    begun = iter([ThreadInterruptedError("an interrupt"), KeyboardInterrupt()])

    def waits() -> bool:
        def step() -> None:
            raise next(begun)

        with pytest.raises(KeyboardInterrupt):
            anyway(step)
        thread = wakeproof.current()
        assert thread is not None
        return thread.is_interrupted()

    assert VirtualThread(waits, group=one).start().result(PATIENCE_S)
