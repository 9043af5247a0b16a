# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in a `with` block of Mutex, Condition or Semaphore leaves it free, whenever it comes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.support.virtual import PATIENCE_S

from wakeproof import Condition, Mutex, Semaphore
from wakeproof._runtime.locks import ARE_WHOLE

TRIES, LIMIT_S = 400, 5.0
SOON_S = 0.0002  # in which a loop of only the block enters it some hundred times
BETWEEN = 10_000
"""After so many the GIL is given up: Python 3.11 can forget a signal until a thread takes it."""


@contextmanager
def alarmed() -> Iterator[None]:
    """Let SIGALRM raise KeyboardInterrupt, as Ctrl-C does."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def first_taken(enter: Callable[[], object], is_free: Callable[[], bool]) -> int | None:
    """Interrupt loops of `enter` at any moment; return the first try that leaves it taken."""
    end = time.monotonic() + LIMIT_S
    with alarmed():
        for number in range(TRIES):
            try:
                signal.setitimer(signal.ITIMER_REAL, SOON_S)
                while True:
                    for _ in range(BETWEEN):
                        enter()
                    time.sleep(0)
            except KeyboardInterrupt:
                if not is_free():
                    return number
            if time.monotonic() > end and number > TRIES / 4:
                break
    return None


def made(what: str) -> tuple[Mutex | Condition | Semaphore, Mutex | Semaphore]:
    """Return the object of the block, and a function that takes it."""
    if what == "semaphore":
        semaphore = Semaphore(1)
        return semaphore, semaphore
    condition = Condition()
    return (condition.mutex if what == "mutex" else condition), condition.mutex


@pytest.mark.slow
@pytest.mark.skipif(not ARE_WHOLE, reason="_native/locks.c is not built: no Python.h")
@pytest.mark.parametrize("company", ["alone", "beside a thread that takes it as well"])
@pytest.mark.parametrize("what", ["mutex", "condition", "wait", "semaphore"])
def test_an_interrupt_in_a_with_block_leaves_the_lock_free(what: str, company: str) -> None:
    block, lock = made(what)
    over = threading.Event()

    def enter() -> None:
        with block:
            if what == "wait":
                assert isinstance(block, Condition)
                block.wait(0)

    def other() -> None:
        while not over.is_set():
            with block:
                pass

    def is_free() -> bool:
        timeout_s = 0 if company == "alone" else PATIENCE_S / 6
        has = lock.acquire(timeout_s=timeout_s)
        if has:
            lock.release()
        return has

    beside = threading.Thread(target=other, daemon=True)
    if company != "alone":
        beside.start()
    try:
        taken = first_taken(enter, is_free)
    finally:
        over.set()
    assert taken is None, f"try {taken} leaves it taken"
    if company != "alone":
        beside.join(PATIENCE_S)
        assert not beside.is_alive()
