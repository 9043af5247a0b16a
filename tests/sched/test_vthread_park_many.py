# SPDX-License-Identifier: Apache-2.0
"""Python virtual threads that take turns and wake one another, against VThread.tla."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator

import pytest
from tests.support.virtual import PATIENCE_S, parked

import wakeproof
from wakeproof import CarrierGroup, VirtualThread, park
from wakeproof._native.ffi import lib
from wakeproof._runtime import trampoline


@pytest.fixture
def group() -> Iterator[CarrierGroup]:
    group = CarrierGroup(1)
    yield group
    assert group.close(10) == []


def test_deep_stacks_of_several_threads_keep_apart(group: CarrierGroup) -> None:
    # They take turns on one C stack, also below C code; each finds its own as it was.
    def deep(n: int, depth: int) -> list[int]:
        if depth == 0:
            return sorted(range(20), key=lambda k: (wakeproof.yield_now(), -k * n)[1])
        found = [functools.reduce(lambda *_: deep(n, depth - 1), range(1), [])]
        wakeproof.yield_now()
        return found[0]

    threads = [VirtualThread(deep, n, 20 * abs(n), group=group).start() for n in (-3, 1, 2, -1)]
    told = [thread.result(PATIENCE_S) for thread in threads]
    up = list(range(20))
    assert told == [up, up[::-1], up[::-1], up]


def test_300_threads_wake_one_another_in_a_chain(group: CarrierGroup) -> None:
    # The JDK's ParkWithFixedThreadPool: each unparks the one before it.
    threads: list[VirtualThread] = []
    gate = VirtualThread(park, group=group).start()

    def body(n: int) -> None:
        gate.join()
        if n + 1 < 300:
            park()
        if n:
            threads[n - 1].unpark()

    threads += [VirtualThread(body, n, group=group) for n in range(300)]
    for thread in threads:
        thread.start()
    gate.unpark()
    assert all(thread.join(PATIENCE_S) for thread in threads)


def test_threads_that_yield_take_turns(group: CarrierGroup) -> None:
    # YieldFair: no thread is overtaken twice.
    order: list[int] = []

    def body(n: int) -> None:
        for _ in range(100):
            order.append(n)
            wakeproof.yield_now()

    begin = VirtualThread(
        lambda: [VirtualThread(body, n, group=group[0]).start() for n in range(3)], group=group
    ).start()
    for thread in begin.result(PATIENCE_S):
        assert thread.join(PATIENCE_S)
    assert order == [0, 1, 2] * 100


def test_every_sleeper_wakes(group: CarrierGroup) -> None:
    # SleepALot.
    def body(n: int) -> int:
        for _ in range(3):
            wakeproof.sleep(n % 7 / 10_000)
        return n

    threads = [VirtualThread(body, n, group=group).start() for n in range(500)]
    assert [thread.result(PATIENCE_S) for thread in threads] == list(range(500))


def test_an_unparker_in_another_thread_is_never_missed(group: CarrierGroup) -> None:
    # UnparkNotLost, between a carrier and an OS thread: each round needs the wake of the last one.
    rounds, came = 300, threading.Semaphore(0)

    def body() -> None:
        for _ in range(rounds):
            came.release()
            assert park(PATIENCE_S)

    thread = VirtualThread(body, group=group).start()
    for _ in range(rounds):
        assert came.acquire(timeout=PATIENCE_S)
        thread.unpark()
    assert thread.join(PATIENCE_S)


def test_the_twin_that_says_park_when_it_should_yield_is_seen(group: CarrierGroup) -> None:
    def twin() -> None:
        thread = wakeproof.current()
        assert thread is not None
        trampoline.leave(thread, lib.WP_STEP_PARK)

    assert VirtualThread(wakeproof.yield_now, group=group).start().join(PATIENCE_S)
    thread = VirtualThread(twin, group=group).start()
    parked(thread)
    assert not thread.join(0.01)
    thread.unpark()
    assert thread.join(PATIENCE_S)
