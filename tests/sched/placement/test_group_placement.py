# SPDX-License-Identifier: Apache-2.0
"""Groups that place tasks by load: specs/sched/placement/Placement.tla, in the wiring.

placed.c and placed_resume.c run one case, placed_storm.c threads that do all of it at
once; all print what is lost: a load that is not 0 in the end is.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import compiling

from wakeproof import locations

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout"),
]
CASES = (
    *("chosen", "task", "moved", "both", "poller", "late"),
    *("stolen", "ends", "nobody", "first", "closed", "watched", "spread"),
)
STORMS = [
    (*form, stealing, carriers)  # form: policy, what is counted, placed anew where it goes on?
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
Compiled = Callable[..., list[str]]


def run(command: list[str], *case: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *case], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_tasks_start_where_less_is_and_leave_who_blocks(build: str, compiled: Compiled) -> None:
    command = compiled("group_placement", build)
    for case in CASES:
        ended = run(command, case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


@pytest.mark.parametrize("build", ["plain", "thread"])
def test_tasks_go_on_where_less_is_if_that_is_asked_for(build: str, compiled: Compiled) -> None:
    command = compiled("group_placement_resume", build)
    for case in RESUMES:
        ended = run(command, case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


@pytest.mark.parametrize("twin", TWINS_OF_RESUMES)
def test_each_twin_of_going_on_is_seen(twin: str, compiled: Compiled) -> None:
    flags = (f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=1")
    ended = run(compiled("group_placement_resume", "plain", *flags), TWINS_OF_RESUMES[twin])
    assert ended.returncode != 0
    assert "lost" in ended.stdout


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_nothing_is_counted_after_a_storm(build: str, compiled: Compiled) -> None:
    command = compiled("group_placement_storm", build)
    for storm in STORMS:
        ended = run(command, *storm, "40", "1")
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), storm


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_of_the_wiring_is_seen(twin: str, compiled: Compiled) -> None:
    ended = run(
        compiled("group_placement", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=1"), TWINS[twin]
    )
    assert ended.returncode != 0
    assert "lost" in ended.stdout


def test_an_os_thread_that_draws_nothing_is_seen(tmp_path: Path) -> None:
    drawn = "\t\trandom = (uint64_t)wp_clock_ns() ^ (uintptr_t)&random;"
    target = compiling.broken(
        tmp_path, "group_placement", "plain", "group_placement.c", drawn, "\t\trandom = 0;"
    )
    ended = run([str(target)], "spread")
    assert (ended.returncode, ended.stdout) == (1, "lost a choice of the third\n")
