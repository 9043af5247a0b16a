# SPDX-License-Identifier: Apache-2.0
"""WakeupGuard against specs/wakeup/Guard.tla: NoLostWakeup, WakeIsClaimed, Served."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.support.running import run

from wakeproof import GuardStatistics, Parker, RendezvousGuard, WakeupGuard
from wakeproof.guard import Fences

PATIENCE_S = 20  # a lost wakeup fails the test instead of hanging it
BOTH: tuple[Fences, Fences] = ("symmetric", "asymmetric")


class IdleFailedError(Exception):
    """An exception of the poller's own check."""


class GuardMachine(RuleBasedStateMachine):
    """WakeupGuard against its spec.  Rules have the names of actions in Guard.tla."""

    def __init__(self) -> None:
        super().__init__()
        self.guard = WakeupGuard(self.wake)
        self.queue = self.token = self.wakes = self.claims = 0
        self.announced = self.asleep = self.broken = False

    def wake(self) -> None:
        if self.broken:
            raise OSError("no transport")
        self.token = 1
        self.wakes += 1

    @rule(broken=st.booleans())
    def push(self, broken: bool) -> None:
        # Push, SignalFence, Look, Claim, Wake.
        self.queue += 1
        self.broken = broken
        if broken and self.asleep:
            with pytest.raises(OSError, match="no transport"):
                self.guard.wakeup()
        else:
            assert self.guard.wakeup() is self.asleep
            self.claims += self.asleep
            self.asleep = False

    @precondition(lambda self: not self.announced)
    @rule()
    def poll(self) -> None:
        self.queue = 0

    @precondition(lambda self: not self.announced)
    @rule(pushes=st.integers(0, 2), raises=st.booleans())
    def announce(self, pushes: int, raises: bool) -> None:
        # Announce, Fence, then Check; producers may come between, and the caller's check may fail.
        self.token = 0

        def check() -> bool:
            self.asleep = True
            for _ in range(pushes):
                self.push(False)
            if raises:
                raise IdleFailedError
            return self.queue == 0

        try:
            self.announced = self.guard.enter(check)
        except IdleFailedError:
            assert raises
        if not self.announced:
            self.asleep = False

    @rule()
    def leave(self) -> None:
        answered = self.announced and not self.asleep
        assert self.guard.exit() is answered
        self.announced = False
        self.asleep = False

    @invariant()
    def no_lost_wakeup(self) -> None:
        assert not (self.announced and self.queue and not self.token and not self.asleep)

    @invariant()
    def wake_is_claimed(self) -> None:
        assert self.wakes == self.claims


TestGuardMachine = pytest.mark.slow(GuardMachine.TestCase)


def counted() -> tuple[WakeupGuard, list[str]]:
    calls: list[str] = []
    return WakeupGuard(lambda: calls.append("wake")), calls


def test_a_poller_that_is_awake_is_not_woken() -> None:
    guard, calls = counted()
    assert not guard.wakeup()
    assert guard.enter(lambda: True)
    guard.exit()
    assert not guard.wakeup()
    assert calls == []


def test_one_producer_pays_for_a_sleep() -> None:
    # WakeIsClaimed.
    guard, calls = counted()
    assert guard.enter(lambda: True)
    assert [guard.wakeup(), guard.wakeup()] == [True, False]
    assert calls == ["wake"]


def test_the_promise_stands_while_the_poller_looks() -> None:
    guard, calls = counted()
    guard.enter(lambda: guard.wakeup())
    assert calls == ["wake"]


def test_work_found_by_the_check_takes_the_promise_back() -> None:
    guard, calls = counted()
    assert not guard.enter(lambda: False)
    assert not guard.wakeup()
    assert calls == []


def test_a_wake_owed_is_paid_once_even_if_the_check_raises() -> None:
    guard, calls = counted()

    def check() -> bool:
        assert guard.wakeup()
        raise IdleFailedError

    with pytest.raises(IdleFailedError):
        guard.enter(check)
    assert calls == ["wake"]
    assert not guard.wakeup()  # nothing stays pending
    assert guard.enter(lambda: True)  # and the guard goes on
    assert guard.wakeup()
    assert guard.statistics() == GuardStatistics(enters=2, blocks=1, claims=1)


def test_exit_is_idempotent_and_says_once_that_a_wake_was_claimed() -> None:
    guard, _ = counted()
    assert not guard.exit()
    guard.enter(lambda: True)
    guard.wakeup()
    assert [guard.exit(), guard.exit()] == [True, False]


def test_a_transport_that_fails_leaves_the_wake_owed() -> None:
    calls: list[str] = []

    def transport() -> None:
        calls.append("wake")
        if len(calls) == 1:
            raise BrokenPipeError("first")

    guard = WakeupGuard(transport)
    guard.enter(lambda: True)
    with pytest.raises(BrokenPipeError, match="first"):
        guard.wakeup()
    assert [guard.wakeup(), guard.wakeup()] == [True, False]


def poll_all(queue: deque[int], block: Callable[[], object], total: int) -> int:
    """Take `total` items, blocking whenever the queue looks empty."""
    taken = 0
    while taken < total:
        while queue:
            queue.popleft()
            taken += 1
        if taken < total:
            block()
    return taken


def produce_all(pool: ThreadPoolExecutor, queue: deque[int], wakeup: Callable[[], bool]) -> None:
    def produce() -> None:
        for number in range(500):
            queue.append(number)
            wakeup()

    for _ in range(3):
        pool.submit(produce)


@pytest.mark.parametrize("fences", BOTH)
def test_no_wakeup_is_lost_between_three_producers_and_a_sleeper(fences: Fences) -> None:
    # Served.  The transport is a permit: sticky.
    queue: deque[int] = deque()
    parker = Parker()
    guard = WakeupGuard(parker.unpark, fences=fences)

    def block() -> None:
        if guard.enter(lambda: not queue):
            assert parker.park(PATIENCE_S)
        guard.exit()

    with ThreadPoolExecutor() as pool:
        produce_all(pool, queue, guard.wakeup)
        assert poll_all(queue, block, 1500) == 1500


@pytest.mark.parametrize("fences", BOTH)
def test_no_wakeup_is_lost_at_a_rendezvous(fences: Fences) -> None:
    queue: deque[int] = deque()
    guard = RendezvousGuard(fences=fences)

    def block() -> None:
        assert guard.wait(lambda: not queue, PATIENCE_S)

    with ThreadPoolExecutor() as pool:
        produce_all(pool, queue, guard.wakeup)
        assert poll_all(queue, block, 1500) == 1500


def test_unknown_fences_are_named() -> None:
    strong: Any = "strong"
    for make in (lambda: WakeupGuard(print, fences=strong), lambda: RendezvousGuard(fences=strong)):
        with pytest.raises(ValueError, match=r"^fences is 'strong'; allowed: 'symmetric', 'asym"):
            make()


def test_a_sound_guard_lets_the_poller_block_for_ever() -> None:
    guard = WakeupGuard(lambda: None, fences="asymmetric")
    assert guard.enter(lambda: True)
    assert guard.max_block_s is None


@pytest.mark.slow
def test_without_membarrier_guards_say_so() -> None:
    # A process of its own: it forbids itself the system call, for good.
    script = Path(__file__).parents[1] / "programs" / "wakeup" / "no_membarrier.py"
    ran = run([sys.executable, script])
    if ran.returncode == 77:
        pytest.skip(ran.stdout)
    assert ran.stdout.split() == ["asymmetric", "0.001", "True", "symmetric", "None", "100"], (
        ran.stderr
    )
