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
    "placed_resumes_home": "resumed",
}
TWINS = {
    "placed_left_there": "late",
    "placed_mark_outlives": "ends",
    "placed_move_uncounted": "moved",
    "placed_own_first": "first",
    "placed_steal_uncounted": "stolen",
    "placed_take_untold": "moved",
    "placed_suspect_keeps": "watched",
    "placed_takes_silent": "both",
    "placed_wakes_nobody": "moved",
}
Compiled = Callable[..., list[str]]


def run(command: list[str], *case: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *case], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_tasks_start_where_less_is_and_leave_who_blocks(build: str, compiled: Compiled) -> None:
    command = compiled("placed", build)
    for case in CASES:
        ended = run(command, case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


@pytest.mark.parametrize("build", ["plain", "thread"])
def test_tasks_go_on_where_less_is_if_that_is_asked_for(build: str, compiled: Compiled) -> None:
    command = compiled("placed_resume", build)
    for case in RESUMES:
        ended = run(command, case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


@pytest.mark.parametrize("twin", TWINS_OF_RESUMES)
def test_each_twin_of_going_on_is_seen(twin: str, compiled: Compiled) -> None:
    flags = (f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=1")
    ended = run(compiled("placed_resume", "plain", *flags), TWINS_OF_RESUMES[twin])
    assert ended.returncode != 0
    assert "lost" in ended.stdout


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_nothing_is_counted_after_a_storm(build: str, compiled: Compiled) -> None:
    command = compiled("placed_storm", build)
    for storm in STORMS:
        ended = run(command, *storm, "40", "1")
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), storm


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_of_the_wiring_is_seen(twin: str, compiled: Compiled) -> None:
    ended = run(compiled("placed", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=1"), TWINS[twin])
    assert ended.returncode != 0
    assert "lost" in ended.stdout


def test_an_os_thread_that_draws_nothing_is_seen(tmp_path: Path) -> None:
    drawn = "\t\trandom = (uint64_t)wp_clock_ns() ^ (uintptr_t)&random;"
    target = compiling.broken(
        tmp_path, "placed", "plain", "group_placement.c", drawn, "\t\trandom = 0;"
    )
    ended = run([str(target)], "spread")
    assert (ended.returncode, ended.stdout) == (1, "lost a choice of the third\n")
