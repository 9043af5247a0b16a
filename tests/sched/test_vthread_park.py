# SPDX-License-Identifier: Apache-2.0
"""Python virtual threads against VThread.tla: permits, time, interrupts, pinned sections."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from greenlet import greenlet
from tests.support.virtual import PATIENCE_S, myself, parked

import wakeproof
from wakeproof import CarrierGroup, ThreadInterruptedError, VirtualThread, coroutine, park, pinned
from wakeproof._native.ffi import lib
from wakeproof._runtime import plain_core
from wakeproof.errors import UsageError, WrongThreadError


@pytest.fixture
def group() -> Iterator[CarrierGroup]:
    group = CarrierGroup(1)
    yield group
    assert group.close(10) == []


def run(group: CarrierGroup, fn: Callable[[], object]) -> object:
    return VirtualThread(fn, group=group).start().result(PATIENCE_S)


def test_an_unpark_before_the_park_is_not_lost(group: CarrierGroup) -> None:
    # UnparkNotLost, and PermitAtMostOne: three unparks give one permit.
    def body() -> tuple[bool, bool]:
        for _ in range(3):
            myself().unpark()
        return park(), park(0)

    assert run(group, body) == (True, False)


def test_a_parked_thread_leaves_its_carrier_to_others(group: CarrierGroup) -> None:
    waits = parked(VirtualThread(park, group=group).start())
    assert run(group, lambda: "ran") == "ran"
    waits.unpark()
    assert waits.result(PATIENCE_S) is True
    assert group[0].counts.pinned == 0


def test_an_unpark_before_the_start_is_kept(group: CarrierGroup) -> None:
    thread = VirtualThread(park, group=group)
    thread.unpark()
    assert thread.start().result(PATIENCE_S) is True


def test_a_park_whose_time_is_over_takes_no_permit(group: CarrierGroup) -> None:
    # StaleTimerHarmless: its timer does not end the next park either.
    def body() -> tuple[bool, bool, bool]:
        timed_out = park(0.001)
        myself().unpark()
        return timed_out, park(3600), park(0)

    assert run(group, body) == (False, True, False)


def test_a_yield_and_a_sleep_take_no_permit(group: CarrierGroup) -> None:
    # PermitOnlyConsumedByPark.
    def body() -> bool:
        myself().unpark()
        wakeproof.yield_now()
        wakeproof.sleep(0.001)
        return park(0)

    assert run(group, body) is True


def test_a_join_gives_back_the_permits_that_it_took(group: CarrierGroup) -> None:
    other = VirtualThread(park, group=group).start()

    def body() -> tuple[bool, bool]:
        myself().unpark()
        joined = other.join(0.001)
        return joined, park(0)

    assert run(group, body) == (False, True)
    other.unpark()
    assert other.join(PATIENCE_S)


def test_a_join_that_is_woken_leaves_no_permit(group: CarrierGroup) -> None:
    other = VirtualThread(park, group=group).start()
    joiner = VirtualThread(lambda: (other.join(), park(0)), group=group).start()
    parked(joiner)
    other.unpark()
    assert joiner.result(PATIENCE_S) == (True, False)


@pytest.mark.parametrize("twin", [False, True])
def test_a_wake_that_finds_the_time_over_leaves_no_permit(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch, twin: bool
) -> None:
    # The setter has taken the waiter off the list, and wakes it only after the waiter has given up.
    def body() -> tuple[bool, bool]:
        signal = plain_core.Signal()
        turns = signal._turns(myself())
        turns.send(None)
        wake = signal._waiters.pop()
        signal.is_set = True
        with pytest.raises(StopIteration, match="True"):
            turns.send(lib.WP_TIMEOUT)
        wake()
        return signal.wait(0), park(0)

    if twin:
        monkeypatch.setattr(plain_core, "_end", lambda *_: None)
    assert run(group, body) == (True, twin)


def test_an_interrupt_ends_a_wait_and_is_answered_once(group: CarrierGroup) -> None:
    # InterruptNotLost: whether it comes before the wait or during it.
    def body(wait: Callable[[], object]) -> bool:
        with pytest.raises(ThreadInterruptedError, match="sleeper was interrupted"):
            wait()
        return wakeproof.interrupted()

    other = VirtualThread(park, group=group).start()
    for wait in (park, lambda: wakeproof.sleep(3600), other.join):
        thread = VirtualThread(body, wait, name="sleeper", group=group)
        thread.interrupt()
        assert thread.start().result(PATIENCE_S) is False
        thread = VirtualThread(body, wait, name="sleeper", group=group).start()
        parked(thread).interrupt()
        assert thread.result(PATIENCE_S) is False
    other.unpark()


def test_interrupted_tells_and_clears(group: CarrierGroup) -> None:
    def body() -> tuple[bool, bool, bool]:
        myself().interrupt()
        return wakeproof.interrupted(), wakeproof.interrupted(), park(0)

    assert run(group, body) == (True, False, True)  # an interrupt gives the permit, too
    assert wakeproof.interrupted() is False  # an OS thread has no flag


def test_any_thread_sees_the_flag_and_leaves_it(group: CarrierGroup) -> None:
    thread = VirtualThread(
        lambda: (myself().is_interrupted(), wakeproof.interrupted()), group=group
    )
    assert not thread.is_interrupted()
    thread.interrupt()
    assert thread.is_interrupted()
    assert thread.is_interrupted()
    assert thread.start().result(PATIENCE_S) == (True, True)
    assert not thread.is_interrupted()


def test_a_park_in_a_pinned_section_blocks_its_carrier_and_is_counted(group: CarrierGroup) -> None:
    # PinnedUnparkReachesCarrier; sections nest.
    def body() -> bool:
        with pinned(), pinned():
            wakeproof.yield_now()
        with pinned():
            return park()

    thread = parked(VirtualThread(body, group=group).start(), "pinned")
    waits = VirtualThread(int, group=group).start()
    assert not waits.join(0.01)
    thread.unpark()
    assert thread.result(PATIENCE_S) is True
    assert waits.join(PATIENCE_S)
    assert group[0].counts.pinned == 1


@pytest.mark.parametrize("bad", [-1, float("nan"), "1", True, 1j, None])
def test_a_time_that_makes_no_sense_is_refused(group: CarrierGroup, bad: Any) -> None:
    for wait in (wakeproof.sleep, coroutine.sleep):
        thread = VirtualThread(wait, bad, group=group).start()
        with pytest.raises(UsageError, match=f"seconds is {bad!r}; allowed: 0 or more"):
            thread.result(PATIENCE_S)
    with pytest.raises(UsageError, match=f"seconds is {bad!r}; allowed: 0 or more"):
        wakeproof.sleep(bad)
    if bad is not None:
        thread = VirtualThread(park, bad, group=group).start()
        with pytest.raises(UsageError, match=f"timeout_s is {bad!r}; allowed: 0 or more"):
            thread.result(PATIENCE_S)


def test_a_sleep_of_no_time_lets_others_run(group: CarrierGroup) -> None:
    # It hung: a thread that slept for 0 s until another thread of its carrier had run, ran for
    # ever.
    seen: list[int] = []

    def waits() -> None:
        VirtualThread(seen.append, 1).start()
        while not seen:
            wakeproof.sleep(0)

    async def awaits() -> None:
        VirtualThread(seen.append, 1).start()
        while not seen:
            await coroutine.sleep(0)

    for body in (waits, awaits):
        seen.clear()
        VirtualThread(body, group=group).start().result(PATIENCE_S)


def test_a_sleep_of_an_os_thread_may_be_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    for seconds in (0.5, float("inf"), 10**400):
        wakeproof.sleep(seconds)
    assert slept == [0.5, 1e9, 1e9]


def test_an_os_thread_sleeps_and_yields_but_has_no_permit() -> None:
    wakeproof.sleep(0)
    wakeproof.yield_now()
    with pinned():
        assert wakeproof.current() is None
    with pytest.raises(WrongThreadError, match="park: the caller is no virtual thread"):
        park(0)


def test_a_greenlet_of_the_thread_parks_as_the_thread(group: CarrierGroup) -> None:
    def body() -> tuple[object, ...]:
        inner = greenlet(lambda: (wakeproof.sleep(0.001), wakeproof.yield_now(), myself()))
        return (*inner.switch(), park(0))

    thread = VirtualThread(body, group=group).start()
    assert thread.result(PATIENCE_S) == (None, None, thread, False)
