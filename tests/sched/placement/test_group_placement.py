# SPDX-License-Identifier: Apache-2.0
"""Groups that place tasks by load: specs/sched/placement/Placement.tla, in the wiring.

placed.c and placed_resume.c run one case, placed_storm.c threads that do everything at once. All
print what is lost, for example a load that is not 0 in the end.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, fails, hold
from tests.support.running import run

pytestmark = COMPILES
CASES = (
    *("chosen", "task", "moved", "both", "poller", "late"),
    *("stolen", "ends", "nobody", "first", "closed", "watched", "spread"),
)
STORMS = [
    (*form, stealing, carriers)  # form: policy, what is counted, placed anew on resume?
    for form, stealing, carriers in itertools.product(("100", "211", "201"), "01", "13")
]
RESUMES = ("resumed", "pinned", "timer", "task", "closed")
TWINS_OF_RESUMES = {
    "group_resume_listed": "task",
    "group_resume_settled": "pinned",
    "group_placement_resumes_home": "resumed",
}
TWINS = {
    "group_placement_left_there": "late",
    "group_placement_mark_outlives": "ends",
    "group_placement_move_uncounted": "moved",
    "group_placement_own_first": "first",
    "group_placement_steal_uncounted": "stolen",
    "group_placement_take_untold": "moved",
    "group_placement_suspect_keeps": "watched",
    "group_placement_takes_silent": "both",
    "group_placement_wakes_nobody": "moved",
}


@EACH_BUILD
def test_tasks_start_where_less_is_and_leave_who_blocks(build: str, compiled: Compiled) -> None:
    hold(compiled("group_placement", build), CASES)


@pytest.mark.parametrize("build", ["plain", "thread"])
def test_tasks_go_on_where_less_is_if_that_is_asked_for(build: str, compiled: Compiled) -> None:
    hold(compiled("group_placement_resume", build), RESUMES)


@pytest.mark.parametrize("twin", TWINS_OF_RESUMES)
def test_each_twin_of_going_on_is_seen(twin: str, compiled: Compiled) -> None:
    flags = (f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=1")
    fails(compiled("group_placement_resume", "plain", *flags), TWINS_OF_RESUMES[twin])


@EACH_BUILD
def test_nothing_is_counted_after_a_storm(build: str, compiled: Compiled) -> None:
    hold(compiled("group_placement_storm", build), [(*storm, "40", "1") for storm in STORMS])


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_of_the_wiring_is_seen(twin: str, compiled: Compiled) -> None:
    flags = (f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=1")
    fails(compiled("group_placement", "plain", *flags), TWINS[twin])


def test_an_os_thread_that_draws_nothing_is_seen(tmp_path: Path) -> None:
    drawn = "\t\trandom = (uint64_t)wp_clock_ns() ^ (uintptr_t)&random;"
    broken = ("group_placement.c", drawn, "\t\trandom = 0;")
    ended = run(compiling.broken(tmp_path, "group_placement", "plain", *broken), "spread")
    assert (ended.returncode, ended.stdout) == (1, "lost a choice of the third\n")
