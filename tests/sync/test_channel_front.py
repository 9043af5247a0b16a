# SPDX-License-Identifier: Apache-2.0
"""The ring in front of Python's channel, against specs/aio/ChannelFront.tla.

Where all go to the kernel's channel (``_in_front`` is -1 at all times), the same must hold.
"""

from __future__ import annotations

import gc
import signal
import threading
import weakref
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.virtual import PATIENCE_S, parked

from wakeproof import CarrierGroup, Channel, ClosedError, DeadlineError, VirtualThread, coroutine
from wakeproof._runtime import calls

has_front = pytest.mark.skipif(not calls.CHANNELS_IN_C, reason="all go to the kernel's channel")
STEPS = st.lists(
    st.sampled_from(
        ["send", "receive", "send in vain", "receive in vain", "sender", "receiver",
         "coroutine sender", "coroutine receiver", "give up"]
    ),
    max_size=40,
)  # fmt: skip


class Model:
    """What a bounded queue with two lines does, and the channel that must do the same."""

    def __init__(self, group: CarrierGroup, capacity: int) -> None:
        self.group, self.capacity, self.channel = group, capacity, Channel[int](capacity)
        self.items: deque[int] = deque()
        self.senders: deque[tuple[int, VirtualThread]] = deque()
        self.receivers: deque[VirtualThread] = deque()
        self.number = 0
        self.is_slow = False  # somebody has waited, and items are left

    def step(self, name: str) -> None:
        self.number += 1
        {
            "send": lambda: self.send(waits=False), "receive": lambda: self.receive(waits=False),
            "send in vain": self.send_in_vain, "receive in vain": self.receive_in_vain,
            "sender": lambda: self.send(waits=True), "receiver": lambda: self.receive(waits=True),
            "coroutine sender": lambda: self.send(waits=True, by=coroutine.send),
            "coroutine receiver": lambda: self.receive(waits=True, by=coroutine.receive),
            "give up": self.give_up,
        }[name]()  # fmt: skip
        assert self.channel.count == len(self.items)
        if calls.CHANNELS_IN_C and not (self.items or self.senders or self.receivers):
            assert self.channel._in_front == 0
        if self.senders or self.receivers:
            assert self.channel._in_front == -1

    def send(self, *, waits: bool, by: object = Channel.send) -> None:
        has_room = bool(self.receivers) or len(self.items) < self.capacity
        if waits:
            thread = VirtualThread(by, self.channel, self.number, group=self.group).start()  # type: ignore[arg-type]
            if not has_room:
                self.senders.append((self.number, parked(thread)))
                return
            assert thread.result(PATIENCE_S) is True
        else:
            assert self.channel.send(self.number, 0) is has_room
        if not has_room:
            return
        if self.receivers:
            assert self.receivers.popleft().result(PATIENCE_S) == self.number
        else:
            self.items.append(self.number)

    def receive(self, *, waits: bool, by: object = Channel.receive) -> None:
        if waits:
            thread = VirtualThread(by, self.channel, group=self.group).start()  # type: ignore[arg-type]
            if not self.items:
                self.receivers.append(parked(thread))
                return
            assert thread.result(PATIENCE_S) == self.items.popleft()
        elif not self.items:
            with pytest.raises(DeadlineError):
                self.channel.receive(0)
            return
        else:
            assert self.channel.receive(0) == self.items.popleft()
        if self.senders:
            number, sender = self.senders.popleft()
            assert sender.result(PATIENCE_S) is True
            self.items.append(number)

    def send_in_vain(self) -> None:
        if self.receivers or len(self.items) < self.capacity:
            return
        assert self.channel.send(self.number, 0.0005) is False

    def receive_in_vain(self) -> None:
        if not self.items:
            with pytest.raises(DeadlineError):
                self.channel.receive(0.0005)

    def give_up(self) -> None:
        line = self.receivers or self.senders
        if not line:
            return
        last = line.pop()
        thread = last if isinstance(last, VirtualThread) else last[1]
        thread.interrupt()
        thread.join(PATIENCE_S)
        with pytest.raises(BaseException, match="interrupted"):
            thread.result(PATIENCE_S)

    def end(self) -> None:
        self.channel.close()
        for thread in [*self.receivers, *(thread for _, thread in self.senders)]:
            with pytest.raises(ClosedError):
                thread.result(PATIENCE_S)
        with pytest.raises(ClosedError):
            self.channel.send(0)
        assert list(self.channel) == list(self.items)
        assert self.channel._in_front == -1


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 5), STEPS)
def test_it_is_a_queue_with_two_lines_whoever_waits(capacity: int, steps: list[str]) -> None:
    # NothingLost, Fifo, NobodyWaitsForNothing, WithinCapacity, FrontIsAlone.
    with CarrierGroup(1) as group:
        model = Model(group, capacity)
        for name in steps:
            model.step(name)
        model.end()


@pytest.mark.parametrize("capacity", [1, 3])
def test_os_threads_that_wait_now_and_then_lose_nothing(capacity: int) -> None:
    channel, got = Channel[tuple[int, int]](capacity), [list[tuple[int, int]](), []]

    def send(sender: int) -> None:
        for number in range(5000):
            while not channel.send((sender, number), 0 if number % 3 else 0.001):
                pass

    def receive(into: list[tuple[int, int]]) -> None:
        into.extend(channel)

    senders = [threading.Thread(target=send, args=(n,)) for n in range(2)]
    receivers = [threading.Thread(target=receive, args=(into,)) for into in got]
    for thread in [*senders, *receivers]:
        thread.start()
    for thread in senders:
        thread.join()
    channel.close()
    for thread in receivers:
        thread.join()
    assert sorted(got[0] + got[1]) == [(n, number) for n in range(2) for number in range(5000)]
    for into in got:
        for sender in range(2):
            of_one = [number for n, number in into if n == sender]
            assert of_one == sorted(of_one)


@has_front
def test_one_whose_wait_a_signal_ends_leaves() -> None:
    def fails(*_: object) -> None:
        raise KeyError("signal")

    channel, before = Channel[int](1), signal.signal(signal.SIGALRM, fails)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyError, match="signal"):
            channel.receive()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert channel._in_front == 0


def test_one_that_never_comes_back_leaves_the_channel_whole() -> None:
    group, channel = CarrierGroup(1), Channel[int](2)
    thread = parked(VirtualThread(channel.receive, group=group).start())
    group.close(cancel=True)
    assert thread.state == "closed"
    assert channel._in_front == -1
    for first in (1, 3):
        assert channel.send(first)
        assert channel.send(first + 1)
        assert channel.send(0, 0) is False
        assert [channel.receive(), channel.receive()] == [first, first + 1]


@has_front
def test_the_collector_sees_what_is_in_the_ring() -> None:
    class Item:
        pass

    item, channel = Item(), Channel[object](4)
    item.channel = channel  # type: ignore[attr-defined]
    channel.send(item)
    assert channel._items == {}
    seen = weakref.ref(item)
    del item, channel
    gc.collect()
    assert seen() is None


@has_front
def test_a_channel_without_slots_has_no_front() -> None:
    channel = Channel[int]()
    assert channel._in_front == -1
    assert channel.send(1, 0) is False
    assert channel._in_front == -1
