# SPDX-License-Identifier: Apache-2.0
"""OS threads and carriers that look for one another before they sleep (``_native/spin.h``)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.virtual import PATIENCE_S, until

from wakeproof import CarrierGroup, VirtualThreadPool
from wakeproof._runtime import core

pytestmark = pytest.mark.skipif(not core.IN_C, reason="only core.c looks")
CPUS = len(os.sched_getaffinity(0))


def looks() -> tuple[int, int]:
    """Return how many looks have missed, and have found what they looked for."""
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
