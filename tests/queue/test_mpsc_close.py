# SPDX-License-Identifier: Apache-2.0
"""The end of an MpscQueue: nothing leaks, no thread sleeps on, every put is in or refused."""

from __future__ import annotations

import gc
import os
import resource
import select
import weakref
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from wakeproof import ClosedError, MpscQueue
from wakeproof._native.ffi import lib

PATIENCE_S = 20  # a lost wakeup fails the test instead of hanging it


class Thing:
    """An object that can be watched."""


def test_close_wakes_a_sleeping_consumer() -> None:
    with ThreadPoolExecutor() as pool, MpscQueue[int]() as queue:
        consumer = pool.submit(queue.get, PATIENCE_S)
        queue.close()
        with pytest.raises(ClosedError, match=r"MpscQueue\.get: the queue is closed"):
            consumer.result(PATIENCE_S)


def test_a_closed_queue_says_so_and_lets_everything_go() -> None:
    queue: MpscQueue[Thing] = MpscQueue()
    queued, late = Thing(), Thing()
    watched = [weakref.ref(queued), weakref.ref(late)]
    queue.put(queued)
    queue.close()
    queue.close()
    with pytest.raises(ClosedError, match=r"MpscQueue\.put: the queue is closed"):
        queue.put(late)
    del queued, late
    assert [ref() for ref in watched] == [None, None]
    assert select.select([queue], [], [], 0)[0]  # a selector notices
    with pytest.raises(ClosedError):
        queue.get_nowait()


def test_puts_that_race_with_close_are_in_or_refused() -> None:
    def produce(queue: MpscQueue[Thing]) -> None:
        while True:
            queue.put(Thing())

    with ThreadPoolExecutor() as pool:
        for _ in range(20):
            queue: MpscQueue[Thing] = MpscQueue()
            producers = [pool.submit(produce, queue) for _ in range(3)]
            queue.close()
            for producer in producers:
                with pytest.raises(ClosedError):
                    producer.result(PATIENCE_S)
            assert queue.is_quiescent()
            assert queue.statistics().held == 0


def test_close_waits_for_a_put_that_has_begun() -> None:
    queue: MpscQueue[int] = MpscQueue()
    cell = queue._hold(1)
    assert lib.wp__inbox_reserve(queue._inbox, cell) == lib.WP_OK
    with ThreadPoolExecutor() as pool:
        closing = pool.submit(queue.close)
        assert not wait([closing], timeout=0.02).done
        assert lib.wp__inbox_publish(queue._inbox, cell) == lib.WP_OK
        closing.result(PATIENCE_S)
    assert queue.is_quiescent()


def test_a_queue_keeps_nothing_that_was_taken() -> None:
    with MpscQueue[Thing]() as queue:
        queue.put(Thing())
        watched = weakref.ref(queue.get_nowait())
        assert watched() is None


def test_a_forgotten_queue_frees_its_things_and_its_descriptor() -> None:
    # In a cycle: the queue holds itself.
    queue: MpscQueue[object] = MpscQueue()
    thing, descriptor = Thing(), queue.fileno()
    watched = weakref.ref(thing)
    queue.put(thing)
    queue.put(queue)
    del thing, queue
    gc.collect()
    assert watched() is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_no_descriptor_left_is_an_error_that_names_the_cause() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
    try:
        with pytest.raises(OSError, match="MpscQueue: Too many open files") as told:
            MpscQueue()
        assert told.value.errno is not None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
