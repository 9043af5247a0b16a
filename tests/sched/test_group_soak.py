# SPDX-License-Identifier: Apache-2.0
"""Groups from start to close, again and again, in C: specs/sched/Group.tla under load.

Each build for $WAKEPROOF_SOAK_S seconds (`make soak`: 60); $WAKEPROOF_SOAK_SEED repeats a seed.
"""

from __future__ import annotations

import re
import sys

import pytest
from tests.support.cases import COMPILES, Compiled
from tests.support.running import run
from tests.support.soaking import PATIENCE_S, SECONDS, SEED

TWIN_S, TWIN_PATIENCE_S = 120, 2  # most are seen within 5

pytestmark = COMPILES


@pytest.mark.parametrize("build", ["plain", "delayed", "thread", "address"])
def test_every_task_has_one_fate_and_nothing_is_left(build: str, compiled: Compiled) -> None:
    soak = compiled("soak", build)
    limits = (str(SECONDS), SEED, str(PATIENCE_S))
    ended = run(soak, *limits, timeout_s=SECONDS + 5 * PATIENCE_S)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    sys.stdout.write(f"{build}, seed {SEED}: {ended.stdout}")
    did = {name: int(n) for name, n in re.findall(r"(ended|stolen) (\d+)", ended.stdout)}
    assert did["ended"] > 100 * SECONDS, ended.stdout


@pytest.mark.alone  # some of these races need both cores
@pytest.mark.parametrize(
    ("twin", "build", "says"),
    [
        ("carrier_tasks_forgotten", "plain", "a task runs where it may not"),
        ("carrier_tasks_finish_silent", "plain", "it hangs"),
        ("task_unpark_busy", "plain", "two fates|two carriers|it hangs"),
        ("task_notified_kept", "plain", "it hangs"),
        ("task_park_split", "delayed", "it hangs"),
        ("task_cancel_notified", "delayed", "a queue is not empty|two fates|balance|it hangs"),
        ("carrier_wake_forgotten", "plain", "it hangs"),
        ("mpsc_split_reserve", "plain", "it hangs|a queue is not empty|do not balance"),
        ("biased_lock_no_cas", "plain", "two carriers run a task at once|two fates|it hangs"),
    ],
)
def test_the_soak_reports_a_defect_with_its_seed(
    twin: str, build: str, says: str, compiled: Compiled
) -> None:
    # A lost task or wake is a round without end, never mere latency.
    soak = compiled("soak", build, f"-DWP_TWIN_{twin}=1")
    ended = run(soak, str(TWIN_S), SEED, str(TWIN_PATIENCE_S), timeout_s=2 * TWIN_S)
    if ended.returncode > 0:  # otherwise it crashed, which is a report as well
        assert re.match(rf"seed {SEED}, round \d+ .*: .*({says})", ended.stdout), ended.stdout
    assert ended.returncode != 0, f"seed {SEED}: {ended.stdout}"
