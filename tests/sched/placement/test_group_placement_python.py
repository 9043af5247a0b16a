# SPDX-License-Identifier: Apache-2.0
"""`Placement`: the carriers on which tasks and threads without a given carrier start."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest
from tests.support.topologies import Halves, nowhere
from tests.support.virtual import PATIENCE_S, held, parked

from wakeproof import Carrier, CarrierGroup, Placement, VirtualThread, coroutine
from wakeproof.errors import UsageError

BY_LOAD = [
    Placement(policy="two_choices"),
    Placement(policy="least_loaded"),
    Placement(policy="cluster_two_choices"),
]


@contextmanager
def loaded(carrier: Carrier) -> Iterator[threading.Event]:
    """Give it one task that runs, until the event is set, and two that wait."""
    with held(carrier) as (end,):
        for _ in range(2):
            carrier.factory(pinned=True)(str)
        yield end


@pytest.fixture(params=BY_LOAD, ids=lambda placement: placement.policy)
def group(request: pytest.FixtureRequest) -> Iterator[CarrierGroup]:
    """Two carriers, of which the first has one task that runs and two that wait."""
    with CarrierGroup(2, placement=request.param) as group, loaded(group[0]):
        yield group


def where(group: CarrierGroup) -> Carrier | None:
    return group.running()


def test_what_has_no_carrier_goes_where_less_is(group: CarrierGroup) -> None:
    assert group[0].counts.load == 3
    for _ in range(10):
        assert group.submit(where, group).result(PATIENCE_S) is group[1]
        assert group.factory(name="one")(where, group).result(PATIENCE_S) is group[1]


@pytest.mark.parametrize(("load", "expected"), [("all", 1), ("queued", 0), (None, 1)])
def test_a_load_has_the_task_that_runs_or_not(load: Any, expected: int) -> None:
    with (
        CarrierGroup(1, placement=Placement(policy="least_loaded", load=load)) as group,
        held(group[0]),
    ):
        assert group[0].counts.load == expected


def test_a_thread_has_its_home_when_it_starts(group: CarrierGroup) -> None:
    async def coroutine() -> Carrier | None:
        return where(group)

    for fn in (lambda: where(group), coroutine):
        thread = VirtualThread(fn, group=group).start()
        assert thread.home is group[1]
        assert thread.result(PATIENCE_S) is group[1]


@pytest.mark.parametrize("scope", ["global", "cluster"])
@pytest.mark.parametrize("stealing", [False, True])
def test_the_lesser_cluster_has_it(scope: Literal["global", "cluster"], stealing: bool) -> None:
    placement, topology = Placement(policy="cluster_two_choices"), Halves(scope, nowhere)
    with (
        CarrierGroup(4, placement=placement, work_stealing=stealing, topology=topology) as group,
        loaded(group[0]),
    ):
        submit = group.factory(pinned=True)
        for _ in range(20):
            assert submit(where, group).result(PATIENCE_S) in (group[1], group[3])


@pytest.mark.parametrize("resumes", [False, True])
def test_a_coroutine_goes_on_where_less_is(resumes: bool) -> None:
    async def body() -> Carrier | None:
        await coroutine.park()
        return group.running()

    placement = Placement(policy="least_loaded", at_resume=resumes)
    with CarrierGroup(2, placement=placement) as group:
        thread = parked(VirtualThread(body, group=group[0]).start())
        with loaded(group[0]) as end:
            thread.unpark()
            if not resumes:
                assert not thread.join(0.01)
                end.set()
            assert thread.result(PATIENCE_S) is group[int(resumes)]
            assert thread.home is group[0]


def test_a_carrier_that_is_given_is_taken() -> None:
    with CarrierGroup(2, placement=Placement(policy="least_loaded")) as group:
        for carrier in group:
            assert carrier.submit(where, group).result(PATIENCE_S) is carrier
            assert VirtualThread(lambda: where(group), group=carrier).start().result() is carrier


def test_a_placement_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown: Any = "best"
    with pytest.raises(
        UsageError, match=r"placement\.policy is 'best'; allowed: home, two_choices, least"
    ):
        CarrierGroup(1, placement=Placement(policy=unknown))
    monkeypatch.setenv("WAKEPROOF_PLACEMENT_POLICY", "near")
    with pytest.raises(UsageError, match="WAKEPROOF_PLACEMENT_POLICY is 'near'"):
        CarrierGroup(1)


def test_a_group_that_places_nothing_counts_nothing() -> None:
    with CarrierGroup(1) as group:
        assert group.submit(lambda: group[0].counts.load).result(PATIENCE_S) == 0
