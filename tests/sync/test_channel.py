# SPDX-License-Identifier: Apache-2.0
"""Python's channel against Channel.tla: nothing lost, in order, no waiter waits in vain."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from tests.support.virtual import PATIENCE_S, parked

from wakeproof import (
    CarrierGroup,
    Channel,
    ClosedError,
    ThreadInterruptedError,
    VirtualThread,
    coroutine,
)
from wakeproof.channel import MOST
from wakeproof.errors import DeadlineError, UsageError


@pytest.mark.parametrize("capacity", [0, 1, 7])
def test_each_object_is_received_once_and_in_its_senders_order(
    group: CarrierGroup, capacity: int
) -> None:
    # NothingLost, Fifo.
    channel = Channel[tuple[int, int]](capacity)
    received: list[list[tuple[int, int]]] = [[], [], []]

    def send(sender: int) -> None:
        for number in range(300):
            assert channel.send((sender, number))

    async def await_send(sender: int) -> None:
        for number in range(300):
            assert await coroutine.send(channel, (sender, number))

    def receive(into: int) -> None:
        received[into].extend(channel)

    async def await_receive(into: int) -> None:
        try:
            while True:
                received[into].append(await coroutine.receive(channel))
        except ClosedError:
            return

    os_receiver = threading.Thread(target=receive, args=(0,))
    os_receiver.start()
    receivers = [
        VirtualThread(receive, 1, group=group).start(),
        VirtualThread(await_receive, 2, group=group).start(),
    ]
    os_sender = threading.Thread(target=send, args=(0,))
    os_sender.start()
    senders = [
        VirtualThread(send, 1, group=group).start(),
        VirtualThread(await_send, 2, group=group).start(),
    ]
    for sender in senders:
        sender.result(PATIENCE_S)
    os_sender.join(PATIENCE_S)
    channel.close()
    for receiver in receivers:
        receiver.result(PATIENCE_S)
    os_receiver.join(PATIENCE_S)
    assert Counter(item for one in received for item in one) == Counter(
        (sender, number) for sender in range(3) for number in range(300)
    )
    for one in received:
        for sender in range(3):
            numbers = [number for who, number in one if who == sender]
            assert numbers == sorted(numbers)
    assert channel._items == {}


def test_slots_are_as_many_as_was_said() -> None:
    channel = Channel[str](2)
    assert channel.send("a")
    assert channel.send("b")
    assert channel.count == 2
    assert channel.send("c", 0) is False
    assert channel.send("c", 0.01) is False
    assert [channel.receive(), channel.receive()] == ["a", "b"]
    for timeout_s in (0, 0.01):
        with pytest.raises(DeadlineError, match="receive: nothing within"):
            channel.receive(timeout_s)
    assert channel._items == {}


def test_without_slots_a_sender_waits_for_its_receiver(group: CarrierGroup) -> None:
    channel = Channel[object]()
    sender = parked(VirtualThread(channel.send, None, group=group).start())
    assert channel.count == 0
    assert channel.receive() is None
    assert sender.result(PATIENCE_S) is True


def test_a_close_ends_those_who_wait_and_leaves_what_is_there(group: CarrierGroup) -> None:
    full, empty = Channel[int](1), Channel[int]()
    full.send(1)
    sender = parked(VirtualThread(full.send, 2, group=group).start())
    receiver = parked(VirtualThread(empty.receive, group=group).start())
    for channel in (full, empty):
        channel.close()
        channel.close()
    for thread, what in ((sender, "send"), (receiver, "receive")):
        with pytest.raises(ClosedError, match=f"{what}: the channel is closed"):
            thread.result(PATIENCE_S)
    with pytest.raises(ClosedError):
        full.send(3)
    assert list(full) == [1]
    assert full._items == {}


def test_an_interrupt_or_a_deadline_sends_and_receives_nothing(group: CarrierGroup) -> None:
    channel = Channel[int]()

    def interrupted(receives: bool) -> None:
        with pytest.raises(ThreadInterruptedError):
            channel.receive() if receives else channel.send(1)

    async def await_late() -> bool:
        with pytest.raises(DeadlineError):
            await coroutine.receive(channel, 0.01)
        return await coroutine.send(channel, 1, 0.01)

    for receives in (True, False):
        thread = parked(VirtualThread(interrupted, receives, group=group).start())
        thread.interrupt()
        thread.result(PATIENCE_S)
    assert VirtualThread(await_late, group=group).start().result(PATIENCE_S) is False
    with pytest.raises(DeadlineError):
        channel.receive(0)
    assert channel.send(2, 0) is False
    assert channel._items == {}


def test_a_closed_groups_receiver_takes_nothing() -> None:
    channel = Channel[int]()
    group = CarrierGroup(1)
    parked(VirtualThread(channel.receive, group=group).start())
    assert len(group.close(10, cancel=True)) == 1
    assert channel.send(1, 0) is False


@pytest.mark.parametrize("bad", [-1, MOST + 1, 1.5])
def test_a_capacity_that_makes_no_sense_is_refused(bad: int) -> None:
    with pytest.raises(UsageError, match="capacity is"):
        Channel(bad)


def test_what_a_channel_prints_is_how_full_it_is() -> None:
    channel = Channel[int](2)
    channel.send(1)
    assert repr(channel) == "<Channel with 1 of 2 slots taken>"
