# SPDX-License-Identifier: Apache-2.0
"""RendezvousGuard against Guard.tla, rendezvous signals.  With producers: test_guard.py."""

from __future__ import annotations

import signal
from types import FrameType

import pytest

from wakeproof import RendezvousGuard


def test_a_rendezvous_without_a_producer_times_out() -> None:
    guard = RendezvousGuard()
    assert not guard.wait(lambda: True, timeout_s=0)
    assert not guard.wait(lambda: True, timeout_s=0.01)
    assert not guard.wakeup()  # the promise was taken back


def test_a_rendezvous_with_work_or_a_claim_does_not_block() -> None:
    guard = RendezvousGuard()
    assert guard.wait(lambda: False)
    assert guard.wait(lambda: guard.wakeup())
    assert not guard.wakeup()


def test_an_exception_of_the_check_ends_the_wait() -> None:
    guard = RendezvousGuard()
    with pytest.raises(ZeroDivisionError):
        guard.wait(lambda: bool(1 // 0))
    assert not guard.wakeup()


def test_an_exception_of_a_signal_handler_ends_the_wait() -> None:
    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    guard = RendezvousGuard()
    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        with pytest.raises(KeyboardInterrupt):
            guard.wait(lambda: True)
    finally:
        signal.signal(signal.SIGALRM, old)
    assert not guard.wakeup()


@pytest.mark.parametrize("timeout_s", [-0.5, float("nan")])
def test_a_timeout_that_makes_no_sense_is_named(timeout_s: float) -> None:
    with pytest.raises(ValueError, match=f"^timeout_s is {timeout_s}; allowed"):
        RendezvousGuard().wait(lambda: True, timeout_s)
