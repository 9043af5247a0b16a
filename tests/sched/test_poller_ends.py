# SPDX-License-Identifier: Apache-2.0
"""Pollers of Python that are refused, that end, and that fail: specs/sched/Poller.tla."""

from __future__ import annotations

import gc
import signal
import threading
import time
import weakref
from typing import Any

import pytest
from tests.support.polling import Eventfd, One
from tests.support.running import python
from tests.support.virtual import PATIENCE_S, myself, until

import wakeproof
from wakeproof import (
    CarrierGroup,
    ClosedError,
    Poller,
    PollerClosedError,
    Unfinished,
    VirtualThread,
    park,
)
from wakeproof._native.ffi import lib
from wakeproof._runtime import poller as _poller
from wakeproof._runtime.core import greenlets_here
from wakeproof._runtime.jobs import threads
from wakeproof.errors import StateError


def test_the_slot_is_free_when_the_poller_has_ended(one: One, either_group: CarrierGroup) -> None:
    carrier = either_group[0]
    for turn in range(50):
        thread = one.register(carrier, name=f"turn {turn}")
        assert carrier.poller is thread
        with pytest.raises(
            StateError, match=rf"register other: carrier-0 has a poller: '{thread.name}'"
        ):
            one.register(carrier, name="other")
        one.told = True
        one.at.wake()
        assert thread.result(PATIENCE_S) == one.looks
        assert carrier.poller is None
        one.told = False


def test_what_fails_is_delivered_and_frees_the_slot(either_group: CarrierGroup) -> None:
    def fails(poller: Poller) -> None:
        with poller.try_park():
            raise KeyError(poller.maybe_yield(True))

    for _ in range(20):
        thread = either_group[0].register_poller(int, fails, name="failing")
        with pytest.raises(KeyError) as caught:
            thread.result(PATIENCE_S)
        assert caught.value.__notes__ == ["in virtual thread 'failing'"]
    with pytest.raises(TypeError):
        either_group[0].register_poller(int, int, name="x").result(PATIENCE_S)


def test_a_close_waits_for_others_and_then_ends_the_poller(one: One) -> None:
    group = CarrierGroup(2)
    threads = [one.register(group[0]), group[1].register_poller(int, lambda _: park())]
    slow = group[0].factory(pinned=True)(wakeproof.sleep, 0.01)
    assert group.close(PATIENCE_S) == []
    assert [thread.result(0) for thread in [*threads, slow]] == [None, None, None]
    with pytest.raises(ClosedError, match=r"register poller-0: the group is closed"):
        one.register(group[0])


@pytest.mark.slow
def test_a_close_sleeps_until_a_wakeup_has_returned() -> None:
    # CloseEnds: the poller is awake long before its waker has returned; CPU time, not wall.
    class Late(Eventfd):
        def wake(self) -> None:
            super().wake()
            time.sleep(1)

    one = One(Late())
    group = CarrierGroup(2)
    thread = one.register(group[0])
    until(lambda: one.blocks > 0)
    before = time.process_time()
    assert group.close(PATIENCE_S) == []
    assert time.process_time() - before < 0.1
    assert thread.result(0) is None
    one.close()


def test_a_body_may_clean_up_and_park_when_its_group_is_closed() -> None:
    log: list[str] = []

    def body(poller: Poller) -> str:
        try:
            while True:
                poller.maybe_yield(False)
        except PollerClosedError as error:
            log.append(str(error))
            wakeproof.sleep(0.001)
            with pytest.raises(PollerClosedError):
                poller.try_park()
            return "cleaned up"

    with CarrierGroup(1) as group:
        thread = group[0].register_poller(int, body, name="tidy")
    assert thread.result(0) == "cleaned up"
    assert log == ["tidy: its group is being closed"]


def test_an_interrupt_that_is_no_close_is_a_failure() -> None:
    with CarrierGroup(1) as group:
        thread = group[0].register_poller(int, lambda _: park())
        thread.interrupt()
        with pytest.raises(wakeproof.ThreadInterruptedError):
            thread.result(PATIENCE_S)


