# SPDX-License-Identifier: Apache-2.0
"""OS threads and carriers that look for one another before they sleep (``_native/spin.h``)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from tests.support.virtual import PATIENCE_S, until

from wakeproof import CarrierGroup, VirtualThread, VirtualThreadPool, coroutine
from wakeproof._runtime import core
from wakeproof._runtime.brief import HAS_GIL

pytestmark = pytest.mark.skipif(not core.IN_C, reason="only core.c looks")
CPUS = len(os.sched_getaffinity(0))


def looks() -> tuple[int, int, int, int]:
    """Return how many looks have missed, and have found something.

    And how many steps followed others: after one that woke an OS thread, and without.
    """
    from wakeproof._native import own

    return own.looks()


def busy(seconds: float) -> None:
    """Take that long, at least."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def trips(then: Callable[[VirtualThreadPool], object]) -> None:
    """Make some round trips, from an OS thread to a carrier, of which neither has looked before."""

    def run() -> None:
        with CarrierGroup(1) as group, VirtualThreadPool(group=group) as pool:
            assert [pool.submit(abs, -n).result() for n in range(10)] == list(range(10))
            then(pool)

    with ThreadPoolExecutor(1) as os_thread:
        os_thread.submit(run).result(PATIENCE_S)


@pytest.mark.skipif(CPUS < 2, reason="with one CPU nobody looks")
def test_those_that_take_turns_find_one_another() -> None:
    found = looks()[1]

    def have_met() -> bool:
        trips(lambda _: None)
        return looks()[1] > found

    until(have_met)


def test_who_waits_for_long_looks_seldom() -> None:
    waits, missed = 300, looks()[0]
    with CarrierGroup(1) as group, VirtualThreadPool(group=group) as pool:
        for _ in range(waits):
            pool.submit(busy, 0.0002).result()
            busy(0.0002)
    assert looks()[0] - missed < waits / 4  # each has waited as often: 600 waits in all


def test_a_start_that_nobody_asks_for_runs() -> None:
    def start(pool: VirtualThreadPool) -> None:  # at once, when the carrier may look for it
        ran = threading.Event()
        pool.submit(ran.set)
        assert ran.wait(PATIENCE_S / 2)

    for _ in range(50):
        trips(start)


def ready(pool: VirtualThreadPool, count: int) -> list[Future[int]]:
    """Give the pool calls of C, all of which are ready before the first one runs."""
    go = threading.Event()
    pool.submit(go.wait)  # it blocks the carrier
    futures = [pool.submit(abs, -n) for n in range(count)]
    go.set()
    return futures


@pytest.mark.skipif(not HAS_GIL, reason="without the GIL nobody waits for it")
def test_steps_follow_one_another_once_an_os_thread_waits_for_the_gil() -> None:
    followed = looks()[2]

    def have_followed() -> bool:
        with CarrierGroup(1) as group, VirtualThreadPool(group=group) as pool:
            assert [future.result() for future in ready(pool, 500)] == list(range(500))
        return looks()[2] > followed

    until(have_followed)


@pytest.mark.skipif(not HAS_GIL, reason="without the GIL nobody waits for it")
def test_a_carrier_keeps_the_gil_for_32_steps_at_a_time() -> None:
    async def turns() -> None:
        for _ in range(count // 4):
            await coroutine.yield_now()

    def start() -> None:
        for thread in [VirtualThread(turns).start() for _ in range(4)]:
            thread.join()

    count, followed = 100_000, looks()[3]
    with CarrierGroup(1) as group:
        VirtualThread(start, group=group).start().join()
    share = (looks()[3] - followed) / count
    assert 0.9 < share < 33 / 34  # 32 of 33 follow another one; a few poll


@pytest.mark.skipif(CPUS < 2, reason="with one CPU nobody looks")
def test_steps_that_follow_one_another_let_an_os_thread_go_on() -> None:
    def has_come_between() -> bool:
        with CarrierGroup(1) as group, VirtualThreadPool(group=group) as pool:
            futures = ready(pool, 20_000)
            futures[0].result()
            return not futures[-1].done()

    until(has_come_between)
