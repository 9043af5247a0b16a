# SPDX-License-Identifier: Apache-2.0
"""Statistics of steal domains: each count is moved by a situation made for it.

Spec: specs/sched/Search.tla, EveryStartSearchMatchedByOneStop: searches that begin come to an end.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from tests.support.cases import IN_CHECKOUT
from tests.support.topologies import Halves, nowhere
from tests.support.virtual import PATIENCE_S, held

from wakeproof import CarrierGroup, DomainStatistics, locations


def now(group: CarrierGroup) -> DomainStatistics:
    (domain,) = group.statistics()
    return domain


def until(moved: Callable[[], int], again: Callable[[], object]) -> int:
    """Repeat a race until it moves the count, and return how often."""
    end = time.monotonic() + PATIENCE_S
    tries = 0
    while not moved():
        assert time.monotonic() < end, tries
        again()
        tries += 1
    return tries


MOVES = [
    "nobody is idle: 0 0 0 0 0",
    "1 is sent to 2: 1 0 0 0 0",
    "once more for 2: 1 1 0 0 0",
    "for 0 meanwhile: 1 2 1 0 0",
    "1 has helped 2: 1 2 1 0 0",
    "1 is woken for its own: 1 2 1 0 0",
    "1 looks idle, and is awake: 2 2 1 1 0",
    "a ticket was lost",
]


def moves(kernel: Path, program: Path) -> list[str]:
    """Compile programs/base/counters.c with that kernel, and return its output."""
    files = [kernel / f"{n}.c" for n in ("base/error", "base/futex", "base/lock", "base/membarrier",
                                         "sched/carrier", "sched/local_queue_carrier",
                                         "sched/run_queues",
                                         "sched/search")]  # fmt: skip
    files.append(Path(__file__).parents[1] / "programs" / "base" / "counters.c")
    flags = ["-std=c11", "-O1", f"-I{kernel}", "-pthread"]
    subprocess.run(["cc", *flags, *files, "-o", program], check=True)
    return said([str(program)])


def said(command: list[str]) -> list[str]:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return ran.stdout.splitlines()


def each_end_moves_its_count(command: list[str]) -> None:
    assert said(command) == MOVES


@IN_CHECKOUT
def test_each_end_of_a_search_moves_its_count(tmp_path: Path) -> None:
    assert moves(locations.sources() / "kernel", tmp_path / "counts") == MOVES


@IN_CHECKOUT
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "count"),
    [
        ("search.c", "wp__count_search("),
        ("search.c", "wp__count_denied("),
        ("search.c", "counts.no_idle"),
        ("counters.h", "wp_store_relaxed(&counts->victim"),
        ("counters.h", "wp__count_shared(&counts->denied_other"),
    ],
)
def test_a_count_that_is_left_out_shows(file: str, count: str, tmp_path: Path) -> None:
    kernel = shutil.copytree(locations.sources() / "kernel", tmp_path / "kernel")
    [broken] = kernel.rglob(file)
    lines = broken.read_text().splitlines()
    (where,) = (number for number, line in enumerate(lines) if count in line)
    lines[where] = ";"
    broken.write_text("\n".join(lines) + "\n")
    assert moves(kernel, tmp_path / "counts") != MOVES


def test_a_sibling_that_was_sent_steals_directed() -> None:
    with CarrierGroup(2, work_stealing=True) as group:
        with held(group[0]):
            until(lambda: now(group).directed, lambda: group[0].submit(int).result(PATIENCE_S))
        assert group[1].counts.directed == now(group).directed
        assert now(group).searches >= 1


def test_a_sibling_with_nothing_to_do_steals_by_a_probe() -> None:
    with CarrierGroup(2, work_stealing=True) as group, held(*group) as (_, go_on):
        behind = group[0].submit(int)
        assert now(group) == DomainStatistics((0, 1), *[0] * 9, now(group).wakes, 0)
        go_on.set()
        assert behind.result(PATIENCE_S) == 0
        assert (now(group).probed, now(group).directed, now(group).recheck) == (1, 0, 0)
        assert now(group).useless_wakes == 0


def test_a_sibling_about_to_sleep_steals_by_its_recheck() -> None:
    # The sibling with the longer queue has only pinned tasks: the probe returns with nothing.
    with CarrierGroup(3, work_stealing=True) as group, held(*group) as (_, _, go_on):
        for _ in range(3):
            group[0].factory(pinned=True)(int)
        behind = group[1].submit(int)
        go_on.set()
        assert behind.result(PATIENCE_S) == 0
        assert (now(group).recheck, now(group).probed, now(group).directed) == (1, 0, 0)


def test_a_helper_that_comes_too_late_was_woken_for_nothing() -> None:
    # A thread that submits to itself and returns takes its own task, often before the helper is
    # awake.
    with CarrierGroup(2, work_stealing=True) as group:

        def parent() -> None:
            group.submit(int)

        until(lambda: now(group).fruitless, lambda: group[0].submit(parent).result(PATIENCE_S))
        until(lambda: now(group).useless_wakes, lambda: group[0].submit(parent).result(PATIENCE_S))
    found = now(group)
    assert found.useless_wakes <= found.wakes
    assert found.searches == found.no_idle + found.directed + found.fruitless


@pytest.mark.parametrize("stealing", [False, True])
def test_a_submission_to_a_sleeper_is_one_wake(stealing: bool) -> None:
    with CarrierGroup(1, work_stealing=stealing) as group:
        for n in range(20):
            until(lambda n=n: now(group).wakes > n, lambda: group.submit(int).result(PATIENCE_S))
    assert now(group).searches == 0


def test_the_counts_of_a_busy_group_balance() -> None:
    ran = threading.Semaphore(0)
    with CarrierGroup(4, work_stealing=True) as group:

        def spawn(depth: int) -> None:
            ran.release()
            for _ in range(2 if depth else 0):
                group.submit(spawn, depth - 1)

        for _ in range(100):  # one carrier may run a whole round alone
            for _ in range(4):
                group[0].submit(spawn, 6)
            assert all(ran.acquire(timeout=PATIENCE_S) for _ in range(4 * (2**7 - 1)))
            if any(carrier.counts.stolen for carrier in group):
                break
    found = now(group)
    assert found.searches == found.no_idle + found.directed + found.fruitless
    assert found.denied_other <= found.denied
    assert found.wakes >= found.directed + found.fruitless
    assert found.directed + found.probed + found.recheck == sum(c.counts.stolen for c in group) > 0


def test_each_steal_domain_has_its_own() -> None:
    with CarrierGroup(4, work_stealing=True, topology=Halves("cluster", nowhere)) as group:
        with held(group[0]):
            until(
                lambda: group.statistics()[0].directed,
                lambda: group[0].submit(int).result(PATIENCE_S),
            )
        even, odd = group.statistics()
        assert (even.carriers, odd.carriers) == ((0, 2), (1, 3))
        assert (odd.searches, odd.directed, odd.probed, odd.recheck) == (0, 0, 0, 0)
        with pytest.raises(FrozenInstanceError):
            even.searches = 0  # type: ignore[misc]


def test_without_stealing_each_carrier_is_a_domain_that_never_searches() -> None:
    with CarrierGroup(3) as group:
        for future in [group[n % 3].submit(int) for n in range(300)]:
            future.result(PATIENCE_S)
    found = group.statistics()
    assert [one.carriers for one in found] == [(0,), (1,), (2,)]
    assert not any(one.searches or one.denied or one.probed or one.recheck for one in found)
