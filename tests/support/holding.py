# SPDX-License-Identifier: Apache-2.0
"""Calls that a test holds, and programs that end with a pool."""

from __future__ import annotations

import subprocess
import textwrap
from concurrent.futures import Future
from typing import Any

from tests.support.running import python
from tests.support.virtual import until

import wakeproof
from wakeproof import VirtualThreadPool


def holds(pool: VirtualThreadPool, count: int = 2) -> list[Future[Any]]:
    """Submit this many calls, which park."""
    futures = [pool.submit(wakeproof.park) for _ in range(count)]
    until(lambda: all(future.running() for future in futures))
    return futures


def let_go(pool: VirtualThreadPool) -> None:
    for call in list(pool._calls):
        if call.has_permit:
            call.thread.unpark()


def whole(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it as a program."""
    return python(textwrap.dedent(text), *arguments)


def run(text: str) -> str:
    """Run it as a program, which must print nothing on stderr and end with 0."""
    made = whole(text)
    assert (made.returncode, made.stderr) == (0, "")
    return made.stdout
