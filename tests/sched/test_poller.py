# SPDX-License-Identifier: Apache-2.0
"""Pollers of carriers: specs/sched/Poller.tla, and the cases that specs/README.md lists.

pollers.c and pollers_two.c run one case, with pollers that have a stack or have none, and print
what is lost.
"""

from __future__ import annotations

import pytest
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, fails, hold

pytestmark = COMPILES
CASES = (*("blocking", "descheduled", "forgets", "parking", "saves_wakeups", "timers", "resumes"),)
TWO = ("helps", "spinning", "unique", "blockers")
TWINS = {
    "poller_wakeup_forgotten": ("poller", "blocking"),
    "poller_block_unasked": ("poller", "descheduled"),
    "poller_runs_parked": ("poller", "descheduled"),
    "poller_close_unseen": ("poller", "timers"),
    "poller_own_unseen": ("poller", "resumes"),
    "poller_slot_kept": ("poller_two", "unique", "step"),
}


@EACH_BUILD
@pytest.mark.parametrize(("program", "cases"), [("poller", CASES), ("poller_two", TWO)])
def test_pollers_run_the_others_and_end(
    program: str, cases: tuple[str, ...], build: str, compiled: Compiled
) -> None:
    hold(compiled(program, build), [*cases, *((case, "step") for case in cases)])


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    program, *case = TWINS[twin]
    fails(compiled(program, "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2"), *case)
