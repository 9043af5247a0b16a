# SPDX-License-Identifier: Apache-2.0
"""The home of a task and the carrier that runs it, against Group.tla: HomeReturn, OneCarrier."""

from __future__ import annotations

import re
import threading
from concurrent.futures import Future
from typing import Any

import pytest
from tests.support.virtual import PATIENCE_S, held

from wakeproof import Carrier, CarrierGroup, VirtualThread
from wakeproof.errors import UsageError

Place = tuple[Carrier | None, Carrier | None]


def place(group: CarrierGroup) -> Place:
    return group.home(), group.running()


def test_a_task_that_is_not_stolen_runs_at_home() -> None:
    with CarrierGroup(3) as group:
        for carrier in group:
            assert carrier.submit(place, group).result(PATIENCE_S) == (carrier, carrier)


def test_a_stolen_task_runs_elsewhere_and_its_home_stays() -> None:
    with CarrierGroup(2, work_stealing=True) as group, held(group[0]):
        for _ in range(20):
            found = group[0].submit(place, group).result(PATIENCE_S)
            assert found == (group[0], group[1])


def test_who_is_no_task_of_the_group_has_neither() -> None:
    with CarrierGroup(1) as group, CarrierGroup(1) as other:
        assert place(group) == (None, None)
        assert other.submit(place, group).result(PATIENCE_S) == (None, None)
        assert other.submit(place, other).result(PATIENCE_S) == (other[0], other[0])


def test_a_thread_that_a_task_starts_inherits_neither() -> None:
    with CarrierGroup(1) as group:

        def parent() -> Place:
            found: Future[Place] = Future()
            child = threading.Thread(target=lambda: found.set_result(place(group)))
            child.start()
            child.join()
            return found.result(PATIENCE_S)

        assert group.submit(parent).result(PATIENCE_S) == (None, None)


def test_a_child_of_a_stolen_task_is_at_home_where_its_parent_runs() -> None:
    # The home of the parent is not inherited, although its carrier is busy.
    with CarrierGroup(2, work_stealing=True) as group:

        def parent() -> tuple[Place, Future[Place]]:
            return place(group), group.submit(place, group)

        with held(group[0]):
            here, child = group[0].submit(parent).result(PATIENCE_S)
            assert here == (group[0], group[1])
            assert child.result(PATIENCE_S) == (group[1], group[1])


def test_a_factory_of_a_carrier_submits_there_and_one_of_the_group_where_it_is_called() -> None:
    with CarrierGroup(3) as group:
        there, anywhere = group[2].factory(), group.factory()
        here, far, near = (
            group[1]
            .submit(lambda: (group.running(), there(place, group), anywhere(place, group)))
            .result(PATIENCE_S)
        )
        assert here is group[1]
        assert far.result(PATIENCE_S) == (group[2], group[2])
        assert near.result(PATIENCE_S) == (group[1], group[1])


def test_submissions_from_outside_go_to_one_carrier_after_the_other() -> None:
    with CarrierGroup(4) as group:
        submit, make = group.submit, group.factory()
        for start in (submit, make):
            ran = [start(place, group).result(PATIENCE_S)[1] for _ in range(12)]
            first = ran[0].index
            assert [one.index for one in ran] == [(first + n) % 4 for n in range(12)]


@pytest.mark.parametrize("pinned", [True, False])
def test_a_pinned_task_waits_for_its_carrier_and_another_is_stolen(pinned: bool) -> None:
    with CarrierGroup(2, work_stealing=True) as group:
        with held(group[0]):
            make = group[0].factory(pinned=pinned)
            behind = [make(place, group) for _ in range(20)]
            if not pinned:
                found = {one.result(PATIENCE_S) for one in behind}
            for _ in range(20):  # the sibling looks, and sleeps, and looks again
                group[1].factory(pinned=True)(int).result(PATIENCE_S)
            assert {one.is_alive() for one in behind} == {pinned}
        if pinned:
            found = {one.result(PATIENCE_S) for one in behind}
    ran_on = group[0 if pinned else 1]
    assert found == {(ran_on, ran_on)}, "a callable settles where it begins"
    assert group[1].counts.stolen == (0 if pinned else 20)


def test_a_pinned_task_of_the_group_stays_with_its_parent() -> None:
    with CarrierGroup(2, work_stealing=True) as group:
        pinned = group.factory(pinned=True)

        def parent() -> list[VirtualThread]:
            return [pinned(place, group) for _ in range(20)]

        children = group[1].factory(pinned=True)(parent).result(PATIENCE_S)
        assert {one.result(PATIENCE_S) for one in children} == {(group[1], group[1])}


@pytest.mark.parametrize("name", [5, b"load", "lo\0ad"])
def test_a_name_that_no_report_can_show_is_refused_before_anything_runs(name: Any) -> None:
    with CarrierGroup(1) as group:
        for of in (group, group[0]):
            with pytest.raises(UsageError, match=re.escape(f"name is {name!r}; allowed: a str")):
                of.factory(name=name)
