# SPDX-License-Identifier: Apache-2.0
"""Carriers that block: `wakeproof.blocking`, `Compensation.monitor_ms`, and the counts.

A holder occupies carrier 0 until the test releases it, so other tasks run on carrier 1.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from wakeproof import (
    Carrier,
    CarrierGroup,
    Compensation,
    Placement,
    PlacementStatistics,
    VirtualThread,
    blocking,
    coroutine,
)

PATIENCE_S = 60
NOTHING = PlacementStatistics(0, 0, 0, 0, 0, 0, 0)


class Holder:
    """A task of carrier 0: it blocks on request, and ends when it is released."""

    def __init__(self, group: CarrierGroup) -> None:
        self.runs, self.to_block, self.blocks, self.ends = (threading.Event() for _ in range(4))
        self.future = group[0].factory(pinned=True)(self._hold)
        assert self.runs.wait(PATIENCE_S)

    def _hold(self) -> bool:
        self.runs.set()
        self.to_block.wait(PATIENCE_S)
        with blocking() as is_marked:
            self.blocks.set()
            self.ends.wait(PATIENCE_S)
        return is_marked

    def block(self) -> None:
        self.to_block.set()
        assert self.blocks.wait(PATIENCE_S)


@contextmanager
def held(group: CarrierGroup) -> Iterator[Holder]:
    holder = Holder(group)
    try:
        yield holder
    finally:
        holder.to_block.set()
        holder.ends.set()


def where(group: CarrierGroup) -> Carrier | None:
    return group.running()


def test_what_waits_behind_a_blocking_task_goes_to_the_others() -> None:
    with (
        CarrierGroup(2, placement=Placement(policy="least_loaded")) as group,
        held(group) as holder,
    ):
        waits: Future[Carrier | None] = group[0].submit(where, group)
        stays = group[0].factory(pinned=True)(where, group)
        holder.block()
        assert waits.result(PATIENCE_S) is group[1]
        assert group[0].submit(where, group).result(PATIENCE_S) is group[1]
        assert stays.is_alive()
        holder.ends.set()
        assert holder.future.result(PATIENCE_S) is True
        assert stays.result(PATIENCE_S) is group[0]
        assert group[0].placement == PlacementStatistics(0, 0, 0, 1, 0, 2, 0)
        assert group[1].placement == PlacementStatistics(0, 0, 0, 0, 0, 0, 2)


def test_decisions_are_counted_where_they_lead() -> None:
    release = threading.Event()
    with (
        CarrierGroup(2, placement=Placement(policy="least_loaded")) as group,
        held(group) as holder,
    ):
        for _ in range(2):
            group[0].factory(pinned=True)(str)  # more than carrier 1 may ever have
        for _ in range(6):
            assert group.submit(where, group).result(PATIENCE_S) is group[1]
        chosen = group[1].placement
        assert chosen.home == chosen.other == 3, "next in turn is each of them, in turn"
        holder.block()
        second = threading.Event()
        other = group[1].submit(nested, second, release)
        assert second.wait(PATIENCE_S)
        late = [group.submit(where, group) for _ in range(2)]
        assert [one.placement.nowhere for one in group] == [1, 1]
        holder.ends.set()
        assert {future.result(PATIENCE_S) for future in late} == {group[0]}
        holder.future.result(PATIENCE_S)
        assert (group[0].placement.taken, group[0].placement.marks) == (2, 1)
        release.set()
        assert other.result(PATIENCE_S) == (True, False)


def nested(said: threading.Event, release: threading.Event) -> tuple[bool, bool]:
    with blocking() as outer:
        with blocking() as inner:
            pass
        said.set()  # still marked
        release.wait(PATIENCE_S)
    return outer, inner


@pytest.mark.parametrize(
    "placement", [Placement(policy="home"), Placement(policy="two_choices")], ids=str
)
def test_a_monitor_finds_who_blocks_and_says_nothing(placement: Placement) -> None:
    with CarrierGroup(2, placement=placement, compensation=Compensation(monitor_ms=1)) as group:
        with held(group):
            assert group[0].submit(where, group).result(PATIENCE_S) is group[1]
            found = group[0].placement
            assert (found.marks, found.suspects, found.moved) == (0, 1, 1)
        assert group[0].submit(where, group).result(PATIENCE_S) in group


def test_a_monitor_counts_a_step_that_blocks_once() -> None:
    # Both carriers are in a step without an end, and a task waits. The monitor looks at them a
    # hundred times.
    with CarrierGroup(2, compensation=Compensation(monitor_ms=1)) as group:
        run, end = threading.Barrier(3), threading.Event()

        def hold() -> None:
            run.wait(PATIENCE_S)
            end.wait(PATIENCE_S)

        holds = [carrier.factory(pinned=True)(hold) for carrier in group]
        try:
            run.wait(PATIENCE_S)
            waits = group[0].submit(where, group)
            deadline_s = time.monotonic() + PATIENCE_S
            while not all(one.placement.suspects for one in group):
                assert time.monotonic() < deadline_s
                time.sleep(0.001)
            time.sleep(0.1)
            assert [one.placement.suspects for one in group] == [1, 1]
        finally:
            end.set()
        assert waits.result(PATIENCE_S) in group
        for future in holds:
            future.result(PATIENCE_S)


def test_a_coroutine_says_so_again_behind_an_await() -> None:
    async def body() -> list[bool]:
        said = []
        for _ in range(2):
            with blocking() as is_marked:
                said.append(is_marked)
                await coroutine.sleep(0.001)
                with blocking() as is_marked_again:
                    said.append(is_marked_again)
        return said

    with CarrierGroup(2, placement=Placement(policy="two_choices")) as group:
        thread = VirtualThread(body, group=group).start()
        assert thread.result(PATIENCE_S) == [True, True, True, True]
        assert sum(one.placement.marks for one in group) == 4


def test_who_is_on_no_such_carrier_says_it_in_vain() -> None:
    def say() -> bool:
        with blocking() as is_marked:
            return is_marked

    assert not say()
    with CarrierGroup(1) as group:
        assert group.submit(say).result(PATIENCE_S) is False
        assert group[0].placement == NOTHING
    with CarrierGroup(1, placement=Placement(policy="two_choices")) as group:

        def fork() -> int:
            child = os.fork()
            if child == 0:
                os._exit(7 if say() else 3)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        assert group.submit(fork).result(PATIENCE_S) == 3
        assert group[0].placement.marks == 0
