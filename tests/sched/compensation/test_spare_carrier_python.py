# SPDX-License-Identifier: Apache-2.0
"""`Compensation.spare_carriers` run in place of blocked carriers.  Serves SpareCarrier.tla."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent import futures

import pytest
from tests.support.virtual import until

from wakeproof import (
    CarrierGroup,
    Compensation,
    VirtualThread,
    blocking,
    coroutine,
    io,
    park,
    pinned,
)
from wakeproof.errors import StateError, UsageError

PATIENCE_S = 60


def test_others_run_while_each_carrier_blocks_and_threads_are_used_again() -> None:
    with CarrierGroup(2, compensation=Compensation(spare_carriers=2)) as group:
        for episode in range(2):
            end, marked = threading.Event(), threading.Barrier(3)

            def hold(end: threading.Event = end, marked: threading.Barrier = marked) -> None:
                with blocking() as is_marked:
                    assert is_marked
                    marked.wait(PATIENCE_S)
                    end.wait(PATIENCE_S)

            held = [one.factory(pinned=True)(hold) for one in group]
            marked.wait(PATIENCE_S)
            assert group.spare_carriers().active == 2
            ran = {group.submit(group.running).result(PATIENCE_S) for _ in range(4)}
            thread = VirtualThread(lambda: None, group=group).start()
            thread.join(PATIENCE_S)
            assert ran.isdisjoint([*group, None])
            assert thread.home not in group
            end.set()
            for one in held:
                one.result(PATIENCE_S)
            until(lambda: group.spare_carriers().active == 0)
            assert group.spare_carriers().started == 2
            assert group.spare_carriers().reused == 2 * episode


def test_a_group_without_spare_carriers_has_none() -> None:
    with CarrierGroup(1) as group:
        assert group.spare_carriers().most == group.spare_carriers().started == 0


def test_a_group_with_spare_carriers_has_no_pollers() -> None:
    with (
        CarrierGroup(1, compensation=Compensation(spare_carriers=1)) as group,
        pytest.raises(StateError, match="spare carriers"),
    ):
        io.socketpair(group=group)


def test_too_many_carriers_are_refused() -> None:
    with pytest.raises(UsageError, match=r"compensation\.spare_carriers is 1; allowed: 0 to 0"):
        CarrierGroup(1024, compensation=Compensation(spare_carriers=1))


async def waits_on_its_carrier() -> bool:
    with pinned():
        return await coroutine.park()


def waits_pinned() -> bool:
    with pinned():
        return park()


@pytest.mark.parametrize("waits", [waits_pinned, waits_on_its_carrier])
def test_a_pinned_wait_is_a_block(waits: Callable[[], object]) -> None:
    def do_others_run(group: CarrierGroup) -> bool:
        thread = VirtualThread(waits, group=group).start()
        until(lambda: thread.state == "pinned")
        future = group.submit(len, "abc")
        did_run = not futures.wait([future], PATIENCE_S if group.spare_carriers().most else 0.02)[1]
        thread.unpark()
        assert thread.result(PATIENCE_S) is True
        assert future.result(PATIENCE_S) == 3
        until(lambda: group.spare_carriers().active == 0)
        return did_run

    with CarrierGroup(1, compensation=Compensation(spare_carriers=1)) as group:
        assert do_others_run(group)
        assert do_others_run(group)
        assert group[0].placement.marks == 2
    with CarrierGroup(1) as group:  # the twin: there is none to run them
        assert not do_others_run(group)
