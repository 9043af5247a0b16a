# SPDX-License-Identifier: Apache-2.0
"""CarrierGroup: the carrier that helps another one, by steal domain and by distance."""

from __future__ import annotations

import subprocess
import threading
import time
from concurrent.futures import Future
from typing import Literal

import pytest
from tests.support.cases import IN_CHECKOUT, Compiled
from tests.support.topologies import Halves, indices, nowhere

from wakeproof import Carrier, CarrierGroup, Stealing

PATIENCE_S = 60


@pytest.mark.parametrize(
    ("scope", "stealing", "domains"),
    [
        ("cluster", True, ((0, 2, 4), (1, 3))),
        ("global", True, ((0, 1, 2, 3, 4),)),
        ("cluster", False, ((0,), (1,), (2,), (3,), (4,))),
    ],
)
def test_a_domain_is_a_cluster_or_everybody(
    scope: Literal["global", "cluster"], stealing: bool, domains: tuple[tuple[int, ...], ...]
) -> None:
    own, given = Halves(scope, nowhere), Halves("global", nowhere)
    named = Stealing(scope=scope)
    with (
        CarrierGroup(5, topology=own, work_stealing=stealing) as one,
        CarrierGroup(5, topology=given, work_stealing=stealing, stealing=named) as two,
    ):
        assert indices(one) == indices(two) == domains


def hold(group: CarrierGroup, first: Carrier, go_on: threading.Event) -> Carrier:
    """Occupy `first`, or the carrier that steals from it, until `go_on`; return that carrier."""
    begun: Future[Carrier | None] = Future()

    def wait() -> None:
        begun.set_result(group.running())
        go_on.wait(PATIENCE_S)

    first.submit(wait)
    holder = begun.result(PATIENCE_S)
    assert holder is not None
    return holder


def test_under_cluster_only_a_sibling_of_the_cluster_helps() -> None:
    go_on = threading.Event()
    with CarrierGroup(4, work_stealing=True, topology=Halves("cluster", nowhere)) as group:
        busy = hold(group, group[0], go_on)
        (helper,) = {group[0], group[2]} - {busy}
        ran = [busy.submit(lambda: group.running()) for _ in range(20)]
        assert {one.result(PATIENCE_S) for one in ran} == {helper}
        assert hold(group, helper, go_on) is helper
        behind = busy.submit(lambda: group.running())
        for carrier in (group[1], group[3]):
            assert carrier.submit(int).result(PATIENCE_S) == 0
        assert not behind.done()
        go_on.set()
        assert behind.result(PATIENCE_S) in (busy, helper)


def await_parks(since: dict[Carrier, int]) -> None:
    """Return when each has slept, or is about to, once more than before."""
    while any(one.counts.parks <= parks for one, parks in since.items()):
        time.sleep(0.001)


def test_under_global_a_sibling_of_the_cluster_helps_first() -> None:
    go_on = threading.Event()
    with CarrierGroup(6, work_stealing=True, topology=Halves("global", nowhere)) as group:
        busy = hold(group, group[5], go_on)
        near = [one for one in group if one.cluster == busy.cluster and one is not busy]
        helped = []
        for _ in range(50):
            await_parks(dict.fromkeys(near, 0))
            parks = {one: one.counts.parks for one in near}
            helped.append(busy.submit(lambda: group.running()).result(PATIENCE_S))
            await_parks({one: parks[one] for one in near if one is helped[-1]})
        go_on.set()
    assert len([one for one in helped if one in near]) > 40, helped  # of two of five


@pytest.mark.slow
@IN_CHECKOUT
def test_helpers_and_victims_are_chosen_by_distance(compiled: Compiled) -> None:
    distance_decides(compiled("near", "address"))


def distance_decides(command: list[str]) -> None:
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    told = [f"{n} is helped by {near}" for n, near in enumerate("1032")]
    told += ["0 helps 1 2 3", "1 helps 0 2 3", "2 helps 3 0 1", "3 helps 2 0 1"]
    assert ran.stdout.splitlines() == told
