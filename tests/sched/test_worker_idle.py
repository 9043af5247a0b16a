# SPDX-License-Identifier: Apache-2.0
"""A carrier that has nothing to run, or little: programs/sched/idle.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold, loses

pytestmark = COMPILES
CASES = {
    "woken": "a carrier that was woken for its one task is not robbed of it",
    "sent": "a carrier that is sent to another while it looks around is sent, whoever that is",
    "put_off": "the only task of a carrier that runs may be left to it for a moment",
    "at_once": "any other task is stolen at once",
    "sent_early": "a carrier that was sent and waits still comes for a task of its own",
    "moves": "a thread whose home sleeps continues where it is woken, unless it is pinned",
    "turns": "what others push keeps nobody in the private FIFO from its turn",
    "probed": "whoever has one sibling looks for tasks there, and not at home",
    "rests": "a carrier that has parked does not sleep while a moved task is there for it",
    "dormant": "a dormant carrier that was woken for a moved task wakes another",
    "nudged": "a carrier that is woken for nothing takes nothing from others before it sleeps",
}
PLAIN = {"learns": "a carrier that steals in vain puts the next steal off, until one is worth it"}
WRAPPED = [
    f"-Wl,--wrap={name}" for name in ("wp__search_around", "wp__worker_park", "wp__worker_probe")
]
TWINS = {  # file, the old text, and the new text
    "put_off": ("carrier.c", "\t\tcarrier->put_off = victim;\n", ""),
    "at_once": ("carrier.c", "wp_mpsc_published(&from->queue) <= 1", "true"),
    "sent_early": (
        "carrier.c",
        "\treturn !announce(carrier, WP_PARKED_FUTEX);\n",
        "\tannounce(carrier, WP_PARKED_FUTEX);\n\treturn true;\n",
    ),
    "learns": ("worker.c", "if (was_worth || carrier", "if (true || was_worth || carrier"),
    "moves": ("submit.c", "\twp__carrier_tasks_resumes(self, &thread->task);\n", ""),
    "woken": (
        "run_queues.c",
        "\tif (published != 1 || !wp_mpsc_is_quiescent(&carrier->inbox))\n",
        "\tif (published >= 0)\n",
    ),
    "sent": (
        "carrier.c",
        "if (old >= WP_SEARCHING)\n\t\treturn serve",
        "if (old > WP_SEARCHING)\n\t\treturn serve",
    ),
    "turns": ("run_queues.c", "\tcarrier->pushed_next = !carrier->pushed_next;\n", ""),
    "probed": ("worker_idle.c", "first = (carrier->index + 1 +", "first = (carrier->index +"),
    "rests": (
        "group_placement.c",
        "\t       !wp_placement_has_global(&placed->placement);\n",
        "\t       true;\n",
    ),
    "dormant": (
        "group_placement.c",
        "\t\twp__group_placement_wake_one(placed, mine->index);\n\t\treturn NULL;\n",
        "\t\treturn NULL;\n",
    ),
    "nudged": ("worker.c", "node = woke || mine->has_stop ?", "node = mine->has_stop ?"),
}


@EACH_BUILD
def test_who_has_little_to_run_looks_where_it_should(build: str, compiled: Compiled) -> None:
    hold(compiled("idle", build, *WRAPPED), CASES)


def test_a_steal_in_vain_is_learnt_from(compiled: Compiled) -> None:
    hold(compiled("idle", "plain", *WRAPPED), PLAIN)


@pytest.mark.parametrize("case", TWINS)
def test_each_twin_is_seen(case: str, tmp_path: Path) -> None:
    loses(compiling.broken(tmp_path, "idle", "plain", *TWINS[case], *WRAPPED), case)
