# SPDX-License-Identifier: Apache-2.0
"""wakeproof.Parker against Parker.tla: PermitAtMostOne, UnparkNotLost, CloseNotLost."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from hypothesis.stateful import RuleBasedStateMachine, rule

from wakeproof import ClosedError, Parker

PATIENCE_S = 20  # a lost wakeup fails the test instead of hanging it


@contextmanager
def alarms(handler: Callable[[], object], every_s: float) -> Iterator[None]:
    """Run `handler` in the main thread, again and again."""
    old = signal.signal(signal.SIGALRM, lambda *_: handler())
    signal.setitimer(signal.ITIMER_REAL, every_s, every_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


class ParkerMachine(RuleBasedStateMachine):
    """Parker against its spec: two Booleans.  Rules have the names of actions in Parker.tla."""

    def __init__(self) -> None:
        super().__init__()
        self.parker = Parker()
        self.permit = self.closed = False

    @rule()
    def unpark(self) -> None:
        assert self.parker.unpark() is not (self.permit or self.closed)
        self.permit = True

    @rule()
    def close(self) -> None:
        self.parker.close()
        self.closed = True

    @rule()
    def try_(self) -> None:
        self.expect(timeout_s=0)

    @rule()
    def end_wait(self) -> None:
        # Arm, Wait, and at once the end of the wait, because the deadline has passed.
        self.expect(timeout_s=1e-9)

    def expect(self, timeout_s: float) -> None:
        if self.closed and not self.permit:
            with pytest.raises(ClosedError):
                self.parker.park(timeout_s)
        else:
            assert self.parker.park(timeout_s) is self.permit
        self.permit = False


TestParkerMachine = pytest.mark.slow(ParkerMachine.TestCase)


def test_an_unpark_before_the_park_is_not_lost() -> None:
    # UnparkNotLost: the signal may come before any thread waits for it.
    parker = Parker()
    assert parker.unpark()
    assert parker.park(timeout_s=0)


def test_two_unparks_give_one_permit() -> None:
    # PermitAtMostOne.
    parker = Parker()
    assert [parker.unpark(), parker.unpark()] == [True, False]
    assert [parker.park(timeout_s=0), parker.park(timeout_s=0)] == [True, False]


def test_a_sleeping_owner_is_woken_every_time() -> None:
    # UnparkNotLost, with real sleeps: each thread sleeps until the other has run.
    ping, pong = Parker(), Parker()

    def answer() -> bool:
        return all(ping.park(PATIENCE_S) and pong.unpark() for _ in range(500))

    with ThreadPoolExecutor() as pool:
        answers = pool.submit(answer)
        assert all(ping.unpark() and pong.park(PATIENCE_S) for _ in range(500))
        assert answers.result()


def test_many_unparkers_and_one_owner_leave_nobody_asleep() -> None:
    parker, done = Parker(), []

    def give(name: int) -> None:
        done.append(name)
        parker.unpark()

    with ThreadPoolExecutor(8) as pool:
        pool.map(give, range(100))
        while len(done) < 100:
            assert parker.park(PATIENCE_S)


def test_close_wakes_a_sleeping_owner() -> None:
    # CloseNotLost.
    with ThreadPoolExecutor() as pool, Parker() as parker:
        owner = pool.submit(parker.park, PATIENCE_S)
        parker.close()
        with pytest.raises(ClosedError, match=r"Parker\.park: the parker is closed"):
            owner.result(PATIENCE_S)


def test_a_permit_given_before_the_close_is_still_taken() -> None:
    with Parker() as parker:
        parker.unpark()
    assert parker.park(timeout_s=0)
    with pytest.raises(ClosedError):
        parker.park(timeout_s=0)


def test_an_exception_of_a_signal_handler_ends_the_park() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    parker = Parker()
    with alarms(interrupt, 0.01), pytest.raises(KeyboardInterrupt):
        parker.park()
    assert parker.unpark()
    assert parker.park(timeout_s=0)


def test_signal_handlers_run_and_the_deadline_stays() -> None:
    seen: list[float] = []
    begin = time.monotonic()
    with alarms(lambda: seen.append(time.monotonic()), 0.005):
        assert not Parker().park(timeout_s=0.05)
    assert time.monotonic() - begin >= 0.05
    assert seen


def test_a_signal_handler_may_unpark() -> None:
    parker = Parker()
    with alarms(parker.unpark, 0.01):
        assert parker.park(PATIENCE_S)


@pytest.mark.parametrize("timeout_s", [-1, -1e-9, -math.inf, math.nan])
def test_a_timeout_that_makes_no_sense_is_named(timeout_s: float) -> None:
    with pytest.raises(ValueError, match=rf"^timeout_s is {timeout_s}; allowed: 0 or more") as told:
        Parker().park(timeout_s)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("timeout_s", [None, math.inf, 1e300, 2**63, 9e9])
def test_a_long_timeout_is_a_timeout(timeout_s: float | None) -> None:
    parker = Parker()
    with alarms(parker.unpark, 0.005):
        assert parker.park(timeout_s)
