# SPDX-License-Identifier: Apache-2.0
"""`wakeproof.aio.Channel`: nothing is lost or received twice, and nobody waits in vain."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import pytest

from wakeproof import CarrierGroup, ThreadInterruptedError, VirtualThread, aio, yield_now
from wakeproof.aio_channel import _PlainCore
from wakeproof.channel import MOST
from wakeproof.errors import ClosedError, DeadlineError, StateError, UsageError

PATIENCE_S = 20.0


class PlainChannel(aio.Channel[Any]):
    """The channel without its part in C."""

    _put = _PlainCore._put
    _get = _PlainCore._get


@pytest.fixture(params=[aio.Channel, PlainChannel], ids=["aio", "plain"])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def run(main: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a new loop of ours, in this thread."""
    with asyncio.Runner(loop_factory=aio.EventLoop) as runner:
        return runner.run(asyncio.wait_for(main, PATIENCE_S))


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.skipif(issubclass(aio.Channel, _PlainCore), reason="no part of it is in C here")
def test_what_needs_no_wait_is_done_in_c_unless_another_has_the_lock() -> None:
    channel, none = aio.Channel[Any](2), object()
    assert channel._put(1)
    with channel._lock:
        assert not channel._put(2)
        assert channel._get(none) is none
    assert channel._put(2)
    assert not channel._put(3)
    assert channel._get(none) == 1
    channel.close()
    assert not channel._put(4)
    assert channel._get(none) == 2
    assert channel._get(none) is none


@pytest.mark.skipif(issubclass(aio.Channel, _PlainCore), reason="no part of it is in C here")
def test_what_wakes_somebody_is_not_done_in_c() -> None:
    async def main() -> None:
        channel, none = aio.Channel[Any](1), object()
        receiver = asyncio.create_task(channel.areceive())
        await turns()
        assert not channel._put(1)  # the receiver gets it
        await channel.asend(1)
        assert await receiver == 1
        await channel.asend(2)
        sender = asyncio.create_task(channel.asend(3))
        await turns()
        assert channel._get(none) is none  # the sender gets the slot
        assert channel.receive() == 2
        assert not channel._put(4)  # the slot is the sender's
        await sender
        assert channel._get(none) == 3

    run(main())


@pytest.mark.parametrize("capacity", [1, 3, 1000])
def test_each_object_is_received_once_and_in_its_senders_order(
    kind: Any, group: CarrierGroup, capacity: int
) -> None:
    channel = kind(capacity)
    received: list[list[tuple[int, int]]] = [[], [], []]
    many = 300

    def send(sender: int) -> None:
        for number in range(many):
            assert channel.send((sender, number))

    async def asend(sender: int) -> None:
        for number in range(many):
            await channel.asend((sender, number))

    def receive(into: int) -> None:
        received[into].extend(channel)

    async def areceive(into: int) -> None:
        received[into].extend([found async for found in channel])

    with ThreadPoolExecutor(4) as pool:
        receivers = [pool.submit(receive, 0), pool.submit(run, areceive(1))]
        virtual = VirtualThread(receive, 2, group=group).start()
        senders = [pool.submit(send, 0), pool.submit(run, asend(1))]
        other = VirtualThread(send, 2, group=group).start()
        for future in senders:
            future.result(PATIENCE_S)
        other.result(PATIENCE_S)
        channel.close()
        for future in receivers:
            future.result(PATIENCE_S)
        virtual.result(PATIENCE_S)
    assert Counter(chain(*received)) == Counter(
        (sender, number) for sender in range(3) for number in range(many)
    )
    for one in received:
        for sender in range(3):
            numbers = [number for who, number in one if who == sender]
            assert numbers == sorted(numbers)


