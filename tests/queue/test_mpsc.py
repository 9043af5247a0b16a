# SPDX-License-Identifier: Apache-2.0
"""MpscQueue against Mpsc.tla: Fifo, NoLoss, EmptyIsTrue, PushNeverFails; and its eventfd."""

from __future__ import annotations

import select
import selectors
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Empty

import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from wakeproof import MpscQueue, MpscStatistics
from wakeproof._native.ffi import lib

PATIENCE_S = 20  # a lost wakeup fails the test instead of hanging it


class Thing:
    """An object that can be watched."""


class Push:
    """A put in two steps, with the bubble between them open as long as a test likes."""

    def __init__(self, queue: MpscQueue[int], number: int) -> None:
        self.queue, self.number, self.published = queue, number, False
        self.cell = queue._hold(number)
        assert lib.wp__inbox_reserve(queue._inbox, self.cell) == lib.WP_OK

    def publish(self) -> None:
        assert lib.wp__inbox_publish(self.queue._inbox, self.cell) == lib.WP_OK
        self.published = True


def is_readable(queue: MpscQueue[int]) -> bool:
    return bool(select.select([queue], [], [], 0)[0])


class MpscMachine(RuleBasedStateMachine):
    """MpscQueue against its spec, a chain of pushes.  Rules have the names of its actions."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: MpscQueue[int] = MpscQueue()
        self.count = 0
        self.chain: list[Push] = []

    @rule()
    def reserve(self) -> None:
        self.count += 1
        self.chain.append(Push(self.queue, self.count))

    @precondition(lambda self: any(not push.published for push in self.chain))
    @rule()
    def publish(self) -> None:
        next(push for push in reversed(self.chain) if not push.published).publish()

    @rule()
    def pop(self) -> None:
        if self.can_take():
            assert self.queue.get_nowait() == self.chain.pop(0).number
        else:
            with pytest.raises(Empty):
                self.queue.get_nowait()
            assert not is_readable(self.queue)

    def can_take(self) -> bool:
        # The first, unless its successor is in the bubble: then the stalled push hides it.
        return bool(self.chain) and all(push.published for push in self.chain[:2])

    @invariant()
    def empty_is_true(self) -> None:
        assert self.queue.has_published() is (bool(self.chain) and self.chain[0].published)
        assert self.queue.is_quiescent() is (not self.chain)
        assert self.queue.statistics().held == len(self.chain)

    @invariant()
    def what_can_be_taken_can_be_seen(self) -> None:
        assert is_readable(self.queue) or not self.can_take()

    def teardown(self) -> None:
        for push in self.chain:
            if not push.published:
                push.publish()
        self.queue.close()


TestMpscMachine = pytest.mark.slow(MpscMachine.TestCase)


@pytest.fixture
def queue() -> Iterator[MpscQueue[object]]:
    with MpscQueue[object]() as made:
        yield made


def test_what_goes_in_comes_out_in_order(queue: MpscQueue[object]) -> None:
    # Fifo, NoLoss: the same objects, including None and equal ones.
    things = [None, Thing(), 1, True, Thing(), None]
    for thing in things:
        queue.put(thing)
    assert all(queue.get_nowait() is thing for thing in things)
    with pytest.raises(Empty):
        queue.get_nowait()


def test_each_producer_finds_its_order_kept(queue: MpscQueue[object]) -> None:
    # Fifo, with real producers; nothing is lost, and the consumer does not sleep beside an item.
    def produce(name: int) -> None:
        for number in range(1000):
            queue.put((name, number))

    with ThreadPoolExecutor() as pool:
        list(map(pool.submit, [produce] * 4, range(4)))
        taken = [queue.get(PATIENCE_S) for _ in range(4000)]
    for name in range(4):
        assert [thing for thing in taken if thing[0] == name] == [(name, n) for n in range(1000)]  # type: ignore[index]


def test_two_consumers_take_each_thing_once(queue: MpscQueue[object]) -> None:
    def consume() -> list[object]:
        return [queue.get(PATIENCE_S) for _ in range(1000)]

    with ThreadPoolExecutor() as pool:
        consumers = [pool.submit(consume) for _ in range(2)]
        for number in range(2000):
            queue.put(number)
        taken = Counter(number for consumer in consumers for number in consumer.result())
    assert taken == Counter(range(2000))


def test_a_selector_sees_work_until_it_is_taken() -> None:
    with MpscQueue[int]() as queue, selectors.DefaultSelector() as selector:
        selector.register(queue, selectors.EVENT_READ)
        assert not selector.select(0)
        queue.put(1)
        queue.put(2)
        for number in (1, 2):  # one item a turn: the rest stays visible
            assert selector.select(PATIENCE_S)
            assert queue.get_nowait() == number
        with pytest.raises(Empty):
            queue.get_nowait()
        assert not selector.select(0)


def test_producers_pay_one_system_call_for_each_time_the_queue_was_found_empty() -> None:
    # WakeIsClaimed.
    with MpscQueue[int]() as queue:
        for rounds in (1, 2, 3):
            for number in range(10):
                queue.put(number)
            assert queue.statistics() == MpscStatistics(held=10, signals=rounds)
            for _ in range(10):
                queue.get_nowait()
            with pytest.raises(Empty):
                queue.get_nowait()


def test_a_bubble_hides_what_is_behind_it_until_it_closes() -> None:
    queue: MpscQueue[int] = MpscQueue()
    bubble = Push(queue, 1)
    queue.put(2)
    with pytest.raises(Empty):
        queue.get_nowait()
    assert (queue.has_published(), queue.is_quiescent()) == (False, False)
    bubble.publish()
    assert is_readable(queue)
    assert [queue.get_nowait(), queue.get_nowait()] == [1, 2]


def test_a_hostage_is_published_and_cannot_be_taken() -> None:
    queue: MpscQueue[int] = MpscQueue()
    queue.put(1)
    bubble = Push(queue, 2)
    with pytest.raises(Empty):
        queue.get_nowait()
    assert queue.has_published()
    assert not is_readable(queue)  # nothing to do before the producer is done
    bubble.publish()
    assert is_readable(queue)
    assert [queue.get_nowait(), queue.get_nowait()] == [1, 2]


def test_get_waits_for_the_time_given_and_no_longer(queue: MpscQueue[object]) -> None:
    for timeout_s in (0, 1e-9, 0.01):
        with pytest.raises(Empty):
            queue.get(timeout_s)
    with pytest.raises(ValueError, match=r"^timeout_s is -1; allowed"):
        queue.get(-1)
