# SPDX-License-Identifier: Apache-2.0
"""Invalid pollers of Python, and threads that may not use one: specs/sched/Poller.tla."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.polling import Make, One, run_on
from tests.support.virtual import PATIENCE_S, until

from wakeproof import CarrierGroup, ForkedError, Poller, VirtualThread, io, park
from wakeproof._runtime.jobs import threads
from wakeproof.errors import StateError, UsageError, WrongThreadError


def test_those_that_block_must_leave_a_carrier_free() -> None:
    over = threading.Event()

    def blocks(_: Poller) -> bool:
        return over.wait(PATIENCE_S)

    with CarrierGroup(1) as group:
        told = r"register p: it blocks; 0 of 1 carriers have pollers that do, and one more would"
        with pytest.raises(StateError, match=told):
            group[0].register_poller(int, blocks, name="p", blocks=True)
        assert group[0].poller is None
        assert all(thread._group is not group for thread in threads.values())
    with CarrierGroup(3) as group:
        for carrier in group[:2]:
            carrier.register_poller(int, blocks, blocks=True)
        told = r"register poller-2: it blocks; 2 of 3 carriers have pollers that do, and one more"
        with pytest.raises(StateError, match=told):
            group[2].register_poller(int, blocks, blocks=True)
        assert VirtualThread(int, group=group[2]).start().result(PATIENCE_S) == 0
        over.set()
        until(lambda: group[1].poller is None)
        group[2].register_poller(int, blocks, blocks=True).result(PATIENCE_S)


@pytest.mark.parametrize(
    ("wakeup", "body", "name", "told"),
    [
        (None, print, None, "wakeup is None"),
        (int, 3, None, "body is 3"),
        (int, print, 7, "name is 7"),
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
    until(lambda: bool(given))
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
