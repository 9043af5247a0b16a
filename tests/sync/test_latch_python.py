# SPDX-License-Identifier: Apache-2.0
"""`Latch`: an event that comes once.  Serves Latch.tla (NoLostWaiter)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from tests.support.virtual import PATIENCE_S, parked, until

from wakeproof import (
    CarrierGroup,
    Latch,
    ThreadInterruptedError,
    UsageError,
    VirtualThread,
    coroutine,
    park,
)

SHORT_S = 0.01


async def awaits(latch: Latch, timeout_s: float | None = None) -> bool:
    return await coroutine.wait_open(latch, timeout_s)


def waits(latch: Latch, timeout_s: float | None = None) -> bool:
    return latch.wait(timeout_s)


@pytest.mark.parametrize("wait", [waits, awaits])
def test_an_open_ends_all_waits_and_later_ones(
    either_group: CarrierGroup, wait: Callable[..., bool]
) -> None:
    latch = Latch()
    threads = [parked(VirtualThread(wait, latch, group=either_group).start()) for _ in range(20)]
    seen: list[bool] = []
    below = threading.Thread(target=lambda: seen.append(latch.wait(PATIENCE_S)))
    below.start()
    assert (latch.is_open, repr(latch)) == (False, "<Latch shut>")
    latch.open()
    latch.open()
    assert [thread.result(PATIENCE_S) for thread in threads] == [True] * 20
    below.join()
    assert (latch.is_open, repr(latch), seen) == (True, "<Latch open>", [True])
    assert VirtualThread(wait, latch, 0, group=either_group).start().result(PATIENCE_S)


@pytest.mark.parametrize("wait", [waits, awaits])
def test_a_wait_for_a_shut_latch_ends_with_its_time(
    either_group: CarrierGroup, wait: Callable[..., bool]
) -> None:
    latch = Latch()
    for timeout_s in (0, SHORT_S):
        assert not latch.wait(timeout_s)
        thread = VirtualThread(wait, latch, timeout_s, group=either_group).start()
        assert thread.result(PATIENCE_S) is False
    thread = parked(VirtualThread(wait, latch, group=either_group).start())
    thread.interrupt()
    with pytest.raises(ThreadInterruptedError):
        thread.result(PATIENCE_S)
    with pytest.raises(UsageError, match="timeout_s is -1"):
        latch.wait(-1)


def test_a_permit_of_another_unpark_is_kept_for_its_park(either_group: CarrierGroup) -> None:
    latch = Latch()
    thread = VirtualThread(lambda: (latch.wait(), park(0)), group=either_group).start()
    parked(thread)
    steps = sum(carrier.counts.runs for carrier in either_group)
    thread.unpark()
    until(lambda: sum(carrier.counts.runs for carrier in either_group) > steps)
    parked(thread)
    latch.open()
    assert thread.result(PATIENCE_S) == (True, True)


class Forgetful(Latch):
    """A twin: who opens it wakes only one waiter."""

    def open(self) -> None:
        self._signal.is_set = True
        if self._signal._waiters:
            self._signal._waiters.pop(0)()


@pytest.mark.parametrize(("kind", "woken"), [(Latch, 3), (Forgetful, 1)])
def test_each_waiter_is_woken_and_a_latch_that_forgets_some_is_seen(
    kind: type[Latch], woken: int
) -> None:
    with CarrierGroup(1) as group:
        latch = kind()
        threads = [parked(VirtualThread(latch.wait, group=group).start()) for _ in range(3)]
        latch.open()
        ended = [thread.join(PATIENCE_S if kind is Latch else SHORT_S) for thread in threads]
        assert ended.count(True) == woken
        Latch.open(latch)
