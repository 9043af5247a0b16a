# SPDX-License-Identifier: Apache-2.0
"""Calls that a test holds, and programs that end with a pool."""

from __future__ import annotations

import subprocess
import sys
import textwrap
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
    until(lambda: all(future.running() for future in futures))
    return futures


def let_go(pool: VirtualThreadPool) -> None:
    for call in list(pool._calls):
        if call.has_permit:
            call.thread.unpark()


def whole(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it as a program."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *arguments],
        capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip


def run(text: str) -> str:
    """Run it as a program, which must say nothing on stderr and end with 0."""
    made = whole(text)
    assert (made.returncode, made.stderr) == (0, "")
    return made.stdout
