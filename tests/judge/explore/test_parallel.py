# SPDX-License-Identifier: Apache-2.0
"""One search of graphs by several processes: each execution once, and nothing is lost silently."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.litmus import LARGE

from wakeproof.judge.explore import litmus
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.run import explore

pytestmark = pytest.mark.slow

ADDS, _ = LARGE["adds"]
LONG = "program long\n" + ("thread\n" + "  r0 = add x 1 relaxed\n" * 12) * 4 + "observe x\n"
ALONE = ExploreOptions(engine="graphs", loop_bound=0, timeouts=False)


def explored(explorer: litmus.Explorer, text: str, model: Model, jobs: int) -> Result:
    options = replace(ALONE, jobs=jobs)
    found = litmus.explore([text], (model,), options, examples=True, explorer=explorer)
    return replace(found[0][model], seconds=0.0, cpu_seconds=0.0, bytes=0)


@pytest.mark.parametrize(("text", "model"), LARGE.values(), ids=LARGE)
def test_several_processes_find_what_one_does_in_the_same_order(
    explorer: litmus.Explorer, text: str, model: Model
) -> None:
    # Everything but time and memory is equal: counts, order of outcomes, and their examples.
    alone = explored(explorer, text, model, 1)
    assert alone.exhaustive
    for jobs in (2, 3):
        assert explored(explorer, text, model, jobs) == alone


def test_eight_threads_that_add_have_40320_executions_in_two_processes(
    explorer: litmus.Explorer,
) -> None:
    found = explored(explorer, ADDS, Model.RC11, 2)
    assert (found.executions, found.exhaustive) == (40320, True)
    assert {outcome.count for outcome in found.outcomes} == {5040}  # one for each place of thread 7


def test_a_limit_of_executions_is_one_limit_for_all(explorer: litmus.Explorer) -> None:
    options = replace(ALONE, jobs=2, max_executions=39_000)
    found = litmus.explore([ADDS], (Model.RC11,), options, explorer=explorer)[0][Model.RC11]
    assert (found.executions, found.stopped) == (39_000, "max_executions")


def started(program: Path, tmp_path: Path, seconds: float) -> subprocess.Popen[str]:
    file = tmp_path / "long.txt"
    file.write_text(LONG)
    command = [program, "--program", file, "--engine", "graphs", "--model", "rc11", "--jobs", "2",
               "--max-seconds", str(seconds), "--progress", "none"]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def workers(job: subprocess.Popen[str]) -> list[int]:
    """Wait until two processes share the search, and return them."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
        if len(found) == 2:
            return [int(pid) for pid in found]
        time.sleep(0.02)
    return []


def gone(pids: list[int]) -> bool:
    """Wait for processes that are ending. Return true if none of them runs."""
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}/exe").exists() for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(Path(f"/proc/{pid}/exe").exists() for pid in pids)


def test_a_process_that_is_killed_makes_the_search_an_error(program: Path, tmp_path: Path) -> None:
    with started(program, tmp_path, 100) as job:
        first, second = workers(job)
        os.kill(second, signal.SIGKILL)
        output, _ = job.communicate(timeout=60)
    found = json.loads(output)
    assert found["error"] == "process 2 of 2 was killed by signal 9: its share is lost"
    assert not found["exhaustive"]
    assert gone([first])


def test_processes_do_not_outlive_the_one_that_started_them(program: Path, tmp_path: Path) -> None:
    with started(program, tmp_path, 100) as job:
        pids = workers(job)
        job.kill()
    assert len(pids) == 2
    assert gone(pids)


@pytest.mark.rotates
def test_outcomes_found_before_the_time_was_over_are_kept(program: Path, tmp_path: Path) -> None:
    with started(program, tmp_path, 1.5) as job:
        output, _ = job.communicate(timeout=60)
    found = json.loads(output)
    assert (found["stopped"], found["error"]) == ("max_seconds", "")
    assert sum(outcome["count"] for outcome in found["outcomes"]) == found["executions"] > 0


@pytest.mark.rotates
def test_what_one_process_learns_late_is_known_to_all_in_the_end() -> None:
    # 10! / 2^4 orders of additions. In 16 of them a plain word is written that was taken for
    # constant until then, so the exploration starts again, and is shared again.
    file = Path(__file__).parents[1] / "scenarios" / "shared.c"
    options = ExploreOptions(models=(Model.RC11,), seconds=0)
    result = explore([file], None, options, jobs=2).scenarios[0].judged[0].result
    assert (result.executions, result.exhaustive, result.error) == (226_800, True, "")
    assert {outcome.text: outcome.count for outcome in result.outcomes} == {
        "0,0": 226_784,
        "0,1": 16,
    }


def test_a_loop_that_another_process_cuts_short_is_told() -> None:
    file = Path(__file__).parents[1] / "scenarios" / "bound.c"
    for jobs in (1, 2):
        report = explore(
            [file], None, replace(ALONE, models=(Model.RC11,), loop_bound=4), jobs=jobs
        )
        assert report.scenarios[0].judged[0].result.stopped == "loop_bound"


def test_a_limit_keeps_what_one_process_has_found(explorer: litmus.Explorer) -> None:
    early = replace(ALONE, jobs=2, seconds=0.05)
    [[found]] = [list(f.values()) for f in litmus.explore([LONG], (Model.RC11,), early,
                                                           explorer=explorer)]  # fmt: skip
    assert found.stopped == "max_seconds"
    assert found.executions > 0
