# SPDX-License-Identifier: Apache-2.0
"""A virtual thread for each call, against specs/thread/VThread.tla (TerminationVisible)."""

from __future__ import annotations

import sys
import time
from concurrent.futures import wait
from threading import Event, Thread

import pytest
from tests.support.virtual import until

import wakeproof
from wakeproof import (
    CarrierGroup,
    ClosedError,
    ThreadInterruptedError,
    VirtualThread,
    VirtualThreadExecutor,
    coroutine,
)

PATIENCE_S = 60  # a lost call fails the test instead of hanging it


def test_each_call_has_a_thread_of_its_own() -> None:
    with CarrierGroup(1) as group, VirtualThreadExecutor(group) as executor:
        futures = [executor.submit(wakeproof.current) for _ in range(100)]
        assert not wait(futures, PATIENCE_S).not_done
        threads = [future.result() for future in futures]
        assert len(set(threads)) == 100
        assert list(executor.map(abs, (-1, -2))) == [1, 2]


def test_keywords_are_the_callables_own() -> None:
    # It took `name` for the thread, and refused `group`.
    async def waits(*given: int, **more: str) -> object:
        await coroutine.yield_now()
        return given, more

    with CarrierGroup(1) as group, VirtualThreadExecutor(group) as executor:
        more = {"name": "ada", "group": "users"}
        assert executor.submit(dict, **more).result(PATIENCE_S) == more
        assert executor.submit(waits, 1, **more).result(PATIENCE_S) == ((1,), more)
        error = executor.submit(3, **more).exception(PATIENCE_S)  # type: ignore[arg-type]
        assert isinstance(error, TypeError)


def test_calls_may_be_coroutine_functions_and_may_fail() -> None:
    async def fails() -> None:
        await coroutine.yield_now()
        raise KeyError("lost")

    with CarrierGroup(1) as group, VirtualThreadExecutor(group) as executor:
        error = executor.submit(fails).exception(PATIENCE_S)
    assert isinstance(error, KeyError)


def test_a_shutdown_waits_and_refuses_what_comes_later() -> None:
    with CarrierGroup(1) as group:
        executor = VirtualThreadExecutor(group)
        futures = [executor.submit(wakeproof.sleep, 0.001) for _ in range(20)]
        executor.shutdown()
        assert all(future.done() for future in futures)
        with pytest.raises(ClosedError, match="after shutdown"):
            executor.submit(int)


def test_a_call_that_has_not_begun_is_cancelled() -> None:
    gate = Event()
    with CarrierGroup(1) as group, VirtualThreadExecutor(group) as executor:
        blocks = executor.submit(gate.wait, PATIENCE_S)  # the carrier
        futures = [executor.submit(int) for _ in range(2)]
        assert futures[0].cancel()
        until(blocks.running)
        executor.shutdown(wait=False, cancel_futures=True)
        assert [future.cancelled() for future in futures] == [True, True]
        gate.set()
        assert blocks.result(PATIENCE_S)


def test_a_call_runs_in_the_group_of_its_caller() -> None:
    with VirtualThreadExecutor() as executor, CarrierGroup(1) as group:
        call = VirtualThread(executor.submit, wakeproof.current, group=group).start().result()
        assert call.result(PATIENCE_S)._group is group


def test_a_shutdown_that_cancels_interrupts() -> None:
    with CarrierGroup(1) as group:
        executor = VirtualThreadExecutor(group)
        future = executor.submit(wakeproof.park)
        until(future.running)
        executor.shutdown(cancel_futures=True)
        assert isinstance(future.exception(PATIENCE_S), ThreadInterruptedError)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_callback_that_exits_leaves_nobody_waiting() -> None:
    # A shutdown that came after the callback waited for ever.
    with CarrierGroup(1) as group:
        executor = VirtualThreadExecutor(group)
        future = executor.submit(wakeproof.park)
        future.add_done_callback(lambda _: sys.exit("callback"))
        (thread,) = executor._alive()
        shutdown = Thread(target=executor.shutdown, daemon=True)
        shutdown.start()
        while not executor._has_ended._waiters:
            time.sleep(0.001)
        thread.unpark()
        shutdown.join(PATIENCE_S)
        assert not shutdown.is_alive()


def test_a_close_of_the_group_fails_what_had_not_ended() -> None:
    group = CarrierGroup(1)
    executor = VirtualThreadExecutor(group)
    future = executor.submit(wakeproof.park)
    group.close(cancel=True)
    assert isinstance(future.exception(PATIENCE_S), ClosedError)
    executor.shutdown()
    with pytest.raises(ClosedError):
        VirtualThreadExecutor(group).submit(int)
