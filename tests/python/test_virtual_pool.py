# SPDX-License-Identifier: Apache-2.0
"""A pool that bounds running calls, against specs/sync/Semaphore.tla (PermitBalance, InOrder)."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait
from typing import Any

import pytest
from tests.support.holding import holds, let_go
from tests.support.virtual import PATIENCE_S, until

import wakeproof
from wakeproof import CarrierGroup, VirtualThreadPool, coroutine
from wakeproof.errors import UsageError


@pytest.fixture
def pool(either_group: CarrierGroup) -> Iterator[VirtualThreadPool]:
    """Two calls at once."""
    with VirtualThreadPool(2, group=either_group) as made:
        yield made
    told = made.statistics()
    assert told.ended == told.submitted
    assert (told.running, told.waiting) == (0, 0)
    assert made._permits is not None
    assert made._permits.permits == 2


def test_at_most_so_many_run_and_submit_never_waits(pool: VirtualThreadPool) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def run(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        wakeproof.sleep(0.0001)
        with lock:
            running -= 1
        return number

    futures = [pool.submit(run, number) for number in range(200)]
    assert [future.result(PATIENCE_S) for future in futures] == list(range(200))
    assert 1 <= most <= 2


def test_a_submitter_is_not_blocked_by_calls_that_wait(pool: VirtualThreadPool) -> None:
    held = holds(pool)
    waiting = [pool.submit(abs, -number) for number in range(50)]
    until(lambda: pool.statistics().waiting == 50)
    assert not any(future.done() or future.running() for future in waiting)
    let_go(pool)
    assert [future.result(PATIENCE_S) for future in [*held, *waiting]][2:] == list(range(50))


def test_calls_begin_in_their_order() -> None:
    began: list[int] = []
    with CarrierGroup(1) as group, VirtualThreadPool(1, group=group) as pool:
        assert not wait([pool.submit(began.append, n) for n in range(100)], PATIENCE_S).not_done
    assert began == list(range(100))


def test_a_cancelled_call_leaves_the_line_at_once(pool: VirtualThreadPool) -> None:
    holds(pool)
    futures = [pool.submit(abs, -number) for number in range(10)]
    assert all(future.cancel() for future in futures[::2])
    until(lambda: pool.statistics().waiting == 5)
    assert len(wait(futures, 0).done) == 5
    with pytest.raises(CancelledError):
        futures[0].result()
    let_go(pool)
    assert [future.result(PATIENCE_S) for future in futures[1::2]] == [1, 3, 5, 7, 9]


@pytest.mark.parametrize("error", [KeyError("lost"), SystemExit(3), KeyboardInterrupt()])
def test_a_failure_is_the_futures_and_gives_the_permit_back(
    pool: VirtualThreadPool, error: BaseException
) -> None:
    def fails() -> None:
        raise error

    async def fails_later() -> None:
        await coroutine.yield_now()
        raise error

    futures = [pool.submit(fn) for fn in (fails, fails_later) * 4]
    assert all(future.exception(PATIENCE_S) is error for future in futures)
    assert pool.submit(abs, -1).result(PATIENCE_S) == 1


def test_what_cannot_be_called_fails_as_it_does_in_python(pool: VirtualThreadPool) -> None:
    assert isinstance(pool.submit(3).exception(PATIENCE_S), TypeError)  # type: ignore[arg-type]
    assert isinstance(pool.submit(abs).exception(PATIENCE_S), TypeError)


def test_coroutine_functions_are_bounded_as_well(pool: VirtualThreadPool) -> None:
    async def later(number: int, *, by: int) -> int:
        await coroutine.sleep(0.0001)
        return number + by

    futures = [pool.submit(later, number, by=1) for number in range(20)]
    assert [future.result(PATIENCE_S) for future in futures] == list(range(1, 21))


def test_who_waits_is_on_no_carrier() -> None:
    # It has no stack yet, so another carrier runs it when its own one is blocked.
    gate = threading.Event()
    with (
        CarrierGroup(2, work_stealing=True) as group,
        VirtualThreadPool(1, group=group) as pool,
    ):
        assert pool._permits is not None
        pool._permits.acquire()
        try:
            future = pool.submit(group.running)
            until(lambda: [call.thread.state for call in pool._calls] == ["parked"])
            (call,) = pool._calls
            home = call.thread.home
            blocked = home.factory(pinned=True)(gate.wait, PATIENCE_S)
            until(lambda: blocked.state == "running")
        finally:  # after a failure too: the pool waits for its calls
            pool._permits.release()
        try:
            assert future.result(PATIENCE_S) not in (None, home)
        finally:
            gate.set()


def test_a_map_has_a_timeout_and_a_size_of_chunks(pool: VirtualThreadPool) -> None:
    assert list(pool.map(pow, range(9), range(9), chunksize=4)) == [n**n for n in range(9)]
    holds(pool)
    with pytest.raises(TimeoutError):
        list(pool.map(abs, range(3), timeout=0.001))
    until(lambda: pool.statistics().waiting == 0)  # the map has cancelled them
    let_go(pool)


def test_asyncio_uses_it(pool: VirtualThreadPool) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        calls = [loop.run_in_executor(pool, abs, -number) for number in range(50)]
        assert await asyncio.gather(*calls) == list(range(50))
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(pool, divmod, 1, 0)

    asyncio.run(main())


def test_a_pool_without_a_bound_runs_all(either_group: CarrierGroup) -> None:
    with VirtualThreadPool(None, group=either_group) as pool:
        holds(pool, 300)
        assert pool.statistics().waiting == 0
        let_go(pool)


def test_a_dump_shows_who_runs_and_who_waits(either_group: CarrierGroup) -> None:
    with VirtualThreadPool(1, group=either_group, thread_name_prefix="web", tracking=True) as pool:
        holds(pool, 1)
        pool.submit(int)
        until(lambda: [c.thread.state for c in pool._calls] == ["parked", "parked"])
        text, told = io.StringIO(), io.StringIO()
        pool.dump(text)
        pool.dump(told, format="json")
        let_go(pool)
    assert '"web_0 park" virtual, parked' in text.getvalue()
    assert "running 1\nwaiting 1\n" in text.getvalue()
    dumped = json.loads(told.getvalue())["threadDump"]
    assert (dumped["max_tasks"], dumped["submitted"]) == ("1", "2")
    (container,) = dumped["threadContainers"]
    stacks = {thread["name"]: " ".join(thread["stack"]) for thread in container["threads"]}
    assert "_wait_for_permit" in stacks["web_1 int"]
    assert "_wait_for_permit" not in stacks["web_0 park"]


@pytest.mark.parametrize("given", [0, -1, 2**31, "many", 1.5, True])
def test_a_bound_is_a_number(given: Any) -> None:
    with pytest.raises(UsageError, match="max_workers"):
        VirtualThreadPool(given)


@pytest.mark.parametrize("given", ["", " ", 3, "a\0b"])
def test_a_prefix_is_a_name(given: Any, group: CarrierGroup) -> None:
    with pytest.raises(UsageError, match="is "):
        VirtualThreadPool(group=group, name_prefix=given)
