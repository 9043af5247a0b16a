# SPDX-License-Identifier: Apache-2.0
"""Calls of a `VirtualThreadPool` that a test holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import wakeproof
from wakeproof import VirtualThreadPool

PATIENCE_S = 60  # a lost call fails the test instead of hanging it


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


def holds(pool: VirtualThreadPool, count: int = 2) -> list[Future[Any]]:
    """Have so many calls run, which park."""
    futures = [pool.submit(wakeproof.park) for _ in range(count)]
    until(lambda: pool.statistics().running == count)
    return futures


def let_go(pool: VirtualThreadPool) -> None:
    for call in list(pool._calls):
        if call.has_permit:
            call.thread.unpark()