def test_cancels_and_deadlines_lose_nothing(kind: Any) -> None:
    channel = kind(2)
    sent: list[int] = []
    received: list[int] = []
    chance = random.Random(1)
    many = 2000

    async def asend(number: int) -> None:
        await channel.asend(number)
        sent.append(number)

    async def areceive() -> None:
        received.append(await channel.areceive())

    async def impatient(make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.create_task(make())
        await turns(chance.randrange(3))
        task.cancel()
        await asyncio.wait([task])

    async def loop() -> None:
        for number in range(many):
            await asyncio.gather(impatient(lambda at=number: asend(at)), impatient(areceive))  # type: ignore[misc]

    def thread() -> None:
        for number in range(many, 2 * many):
            if channel.send(number, 0 if number % 2 else 0.0001):
                sent.append(number)
            with contextlib.suppress(DeadlineError):
                received.append(channel.receive(0 if number % 3 else 0.0001))

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(run, loop()), pool.submit(thread)]:
            future.result(PATIENCE_S)
    channel.close()
    received.extend(channel)
    assert len(sent) > many / 2
    assert sorted(received) == sorted(sent)


def test_a_cancelled_receiver_passes_its_object_to_the_next(kind: Any) -> None:
    async def main() -> None:
        channel = kind(2)
        first, second = (asyncio.create_task(channel.areceive()) for _ in range(2))
        await turns()
        channel.send(1)  # given to the first, which has not run yet
        first.cancel()
        assert await second == 1
        third = asyncio.create_task(channel.areceive())
        await turns()
        channel.send(2)
        channel.send(3)
        third.cancel()
        await turns()
        assert [channel.receive(0), channel.receive(0)] == [2, 3]

    run(main())


def test_a_cancelled_sender_sends_nothing_and_passes_its_slot_on(kind: Any) -> None:
    async def main() -> None:
        channel = kind(1)
        channel.send(1)
        first, second = (asyncio.create_task(channel.asend(number)) for number in (2, 3))
        await turns()
        assert channel.receive(0) == 1  # its slot is granted to the first, which has not run yet
        first.cancel()
        await second
        assert channel.receive(0) == 3
        assert channel.send(4, 0)

    run(main())


def test_a_slot_that_was_granted_is_not_taken_by_another(kind: Any) -> None:
    async def main() -> None:
        channel = kind(1)
        channel.send(1)
        waiting = asyncio.create_task(channel.asend(2))
        await turns()
        assert channel.receive(0) == 1
        assert not channel.send(3, 0)
        await waiting
        assert channel.receive(0) == 2

    run(main())


def test_a_slot_that_its_object_does_not_need_goes_to_the_next_sender(kind: Any) -> None:
    async def main() -> None:
        channel = kind(1)
        channel.send(1)
        senders = [asyncio.create_task(channel.asend(number)) for number in (2, 3)]
        await turns()
        receiver = asyncio.create_task(channel.areceive())
        assert channel.receive(0) == 1  # grants its slot to the first sender, which runs after that
        assert await receiver == 2
        await asyncio.gather(*senders)
        assert channel.receive(0) == 3

    run(main())


def test_close_ends_all_waits_and_leaves_what_is_in_slots(kind: Any) -> None:
    async def main() -> None:
        full, empty = kind(1), kind(1)
        await full.asend(1)
        tasks = [asyncio.create_task(full.asend(2)), asyncio.create_task(empty.areceive())]
        calls = [asyncio.to_thread(full.send, 3), asyncio.to_thread(empty.receive)]
        tasks += [asyncio.ensure_future(call) for call in calls]
        while len(full._senders) + len(empty._receivers) < 4:
            await asyncio.sleep(0)
        for channel in (full, empty):
            channel.close()
            channel.close()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in ended] == [ClosedError] * 4
        with pytest.raises(ClosedError):
            full.send(4)
        with pytest.raises(ClosedError):
            await full.asend(4)
        assert [found async for found in full] == [1]
        with pytest.raises(ClosedError):
            full.receive()

    run(main())


