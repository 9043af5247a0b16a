# SPDX-License-Identifier: Apache-2.0
"""Pollers of Python that are refused, that end, and that fail: specs/Poller.tla."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from tests.polling import Make, One, await_that, run_on
from tests.virtual import PATIENCE_S

import wakeproof
from wakeproof import (
    CarrierGroup,
    ClosedError,
    ForkedError,
    Poller,
    PollerClosedError,
    Unfinished,
    VirtualThread,
    io,
    park,
)
from wakeproof._mount import here
from wakeproof.errors import StateError, UsageError, WrongThreadError


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
    slow = VirtualThread(wakeproof.sleep, 0.01, group=group[0]).start()
    assert group.close(PATIENCE_S) == []
    assert [thread.result(0) for thread in [*threads, slow]] == [None, None, None]
    with pytest.raises(ClosedError, match=r"register poller-0: the group is closed"):
        one.register(group[0])


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
            await_that(lambda: one.blocks > 0)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert threads[0].state == "terminated"


def test_those_that_block_must_leave_a_carrier_free() -> None:
    over = threading.Event()

    def blocks(_: Poller) -> bool:
        return over.wait(PATIENCE_S)

    with CarrierGroup(1) as group:
        told = r"register p: it blocks; 0 of 1 carriers have pollers that do, and one more would"
        with pytest.raises(StateError, match=told):
            group[0].register_poller(int, blocks, name="p", blocks=True)
        assert group[0].poller is None
    with CarrierGroup(3) as group:
        for carrier in group[:2]:
            carrier.register_poller(int, blocks, blocks=True)
        told = r"register poller-2: it blocks; 2 of 3 carriers have pollers that do, and one more"
        with pytest.raises(StateError, match=told):
            group[2].register_poller(int, blocks, blocks=True)
        assert VirtualThread(int, group=group[2]).start().result(PATIENCE_S) == 0
        over.set()
        await_that(lambda: group[1].poller is None)
        group[2].register_poller(int, blocks, blocks=True).result(PATIENCE_S)


@pytest.mark.parametrize(
    ("wakeup", "body", "name", "told"),
    [
        (None, print, None, "wakeup is None"),
        (int, 3, None, "body is 3"),
        (int, test_an_exception_in_the_main_thread_closes_and_leaves_nothing, 7, "name is 7"),
        (int, print, "a\0b", "name is 'a"),
    ],
)
def test_what_makes_no_poller_is_refused(wakeup: Any, body: Any, name: Any, told: str) -> None:
    async def coroutine(_: Poller) -> None: ...

    with CarrierGroup(1) as group:
        with pytest.raises(UsageError, match=told):
            group[0].register_poller(wakeup, body, name=name)
        with pytest.raises(UsageError, match="no coroutine function"):
            group[0].register_poller(int, coroutine)
        with pytest.raises(StateError, match="start poller-0: it was started before"):
            group[0].register_poller(int, lambda _: park()).start()


def test_other_threads_may_not_use_a_poller(one: One, either_group: CarrierGroup) -> None:
    given: list[Poller] = []

    def body(poller: Poller) -> object:
        given.append(poller)
        return one.body(poller)

    either_group[0].register_poller(one.wakeup, body)
    await_that(lambda: bool(given))
    (poller,) = given
    assert poller.carrier is either_group[0]

    def uses() -> int:
        refused = 0
        calls: list[Callable[[], object]] = [poller.try_park, poller.can_park, poller.until]
        for call in [*calls, poller.unpark, lambda: poller.maybe_yield(True)]:
            with pytest.raises(WrongThreadError, match="not poller-0, the poller of carrier-0"):
                call()
            refused += 1
        return refused

    assert uses() == 5
    assert run_on(either_group, uses) == 5


def test_sockets_and_a_poller_of_ones_own_refuse_one_another(make: Make) -> None:
    with CarrierGroup(2) as group:
        for sock in io.socketpair(group=group):
            sock.close()
        with pytest.raises(StateError, match=r"carrier-1 has a poller: that of wakeproof\.io"):
            make().register(group[1])
    with CarrierGroup(2) as group:
        make().register(group[1], name="mine")
        with pytest.raises(StateError, match=r"there is another on carrier-1 \('mine'\)"):
            io.socketpair(group=group)
        make().register(group[0])  # its slot is free


def test_a_forked_child_may_register_none(group: CarrierGroup) -> None:
    child = os.fork()
    if child == 0:
        try:
            group[0].register_poller(int, print)
        except ForkedError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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
        await_that(lambda: one.blocks > 0)
        for call in range(5):
            assert run_on(group, lambda call=call: call) == call
    assert thread.result(0) is None
    assert {repr(error) for error in told} == {"KeyError('once')"}
    assert told[0].__notes__ == ["in the wakeup of poller-0"]


def test_ctrl_c_in_a_wakeup_is_raised_and_the_wakeup_not_lost(make: Make) -> None:
    one, first = make(), iter([1])

    def wakeup() -> None:
        for _ in first:
            signal.raise_signal(signal.SIGINT)  # the handler raises here, before it has woken
        one.wakeup()

    def wakes_until_interrupted() -> None:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            VirtualThread(int, group=group).start().result(PATIENCE_S)

    with CarrierGroup(1) as group:
        thread = group[0].register_poller(wakeup, one.body)
        await_that(lambda: one.blocks > 0)
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
        await_that(lambda: one.blocks > 0)
        thread = VirtualThread(wakes, group[0], group=group[1]).start()
        is_virtual, carrier = thread.result(PATIENCE_S)
    assert is_virtual
    assert carrier in {ident for _, ident in callers}
    assert {current for current, _ in callers} == {None}


def test_what_has_ended_is_let_go_of(make: Make) -> None:
    class Big:
        """What the body worked with."""

    def ends(group: CarrierGroup) -> list[weakref.ref[Any]]:
        one, big = make(told=True), Big()
        thread = group[0].register_poller(one.wakeup, lambda poller: (big, one.body(poller)))
        assert thread.join(PATIENCE_S)
        return [weakref.ref(thread), weakref.ref(big)]

    gc.disable()
    try:
        with CarrierGroup(1) as group:
            for _ in range(3):
                gone = ends(group)
                pool = group.submit(lambda: (here.pool.alive, len(here.pool.idle)))
                assert pool.result(PATIENCE_S) == (0, 0)
                assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


def test_groups_that_had_pollers_are_freed() -> None:
    for _ in range(10):
        group = CarrierGroup(1)
        group.keeps = group[0].register_poller(int, lambda _: park())  # type: ignore[attr-defined]
        assert group.close(PATIENCE_S) == []
        gone = weakref.ref(group)
        del group
        gc.collect()
        assert gone() is None
