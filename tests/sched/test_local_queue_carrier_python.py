# SPDX-License-Identifier: Apache-2.0
"""Groups with bounded run queues, from Python: the option and its counts."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from wakeproof import CarrierGroup
from wakeproof.config import Tuning
from wakeproof.errors import UsageError

PATIENCE_S = 60
BOUNDED = Tuning(queue="bounded")
RING = 256  # kernel/queue/local_queue.h


def submits(group: CarrierGroup, many: int) -> list[int]:
    """Submit this many from within one task, to its own carrier; return their results."""

    def root() -> list[Future[int]]:
        return [group.submit(int, number) for number in range(many)]

    return [one.result(PATIENCE_S) for one in group[0].submit(root).result(PATIENCE_S)]


@pytest.mark.parametrize("carriers", [1, 3])
def test_tasks_run_once_though_they_do_not_fit(carriers: int) -> None:
    with CarrierGroup(carriers, work_stealing=True, tuning=BOUNDED) as group:
        assert submits(group, 4 * RING) == list(range(4 * RING))
    assert all(one.counts.runnable == 0 for one in group)


def test_half_of_a_full_ring_spills() -> None:
    with CarrierGroup(1, work_stealing=True, tuning=BOUNDED) as group:
        submits(group, RING)
        assert group[0].counts.spilled == 0
        submits(group, RING + 1)
        assert group[0].counts.spilled == RING // 2


def test_nothing_spills_where_there_is_no_ring() -> None:
    with CarrierGroup(1, work_stealing=True) as group:
        submits(group, 4 * RING)
        assert (group[0].counts.spilled, group[0].counts.looted) == (0, 0)


def test_the_environment_says_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAKEPROOF_TUNING_QUEUE", "bounded")
    with CarrierGroup(1, work_stealing=True) as group:
        submits(group, RING + 1)
        assert group[0].counts.spilled == RING // 2
    monkeypatch.setenv("WAKEPROOF_TUNING_QUEUE", "small")
    with pytest.raises(UsageError, match="WAKEPROOF_TUNING_QUEUE is 'small'"):
        CarrierGroup(1)
