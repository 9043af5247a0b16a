# SPDX-License-Identifier: Apache-2.0
"""Python's calls on a pool of OS threads, against Pool.tla (StopDrainsOnce) and Python."""

from __future__ import annotations

import gc
import io
import os
import signal
import threading
import time
import weakref
from concurrent.futures import CancelledError, Future, wait
from typing import Any

import pytest
from tests.support.holding import run
from tests.support.virtual import PATIENCE_S, until

from wakeproof import CarrierGroup, ClosedError, QueuedThreadPool, VirtualThread
from wakeproof._runtime import pool_jobs
from wakeproof.errors import StateError, UsageError


def held(pool: QueuedThreadPool, gate: threading.Event, count: int) -> list[Future[Any]]:
    """Submit this many calls, which wait for the gate."""
    futures = [pool.submit(gate.wait, PATIENCE_S) for _ in range(count)]
    until(lambda: all(future.running() for future in futures))
    return futures


def test_it_grows_with_what_is_to_be_done_and_queues_the_rest() -> None:
    gate = threading.Event()
    with QueuedThreadPool(3, min_threads=1) as pool:
        futures = [*held(pool, gate, 3), *(pool.submit(abs, -number) for number in range(5))]
        told = pool.statistics()
        assert (told.threads, told.idle, told.queued, told.accepted) == (3, 0, 5, 8)
        assert told.is_low
        gate.set()
        assert [future.result(PATIENCE_S) for future in futures[3:]] == [0, 1, 2, 3, 4]
    told = pool.statistics()
    assert (told.threads, told.queued, told.finished, told.closed) == (0, 0, 8, 0)
    assert told.is_closed


def test_who_has_nothing_to_do_leaves() -> None:
    with QueuedThreadPool(3, min_threads=0, idle_timeout_s=0.001) as pool:
        assert pool.submit(abs, -1).result(PATIENCE_S) == 1
        until(lambda: pool.statistics().threads == 0)
        assert pool.statistics().left == 1
        assert pool.submit(abs, -2).result(PATIENCE_S) == 2


@pytest.mark.parametrize("error", [KeyError("lost"), SystemExit(3), KeyboardInterrupt()])
def test_a_failure_is_the_futures_and_keeps_the_thread(error: BaseException) -> None:
    def fails() -> None:
        raise error

    with QueuedThreadPool(1, min_threads=1) as pool:
        futures = [pool.submit(fails) for _ in range(5)]
        assert all(future.exception(PATIENCE_S) is error for future in futures)
        assert pool.statistics().started == 1


def test_a_reserved_thread_takes_a_call_at_once_or_nobody_does() -> None:
    with QueuedThreadPool(4, min_threads=1, reserved_threads=1) as pool:
        assert pool.try_execute(abs, -1) is None  # started lazily
        until(lambda: pool.statistics().reserved == 1)
        future = pool.try_execute(abs, -1)
        assert future is not None
        assert future.result(PATIENCE_S) == 1
    assert pool.try_execute(abs, -1) is None


def test_a_shutdown_that_cancels_tells_who_waits() -> None:
    gate = threading.Event()
    pool = QueuedThreadPool(2, min_threads=2)
    futures = held(pool, gate, 2)
    queued = [pool.submit(int) for _ in range(20)]
    assert queued[0].cancel()
    pool.shutdown(wait=False, cancel_futures=True)
    assert wait(queued, 0).done == set(queued)
    with pytest.raises(CancelledError):
        queued[1].result(0)
    assert all(future.running() for future in futures)
    gate.set()
    pool.shutdown()
    assert [future.result(0) for future in futures] == [True, True]
    assert pool.statistics().closed == 20
    with pytest.raises(ClosedError, match="cannot schedule new futures after shutdown"):
        pool.submit(int)


def test_a_stop_runs_the_queue_for_half_of_its_time_and_then_cancels_it() -> None:
    gate = threading.Event()
    pool = QueuedThreadPool(1, min_threads=1, reserved_threads=0)
    running = held(pool, gate, 1)
    queued = [pool.submit(int) for _ in range(3)]
    assert not pool.stop(0.02)
    assert all(future.cancelled() for future in queued)
    assert not pool.stop(0)
    gate.set()
    assert pool.stop()
    assert running[0].result(0) is True
    with pytest.raises(ClosedError):
        pool.submit(int)


def test_a_stop_with_time_runs_all(either_group: CarrierGroup) -> None:
    pool = QueuedThreadPool(1, min_threads=1, reserved_threads=0)
    futures = [pool.submit(time.sleep, 0.001) for _ in range(20)]
    stops = VirtualThread(pool.stop, PATIENCE_S, group=either_group).start()
    assert stops.result(PATIENCE_S) is True
    assert [future.result(0) for future in futures] == [None] * 20
    with pytest.raises(UsageError, match="timeout_s is -1"):
        pool.stop(-1)


def test_ctrl_c_ends_the_wait_of_a_shutdown() -> None:
    gate = threading.Event()
    pool = QueuedThreadPool(2, min_threads=2)
    held(pool, gate, 1)

    def interrupts() -> None:
        while not gate.is_set():  # CPython may sleep although a signal has just come
            os.kill(os.getpid(), signal.SIGINT)
            gate.wait(PATIENCE_S / 6)

    def interrupted() -> None:
        pool.submit(interrupts)
        pool.shutdown()

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    gate.set()
    pool.shutdown()
    assert pool.statistics().finished == 2


