# SPDX-License-Identifier: Apache-2.0
"""Groups with bounded run queues: LocalQueueCarrier.tla and LocalQueue.tla, wired.

programs/sched/local_queue_group.c and local_queue_next.c run one case and print what is lost.
"""

from __future__ import annotations

import pytest
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, fails, hold

pytestmark = COMPILES
CASES = {
    "local_queue_group": (
        "order",
        "spills",
        "halves",
        "helped",
        "placed",
        "moved",
        "looted",
        "closed",
    ),
    "local_queue_next": ("next", "scheduler", "storm"),
}
TWINS = {
    "carrier_tasks_kept_queued": ("local_queue_next", "next"),
    "carrier_tasks_ring_left": ("local_queue_group", "closed"),
    "local_queue_keeps_all": ("local_queue_next", "scheduler"),
    "group_placement_ring_left": ("local_queue_group", "moved"),
    "group_placement_ring_uncounted": ("local_queue_group", "looted"),
}


@EACH_BUILD
def test_tasks_run_once_wherever_they_are_queued(build: str, compiled: Compiled) -> None:
    for name, cases in CASES.items():
        hold(compiled(name, build), cases)


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_of_the_wiring_is_seen(twin: str, compiled: Compiled) -> None:
    name, case = TWINS[twin]
    fails(compiled(name, "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=1"), case)
