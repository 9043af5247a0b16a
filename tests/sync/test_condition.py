# SPDX-License-Identifier: Apache-2.0
"""Python's condition against specs/sync/Condition.tla, virtual and OS threads in one queue."""

from __future__ import annotations

import sys

import pytest
from tests.support.syncing import Worker
from tests.support.virtual import PATIENCE_S, parked

from wakeproof import CarrierGroup, Condition, VirtualThread, coroutine
from wakeproof.errors import UsageError, WrongThreadError


def test_a_notify_reaches_who_waits_longest(group: CarrierGroup) -> None:
    # NoLostSignal, and no other thread is woken.
    condition, woken = Condition(), list[int]()

    def wait(index: int) -> None:
        with condition:
            assert condition.wait(PATIENCE_S)
            woken.append(index)

    async def await_turn(index: int) -> None:
        await coroutine.lock(condition.mutex)
        assert await coroutine.wait(condition, PATIENCE_S)
        woken.append(index)
        condition.mutex.release()

    threads = [
        parked(VirtualThread(wait if n % 2 else await_turn, n, group=group).start())
        for n in range(6)
    ]
    with condition:
        condition.notify(2)
    for thread in threads[:2]:
        thread.result(PATIENCE_S)
    assert woken == [0, 1]
    with condition:
        condition.notify_all()
    for thread in threads:
        thread.result(PATIENCE_S)
    assert woken == list(range(6))


def test_virtual_and_os_threads_take_turns_by_one_condition(group: CarrierGroup) -> None:
    condition, turn = Condition(), [0]

    def play(mine: int) -> None:
        for _ in range(300):
            with condition:
                condition.wait_for(lambda: turn[0] % 3 == mine)
                turn[0] += 1
                condition.notify_all()

    async def await_play() -> None:
        for _ in range(300):
            await coroutine.lock(condition.mutex)
            while turn[0] % 3 != 2:
                await coroutine.wait(condition)
            turn[0] += 1
            condition.notify_all()
            condition.mutex.release()

    workers = [
        Worker(group, "virtual", lambda: play(0)),
        Worker(group, "os", lambda: play(1)),
        Worker(group, "coroutine", await_play),
    ]
    for worker in workers:
        worker.end()
    assert turn[0] == 900


def test_a_condition_needs_its_mutex_and_gives_up_in_time(group: CarrierGroup) -> None:
    condition = Condition()
    for call in (condition.wait, condition.notify, condition.notify_all):
        with pytest.raises(WrongThreadError, match="Mutex: nobody does"):
            call()
    with condition:
        for bad in (-1, 1.5, "1", sys.maxsize):  # the last one was accepted, and took that long
            with pytest.raises(UsageError, match="allowed: 0 to 1048576, or notify_all"):
                condition.notify(bad)  # type: ignore[arg-type]
        assert condition.wait_for(lambda: True, 10**400) is True
    with pytest.raises(UsageError, match="allowed: a Mutex"):
        Condition(7)  # type: ignore[arg-type]

    def wait() -> tuple[bool, bool, bool]:
        with condition:
            timed = condition.wait(0.01), condition.wait(0)
            return *timed, condition.wait_for(lambda: False, 0.01)

    assert VirtualThread(wait, group=group).start().result(PATIENCE_S) == (False, False, False)
    assert wait() == (False, False, False)
    assert not condition.mutex.locked()
