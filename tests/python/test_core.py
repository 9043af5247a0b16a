# SPDX-License-Identifier: Apache-2.0
"""The hot path of virtual threads in C, and the same in Python.

Serves specs/thread/Latch.tla and VThread.tla: the same tests judge both.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

from wakeproof import CarrierGroup, VirtualThread, coroutine, locations, yield_now
from wakeproof._runtime.here import ARE_OWN
from wakeproof._runtime.signal import Signal

PATIENCE_S = 300.0
SAME = (
    "tests/thread/test_vthread.py", "tests/python/test_trampoline.py",
    "tests/python/test_coroutine.py", "tests/sched/test_vthread_park.py",
    "tests/python/test_virtual_pool.py",
)  # fmt: skip


def test_the_same_tests_hold_without_c() -> None:
    judged = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SAME],
        cwd=locations.sources(),
        env={**os.environ, "WAKEPROOF_PLAIN": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert judged.returncode == 0, judged.stdout[-3000:]
    assert " passed" in judged.stdout


@pytest.mark.skipif(not ARE_OWN, reason="steps are Python here")
def test_threads_and_what_they_returned_are_freed() -> None:
    class Value:
        pass

    async def makes() -> Value:
        await coroutine.yield_now()
        return Value()

    def calls() -> Value:
        yield_now()
        return Value()

    with CarrierGroup(1) as group:
        for fn in (makes, calls):
            thread = VirtualThread(fn, group=group).start()
            value, gone = weakref.ref(thread.result(PATIENCE_S)), weakref.ref(thread)
            assert value() is not None
            del thread
            gc.collect()
            assert (value(), gone()) == (None, None)


def test_a_wait_of_a_closed_coroutine_leaves_the_list() -> None:
    # The awaitable is dropped with the coroutine; a waiter that stayed would be woken when dead.
    group = CarrierGroup(1)
    signal = Signal()

    async def waits() -> None:
        await signal.until(thread, 2**62)

    thread = VirtualThread(waits, group=group).start()
    while thread.state != "parked":
        pass
    assert len(signal._waiters) == 1
    group.close(timeout_s=0, cancel=True)
    gc.collect()
    assert signal._waiters == []
    signal.set()


def test_os_threads_and_virtual_threads_wait_for_one_signal() -> None:
    for _ in range(50):
        signal, came = Signal(), threading.Semaphore(0)

        def waits(signal: Signal = signal, came: threading.Semaphore = came) -> None:
            assert signal.wait(PATIENCE_S)
            came.release()

        with CarrierGroup(2) as group:
            others = [threading.Thread(target=waits) for _ in range(3)]
            for other in others:
                other.start()
            ours = [VirtualThread(waits, group=group).start() for _ in range(3)]
            signal.set()
            for thread in ours:
                thread.result(PATIENCE_S)
            for other in others:
                other.join(PATIENCE_S)
            assert all(came.acquire(timeout=PATIENCE_S) for _ in range(6))


def test_a_signal_calls_everybody_also_after_an_exception() -> None:
    signal, called = Signal(), list[int]()

    def fails() -> None:
        called.append(1)
        raise KeyError

    signal.call(fails)
    signal.call(lambda: called.append(2))
    with pytest.raises(KeyError):
        signal.set()
    assert (called, signal.is_set) == ([1, 2], True)
