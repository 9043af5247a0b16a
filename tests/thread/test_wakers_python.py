# SPDX-License-Identifier: Apache-2.0
"""Threads that a close hands back while they wait in queues, or hold a Mutex: WaitQueueLeave."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from tests.support.virtual import PATIENCE_S, parked

from wakeproof import (
    AbandonedError,
    CarrierGroup,
    Channel,
    Condition,
    Mutex,
    Semaphore,
    VirtualThread,
    coroutine,
    park,
)


def close_with(*bodies: Callable[[], object]) -> None:
    """Close a group while its threads wait in those, each for ever."""
    group = CarrierGroup(1)
    for body in bodies:
        parked(VirtualThread(body, group=group).start())
    assert len(group.close(0, cancel=True)) == len(bodies)


def test_a_mutex_goes_past_those_who_were_handed_back() -> None:
    mutex = Mutex()

    async def waits() -> None:
        await coroutine.lock(mutex)

    assert mutex.acquire()
    close_with(mutex.acquire, waits)
    other = VirtualThread(mutex.acquire).start()
    mutex.release()
    assert other.result(PATIENCE_S)


def test_permits_stay_with_a_semaphore() -> None:
    semaphore = Semaphore(1)
    close_with(lambda: semaphore.acquire(2))
    assert semaphore.acquire(timeout_s=0)
    close_with(semaphore.acquire)
    semaphore.release()
    assert semaphore.acquire(timeout_s=0)


def test_a_rendezvous_finds_nobody_who_was_handed_back() -> None:
    channel: Channel[int] = Channel()
    close_with(channel.receive)
    assert not channel.send(1, timeout_s=0)
    close_with(lambda: channel.send(2))
    with pytest.raises(TimeoutError):
        channel.receive(timeout_s=0)


def test_a_notify_reaches_who_lives() -> None:
    condition = Condition()

    def waits() -> bool:
        with condition:
            return condition.wait()

    close_with(waits, waits)
    other = parked(VirtualThread(waits).start())
    with condition:
        condition.notify()
    assert other.result(PATIENCE_S)


def test_a_mutex_of_who_was_handed_back_says_so_once() -> None:
    mutex = Mutex()

    def has() -> None:
        with mutex:
            park()

    close_with(has)
    assert not mutex.locked()
    with pytest.raises(AbandonedError, match="half done"):
        mutex.acquire()
    with mutex:
        assert mutex.locked()


@pytest.mark.parametrize("waits", [False, True])
def test_a_mutex_of_who_has_ended_says_so_once(waits: bool) -> None:
    mutex = Mutex()
    go_on = Semaphore(0)
    ends = parked(VirtualThread(lambda: (mutex.acquire(), go_on.acquire())).start())
    other = VirtualThread(mutex.acquire)
    if waits:
        parked(other.start())
    go_on.release()
    ends.join()
    with pytest.raises(AbandonedError):
        (other if waits else other.start()).result(PATIENCE_S)
    assert mutex.acquire(timeout_s=PATIENCE_S)


def test_a_mutex_that_nobody_names_any_more_stays_while_a_thread_has_it() -> None:
    group = CarrierGroup(1)

    def has() -> None:
        Mutex().acquire()
        gc.collect()
        park()

    thread = parked(VirtualThread(has, group=group).start())
    assert len(thread._held) == 1
    assert group.close(0, cancel=True)
    assert not thread._held


def test_a_condition_wait_has_an_abandoned_mutex_and_leaves_the_news_to_the_next() -> None:
    condition = Condition()
    go_on = Semaphore(0)

    def waits() -> bool:
        with condition:
            return condition.wait()

    waiting = parked(VirtualThread(waits).start())

    def notifies_and_ends() -> None:
        condition.mutex.acquire()
        condition.notify()
        go_on.acquire()

    ends = parked(VirtualThread(notifies_and_ends).start())
    go_on.release()
    ends.join()
    assert waiting.result(PATIENCE_S)
    with pytest.raises(AbandonedError):
        condition.mutex.acquire()