def test_a_slot_that_was_granted_before_the_close_is_not_filled_after_it(kind: Any) -> None:
    async def main() -> None:
        channel = kind(1)
        channel.send(1)
        waiting = asyncio.create_task(channel.asend(2))
        await turns()
        assert channel.receive(0) == 1
        channel.close()
        with pytest.raises(ClosedError):
            await waiting
        assert list(channel) == []

    run(main())


def test_a_receiver_whose_loop_was_closed_takes_nothing(kind: Any) -> None:
    channel = kind(1)
    loop = aio.new_event_loop()
    task = loop.create_task(channel.areceive())
    loop.run_until_complete(turns())
    loop.close()
    assert channel.send(1)
    assert channel.receive(0) == 1
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    task.get_coro().close()  # type: ignore[union-attr]


def test_an_object_that_was_promised_is_not_taken_by_another_before_the_close(kind: Any) -> None:
    async def main() -> None:
        channel, none = kind(1), object()
        receiver = asyncio.create_task(channel.areceive())
        await turns()
        channel.send(1)  # promised to the receiver, which has not run yet
        assert channel._get(none) is none
        with pytest.raises(DeadlineError):
            channel.receive(0)
        assert channel.count == 0
        assert channel.send(2, 0)  # what is promised takes no slot
        assert not channel.send(3, 0)
        assert await receiver == 1
        assert channel.receive(0) == 2

    run(main())


def test_after_a_close_the_object_of_a_cancelled_receiver_goes_to_the_next(kind: Any) -> None:
    async def main() -> None:
        channel = kind(2)
        first, second, third = (asyncio.create_task(channel.areceive()) for _ in range(3))
        await turns()
        channel.send(1)  # promised to the first, which has not run yet
        channel.close()
        first.cancel()
        assert await second == 1
        with pytest.raises(ClosedError):
            await third
        with pytest.raises(ClosedError):
            channel.receive()

    run(main())


def test_after_the_close_the_receiver_that_comes_first_takes_what_is_left(kind: Any) -> None:
    async def main() -> None:
        channel = kind(1)
        waiting = asyncio.create_task(channel.areceive())
        await turns()
        channel.send(1)
        channel.close()
        assert channel.receive() == 1
        with pytest.raises(ClosedError):
            await waiting

    run(main())


def test_an_interrupted_virtual_thread_has_received_nothing(kind: Any, group: CarrierGroup) -> None:
    channel = kind(1)
    thread = VirtualThread(channel.receive, group=group).start()
    while not channel._receivers:
        time.sleep(0.001)
    thread.interrupt()
    with pytest.raises(ThreadInterruptedError):
        thread.result(PATIENCE_S)
    channel.send(1)
    assert channel.receive(0) == 1


def test_a_virtual_thread_that_waits_parks(kind: Any) -> None:
    channel = kind(1)

    def both() -> int:
        receiver = VirtualThread(channel.receive).start()
        yield_now()
        channel.send(1)
        return receiver.result(PATIENCE_S)

    with CarrierGroup(1) as alone:
        assert VirtualThread(both, group=alone).start().result(PATIENCE_S) == 1


def test_a_deadline_that_passes_says_so(kind: Any) -> None:
    channel = kind(1)
    begun = time.monotonic()
    with pytest.raises(DeadlineError):
        channel.receive(0.02)
    channel.send(1)
    assert not channel.send(2, 0.02)
    assert time.monotonic() - begun >= 0.04
    assert not channel._senders
    assert not channel._receivers


def test_misuse_is_refused(kind: Any) -> None:
    for capacity in (0, MOST + 1, 1.5):
        with pytest.raises(UsageError):
            kind(capacity)
    channel = kind(1)
    with pytest.raises(UsageError):
        channel.receive(-1)

    async def main() -> None:
        with pytest.raises(StateError, match="block the event loop"):
            channel.receive()
        assert channel.send(1)
        with pytest.raises(StateError, match="block the event loop"):
            channel.send(2)

    run(main())
    assert repr(channel) == "<Channel with 1 of 1 slots taken>"