def test_a_pool_that_nobody_has_runs_all_and_is_freed() -> None:
    gate = threading.Event()
    pool = QueuedThreadPool(1, min_threads=1)
    gone = weakref.ref(pool)
    futures = [*held(pool, gate, 1), *(pool.submit(abs, -number) for number in range(5))]
    del pool
    gc.collect()
    assert gone() is None
    gate.set()
    assert [future.result(PATIENCE_S) for future in futures[1:]] == [0, 1, 2, 3, 4]
    until(lambda: pool_jobs.reap() or not pool_jobs._leaving)


def test_a_dump_says_what_each_thread_calls() -> None:
    gate = threading.Event()
    with QueuedThreadPool(2, min_threads=2, name="web", tracking=True) as pool:
        held(pool, gate, 1)
        text = io.StringIO()
        pool.dump(text)
        gate.set()
    assert text.getvalue().startswith("web: 2 threads (2 to 2)")
    assert text.getvalue().count("Event.wait") == 1


def test_leased_threads_are_promised() -> None:
    with QueuedThreadPool(4, min_threads=1, reserved_threads=0) as pool:
        with pool.lease(3):
            assert pool.statistics().max_leased == 3
            with pytest.raises(StateError, match="none would be left"), pool.lease(1):
                pass
        assert pool.statistics().max_leased == 0


def test_leased_threads_run_no_calls_until_the_lease_ends() -> None:
    gate = threading.Event()
    with QueuedThreadPool(4, min_threads=1, reserved_threads=0) as pool:
        with pool.lease(3):
            futures = [pool.submit(gate.wait, PATIENCE_S) for _ in range(4)]
            # The first thread may come after the others, which do not wait for it.
            until(lambda: pool.statistics().idle == 0)
            until(lambda: any(future.running() for future in futures))
            told = pool.statistics()
            assert (told.utilized, told.leased, told.queued, told.threads) == (1, 3, 3, 4)
            assert sum(future.running() for future in futures) == 1
        until(lambda: all(future.running() for future in futures))
        assert pool.statistics().leased == 0
        gate.set()
        assert all(future.result(PATIENCE_S) for future in futures)


def test_a_lease_of_a_busy_pool_takes_what_comes_free_and_ends_though_none_did() -> None:
    gate = threading.Event()
    with QueuedThreadPool(2, min_threads=0, reserved_threads=0) as pool:
        futures = held(pool, gate, 2)
        with pool.lease(1):
            later = pool.submit(abs, -1)
        gate.set()
        assert later.result(PATIENCE_S) == 1
        assert all(future.result(PATIENCE_S) for future in futures)
        with pool.lease(1):
            assert pool.submit(abs, -2).result(PATIENCE_S) == 2


def test_a_lease_ends_with_an_error_and_with_a_shutdown() -> None:
    pool = QueuedThreadPool(2, min_threads=0, reserved_threads=0)
    with pytest.raises(KeyError), pool.lease(1):
        raise KeyError
    assert pool.statistics().max_leased == 0
    with pool.lease(1):
        pool.shutdown(wait=True)
    with pytest.raises(ClosedError), pool.lease(1):
        pass
    assert pool.statistics().max_leased == 0


@pytest.mark.parametrize(
    "given",
    [
        {"max_threads": 0},
        {"min_threads": 9, "max_threads": 8},
        {"min_threads": -1},
        {"idle_timeout_s": -1},
        {"max_evict_count": 0},
        {"max_threads": 4, "reserved_threads": 4},
        {"name": ""},
        {"name": 3},
    ],
)
def test_what_makes_no_sense_is_refused(given: Any) -> None:
    with pytest.raises(UsageError, match="allowed"):
        QueuedThreadPool(**given)


def test_the_interpreters_end_waits_for_all_and_refuses_more() -> None:
    said = run("""
        import atexit

        @atexit.register  # called after the pool's
        def last():
            try:
                pool.submit(print, "too late")
            except RuntimeError as error:
                print(error)

        import time
        import wakeproof
        pool = wakeproof.QueuedThreadPool(1, min_threads=1)
        for name in "abc":
            pool.submit(lambda name: (time.sleep(0.01), print(f"{name}\\n", end="")), name)
        del pool
        pool = wakeproof.QueuedThreadPool(1, min_threads=1)
        pool.submit(print, "d\\n", end="")
    """)
    assert sorted(said.split("\n")[:4]) == ["a", "b", "c", "d"]
    assert said.endswith("cannot schedule new futures after interpreter shutdown\n")


def test_a_forked_child_has_no_pool_to_wait_for() -> None:
    said = run("""
        import os, warnings, wakeproof
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        pool = wakeproof.QueuedThreadPool(1, min_threads=1)
        pool.submit(abs, 1).result()
        child = os.fork()
        if child == 0:
            try:
                pool.submit(print, "child")
            except wakeproof.ForkedError as error:
                print("refused", flush=True)
            pool.shutdown()
            del pool
            wakeproof.QueuedThreadPool(1, min_threads=1).submit(print, "own")
        else:
            assert os.waitpid(child, 0)[1] == 0
            pool.submit(print, "parent")
    """)
    assert said == "refused\nown\nparent\n"