def test_one_that_does_not_come_back_is_named_by_the_close() -> None:
    group, over, begun = CarrierGroup(2), threading.Event(), threading.Event()
    thread = group[0].register_poller(
        int, lambda _: (begun.set(), over.wait(PATIENCE_S)), name="hangs", blocks=True
    )
    assert begun.wait(PATIENCE_S)
    assert group.close(0) == [Unfinished("hangs", "running")]
    over.set()
    assert group.close(PATIENCE_S) == []
    assert thread.result(0) == (None, True)


def test_an_exception_in_the_main_thread_closes_and_leaves_nothing(one: One) -> None:
    threads: list[VirtualThread] = []

    def interrupted() -> None:
        with CarrierGroup(1) as group:
            threads.append(one.register(group[0]))
            until(lambda: one.blocks > 0)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert threads[0].state == "terminated"


class Interrupted:
    """The library, with Ctrl-C before or behind a registration."""

    def __init__(self, is_behind: bool) -> None:
        self.is_behind = is_behind

    def __getattr__(self, name: str) -> object:
        return getattr(lib, name)

    def wp__poller_register(self, *arguments: Any) -> None:
        if self.is_behind:
            lib.wp__poller_register(*arguments)
        raise KeyboardInterrupt


@pytest.mark.parametrize("is_behind", [False, True])
def test_ctrl_c_in_a_registration_leaves_none_or_one_that_its_carrier_names(
    one: One, is_behind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with CarrierGroup(1) as group:
        with monkeypatch.context() as patch:
            patch.setattr(_poller, "lib", Interrupted(is_behind))
            with pytest.raises(KeyboardInterrupt):
                one.register(group[0], name="there")
        there = group[0].poller
        assert [thread.name for thread in threads.values() if thread._group is group] == (
            ["there"] if is_behind else []
        )
        assert (there.name if there else None) == ("there" if is_behind else None)
    assert there is None or there.result(0) is None


class Big:
    """The data of a poller."""

    def wakeup(self) -> None: ...

    def body(self, poller: Poller) -> None:
        assert not poller.maybe_yield(True)


def test_what_has_ended_is_let_go_of() -> None:
    gc.disable()
    try:
        with CarrierGroup(1) as group:
            big = Big()
            thread = group[0].register_poller(big.wakeup, big.body)
            gone: list[weakref.ref[Any]] = [weakref.ref(big)]
            del big
            assert thread.join(PATIENCE_S)
            alive = group.submit(lambda: greenlets_here()[0])
            assert alive.result(PATIENCE_S) == 0  # and its carrier has left it
            assert gone[0]() is None
            gone.append(weakref.ref(thread))
            del thread
            assert gone[1]() is None
    finally:
        gc.enable()


def test_a_body_that_begins_before_its_registration_returns_is_whole() -> None:
    with CarrierGroup(1) as group:
        for _ in range(200):
            thread = group[0].register_poller(int, lambda _: myself().state)
            assert thread.result(PATIENCE_S) == "running"


@pytest.mark.slow
def test_the_end_of_the_interpreter_ends_pollers() -> None:
    script = """
import os
from wakeproof import CarrierGroup
one, other = os.pipe()
def body(poller):
    while True:
        poller.maybe_yield(False)
        with poller.try_park() as parked:
            if parked and poller.can_park():
                os.read(one, 1)
group = CarrierGroup(1)
group[0].register_poller(lambda: os.write(other, b"."), body)
print("over")
"""
    ran = python(script)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("over\n", "", 0)


def test_groups_that_had_pollers_are_freed() -> None:
    for _ in range(10):
        group = CarrierGroup(1)
        group.keeps = group[0].register_poller(int, lambda _: park())  # type: ignore[attr-defined]
        assert group.close(PATIENCE_S) == []
        gone = weakref.ref(group)
        del group
        gc.collect()
        assert gone() is None
