# SPDX-License-Identifier: Apache-2.0
"""Python virtual threads against specs/VThread.tla: permits, time, interrupts, pinned sections."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue

import pytest
from greenlet import greenlet
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, rule

import wakeproof
from wakeproof import (
    CarrierGroup,
    ThreadInterruptedError,
    VirtualThread,
    _mount,
    _signal,
    park,
    pinned,
)
from wakeproof._ffi import lib
from wakeproof._signal import Signal
from wakeproof.errors import UsageError, WrongThreadError

PATIENCE_S = 60  # a lost wake fails the test instead of hanging it


@pytest.fixture
def group() -> Iterator[CarrierGroup]:
    group = CarrierGroup(1)
    yield group
    assert group.close(10) == []


def run(group: CarrierGroup, fn: Callable[[], object]) -> object:
    return VirtualThread(fn, group=group).start().result(PATIENCE_S)


def wait_for(thread: VirtualThread, state: str) -> VirtualThread:
    while thread.state != state:
        assert thread.is_alive()
    return thread


def myself() -> VirtualThread:
    thread = wakeproof.current()
    assert thread is not None
    return thread


def test_an_unpark_before_the_park_is_not_lost(group: CarrierGroup) -> None:
    # UnparkNotLost, and PermitAtMostOne: three are one.
    def body() -> tuple[bool, bool]:
        for _ in range(3):
            myself().unpark()
        return park(), park(0)

    assert run(group, body) == (True, False)


def test_a_parked_thread_leaves_its_carrier_to_others(group: CarrierGroup) -> None:
    parked = wait_for(VirtualThread(park, group=group).start(), "parked")
    assert run(group, lambda: "ran") == "ran"
    parked.unpark()
    assert parked.result(PATIENCE_S) is True
    assert group[0].counts.pinned == 0


def test_an_unpark_before_the_start_is_kept(group: CarrierGroup) -> None:
    thread = VirtualThread(park, group=group)
    thread.unpark()
    assert thread.start().result(PATIENCE_S) is True


def test_a_park_whose_time_is_over_takes_no_permit(group: CarrierGroup) -> None:
    # StaleTimerHarmless: nor does its timer end the next park.
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
    wait_for(joiner, "parked")
    other.unpark()
    assert joiner.result(PATIENCE_S) == (True, False)


@pytest.mark.parametrize("twin", [False, True])
def test_a_wake_that_finds_the_time_over_leaves_no_permit(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch, twin: bool
) -> None:
    # The setter has taken the waiter off the list, and wakes it only after that has given up.
    def body() -> tuple[bool, bool]:
        signal = Signal()
        turns = signal.turns(myself())
        turns.send(None)
        wake = signal._waiters.pop()
        signal.is_set = True
        with pytest.raises(StopIteration, match="True"):
            turns.send(lib.WP_TIMEOUT)
        wake()
        return signal.wait(0), park(0)

    if twin:
        monkeypatch.setattr(_signal, "_end", lambda *_: None)
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
        wait_for(thread, "parked").interrupt()
        assert thread.result(PATIENCE_S) is False
    other.unpark()


def test_interrupted_tells_and_clears(group: CarrierGroup) -> None:
    def body() -> tuple[bool, bool, bool]:
        myself().interrupt()
        return wakeproof.interrupted(), wakeproof.interrupted(), park(0)

    assert run(group, body) == (True, False, True)  # an interrupt gives the permit, too
    assert wakeproof.interrupted() is False  # an OS thread has no flag


def test_a_park_in_a_pinned_section_blocks_its_carrier_and_is_counted(group: CarrierGroup) -> None:
    # PinnedUnparkReachesCarrier; sections nest.
    def body() -> bool:
        with pinned(), pinned():
            wakeproof.yield_now()
        with pinned():
            return park()

    thread = wait_for(VirtualThread(body, group=group).start(), "pinned")
    waits = VirtualThread(int, group=group).start()
    assert not waits.join(0.01)
    thread.unpark()
    assert thread.result(PATIENCE_S) is True
    assert waits.join(PATIENCE_S)
    assert group[0].counts.pinned == 1


@pytest.mark.parametrize("bad", [-1, float("nan")])
def test_a_time_that_makes_no_sense_is_refused(group: CarrierGroup, bad: float) -> None:
    for wait in (park, wakeproof.sleep):
        thread = VirtualThread(wait, bad, group=group).start()
        with pytest.raises(UsageError, match="timeout_s is"):
            thread.result(PATIENCE_S)


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


def test_deep_stacks_of_several_threads_keep_apart(group: CarrierGroup) -> None:
    # They take turns on one C stack, also below C code: each finds its own as it was.
    def deep(n: int, depth: int) -> list[int]:
        if depth == 0:
            return sorted(range(20), key=lambda k: (wakeproof.yield_now(), -k * n)[1])
        found = [functools.reduce(lambda *_: deep(n, depth - 1), range(1), [])]
        wakeproof.yield_now()
        return found[0]

    threads = [VirtualThread(deep, n, 20 * abs(n), group=group).start() for n in (-3, 1, 2, -1)]
    told = [thread.result(PATIENCE_S) for thread in threads]
    up = list(range(20))
    assert told == [up, up[::-1], up[::-1], up]


def test_300_threads_wake_one_another_in_a_chain(group: CarrierGroup) -> None:
    # The JDK's ParkWithFixedThreadPool: each unparks the one before it.
    threads: list[VirtualThread] = []
    gate = VirtualThread(park, group=group).start()

    def body(n: int) -> None:
        gate.join()
        if n + 1 < 300:
            park()
        if n:
            threads[n - 1].unpark()

    threads += [VirtualThread(body, n, group=group) for n in range(300)]
    for thread in threads:
        thread.start()
    gate.unpark()
    assert all(thread.join(PATIENCE_S) for thread in threads)


def test_threads_that_yield_take_turns(group: CarrierGroup) -> None:
    # YieldFair: nobody is overtaken twice.
    order: list[int] = []

    def body(n: int) -> None:
        for _ in range(100):
            order.append(n)
            wakeproof.yield_now()

    begin = VirtualThread(
        lambda: [VirtualThread(body, n, group=group[0]).start() for n in range(3)], group=group
    ).start()
    for thread in begin.result(PATIENCE_S):
        assert thread.join(PATIENCE_S)
    assert order == [0, 1, 2] * 100


def test_every_sleeper_wakes(group: CarrierGroup) -> None:
    # SleepALot.
    def body(n: int) -> int:
        for _ in range(3):
            wakeproof.sleep(n % 7 / 10_000)
        return n

    threads = [VirtualThread(body, n, group=group).start() for n in range(500)]
    assert [thread.result(PATIENCE_S) for thread in threads] == list(range(500))


def test_an_unparker_in_another_thread_is_never_missed(group: CarrierGroup) -> None:
    # UnparkNotLost, between a carrier and an OS thread: each round needs the last one's wake.
    rounds, came = 300, threading.Semaphore(0)

    def body() -> None:
        for _ in range(rounds):
            came.release()
            assert park(PATIENCE_S)

    thread = VirtualThread(body, group=group).start()
    for _ in range(rounds):
        assert came.acquire(timeout=PATIENCE_S)
        thread.unpark()
    assert thread.join(PATIENCE_S)


def test_the_twin_that_says_park_when_it_should_yield_is_seen(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(_mount, "YIELD", lib.WP_STEP_PARK)
        thread = VirtualThread(wakeproof.yield_now, group=group).start()
        wait_for(thread, "parked")
        assert not thread.join(0.01)
    thread.unpark()
    assert thread.join(PATIENCE_S)


class PermitMachine(RuleBasedStateMachine):
    """A thread's permit against its spec: one Boolean.  Rules carry the names of VThread.tla."""

    def __init__(self) -> None:
        super().__init__()
        self.group = CarrierGroup(1)
        self.asked: list[Callable[[], object]] = []
        self.told: SimpleQueue[object] = SimpleQueue()
        self.thread = VirtualThread(self.serve, group=self.group).start()
        self.permit = False

    def serve(self) -> None:
        while True:
            wakeproof.yield_now()
            if self.asked:
                self.told.put(self.asked.pop()())

    def ask(self, what: Callable[[], object]) -> object:
        self.asked.append(what)
        return self.told.get(timeout=PATIENCE_S)

    @rule()
    def unpark(self) -> None:
        self.thread.unpark()
        self.permit = True

    @rule()
    def park(self) -> None:
        assert self.ask(lambda: park(0)) is self.permit
        self.permit = False

    @rule()
    def yield_(self) -> None:
        assert self.ask(wakeproof.yield_now) is None

    @rule()
    def sleep(self) -> None:
        assert self.ask(lambda: wakeproof.sleep(0.000_1)) is None

    @rule()
    def pinned_park(self) -> None:
        def body() -> bool:
            with pinned():
                return park(0.000_1)

        assert self.ask(body) is self.permit
        self.permit = False

    @rule()
    def interrupt(self) -> None:
        self.thread.interrupt()
        assert self.ask(wakeproof.interrupted) is True
        self.permit = True

    def teardown(self) -> None:
        self.asked.append(exit)
        assert self.thread.join(PATIENCE_S)
        assert self.group.close() == []


TestPermit = pytest.mark.slow(PermitMachine.TestCase)
TestPermit.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
