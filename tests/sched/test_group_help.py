# SPDX-License-Identifier: Apache-2.0
"""All carriers but one are occupied, in C: Search.tla's WorkConservation under load.

Each build for half of $WAKEPROOF_SOAK_S seconds (`make soak`: 60); $WAKEPROOF_SOAK_SEED repeats a
seed.
"""

from __future__ import annotations

import re
import sys

import pytest
from tests.support.cases import COMPILES, Compiled
from tests.support.running import run
from tests.support.soaking import PATIENCE_S, SECONDS, SEED

HELP_S = max(SECONDS // 2, 1)
TWIN_S, TWIN_PATIENCE_S = 120, 1

pytestmark = COMPILES


@pytest.mark.parametrize("build", ["plain", "delayed"])
def test_whoever_is_idle_helps(build: str, compiled: Compiled) -> None:
    limits = (str(HELP_S), SEED, str(PATIENCE_S))
    ended = run(compiled("help", build), *limits, timeout_s=HELP_S + 120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    sys.stdout.write(f"{build}, seed {SEED}: {ended.stdout}")
    [stolen] = re.findall(r"stolen (\d+)", ended.stdout)
    assert int(stolen) > 100 * HELP_S, ended.stdout


@pytest.mark.parametrize(
    ("twin", "build"),
    [
        ("search_shipped", "plain"),
        ("search_silent_internal", "plain"),
        ("search_pinned_leaves", "plain"),
        ("search_no_recheck_release", "plain"),
        ("search_no_recheck_park", "plain"),
        ("search_silent_reenqueue", "delayed"),
        ("idle_set_plain_set", "delayed"),
        ("idle_set_plain_clear", "delayed"),
        ("carrier_no_recheck", "plain"),
    ],
)
def test_a_sleeper_that_is_not_woken_is_reported_with_the_seed(
    twin: str, build: str, compiled: Compiled
) -> None:
    command = compiled("help", build, f"-DWP_TWIN_{twin}=1")
    ended = run(command, str(TWIN_S), SEED, str(TWIN_PATIENCE_S), timeout_s=2 * TWIN_S)
    says = rf"seed {SEED}, round \d+ .*: nobody runs the task that all wait for\n"
    assert re.fullmatch(says, ended.stdout), f"seed {SEED}: {ended.stdout}"
