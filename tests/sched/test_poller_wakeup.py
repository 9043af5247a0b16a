# SPDX-License-Identifier: Apache-2.0
"""Wakeups of Python: no wake is lost, whatever they raise; specs/sched/Poller.tla."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any

import pytest
from tests.support.polling import Make, run_on
from tests.support.virtual import PATIENCE_S, until

import wakeproof
from wakeproof import CarrierGroup, VirtualThread


@pytest.mark.parametrize("wakes_first", [True, False])
def test_a_wakeup_that_raises_is_reported_and_called_again(
    make: Make, wakes_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_value))
    one, failures = make(), iter([KeyError("once")])

    def wakeup() -> None:
        if wakes_first:
            one.wakeup()
        for failure in failures:
            raise failure
        one.wakeup()

    with CarrierGroup(1) as group:
        thread = group[0].register_poller(wakeup, one.body)
        until(lambda: one.blocks > 0)
        for call in range(5):
            assert run_on(group, lambda call=call: call) == call
    assert thread.result(0) is None
    assert {repr(error) for error in told} == {"KeyError('once')"}
    assert told[0].__notes__ == ["in the wakeup of poller-0"]


def test_ctrl_c_in_a_wakeup_is_raised_and_the_wakeup_not_lost(make: Make) -> None:
    one, first = make(), iter([1])

    def wakeup() -> None:
        for _ in first:
            # The handler raises here, before it has woken the poller.
            signal.raise_signal(signal.SIGINT)
        one.wakeup()

    def wakes_until_interrupted() -> None:
        until = time.monotonic() + PATIENCE_S
        kept = []  # so that no finalizer runs: CPython reports what is raised in one, and goes on
        while time.monotonic() < until:
            kept.append(VirtualThread(int, group=group).start())
            kept[-1].result(PATIENCE_S)

    with CarrierGroup(1) as group:
        thread = group[0].register_poller(wakeup, one.body)
        until(lambda: one.blocks > 0)
        with pytest.raises(KeyboardInterrupt):
            wakes_until_interrupted()
        assert run_on(group, lambda: "runs") == "runs"
    assert thread.result(0) is None


def test_a_wakeup_is_no_virtual_thread_whoever_wakes(make: Make) -> None:
    one, callers = make(), []

    def wakeup() -> None:
        callers.append((wakeproof.current(), threading.get_ident()))
        one.wakeup()

    def wakes(carrier: wakeproof.Carrier) -> tuple[bool, int]:
        for _ in range(20):
            VirtualThread(int, group=carrier).start().join()
        return wakeproof.current() is not None, threading.get_ident()

    with CarrierGroup(2) as group:
        group[0].register_poller(wakeup, one.body)
        until(lambda: one.blocks > 0)
        thread = group[1].factory(pinned=True)(wakes, group[0])
        is_virtual, carrier = thread.result(PATIENCE_S)
    assert is_virtual
    assert carrier in {ident for _, ident in callers}
    assert {current for current, _ in callers} == {None}


def test_a_poller_has_not_ended_while_somebody_is_in_its_wakeup(make: Make) -> None:
    one, inside, leaves = make(), threading.Event(), threading.Event()

    def wakeup() -> None:
        inside.set()
        assert leaves.wait(PATIENCE_S)

    with CarrierGroup(1) as group:
        thread = group[0].register_poller(wakeup, lambda poller: (one.body(poller), ended.set()))
        ended = threading.Event()
        until(lambda: one.blocks > 0)
        waker = threading.Thread(target=lambda: VirtualThread(int, group=group).start())
        waker.start()
        assert inside.wait(PATIENCE_S)
        one.told = True
        one.at.wake()
        assert ended.wait(PATIENCE_S)
        run_on(group, int)  # its carrier goes on without it
        assert (thread.is_alive(), group[0].poller) == (True, thread)
        leaves.set()
        thread.result(PATIENCE_S)
        assert group[0].poller is None
        waker.join()
