# SPDX-License-Identifier: Apache-2.0
"""Carriers that are all occupied but one, in C: Search.tla's WorkConservation under load.

Each build for half of $WAKEPROOF_SOAK_S seconds (`make soak`: 60); $WAKEPROOF_SOAK_SEED repeats
a seed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from tests.support.soaking import PATIENCE_S, SECONDS, SEED

from wakeproof import locations

Compiled = Callable[..., list[str]]

HELP_S = max(SECONDS // 2, 1)
TWIN_S, TWIN_PATIENCE_S = 120, 1

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout"),
]


@pytest.mark.parametrize("build", ["plain", "delayed"])
def test_whoever_is_idle_helps(build: str, compiled: Compiled) -> None:
    command = [*compiled("help", build), str(HELP_S), SEED, str(PATIENCE_S)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=HELP_S + 120)
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
    command += [str(TWIN_S), SEED, str(TWIN_PATIENCE_S)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=2 * TWIN_S)
    says = rf"seed {SEED}, round \d+ .*: nobody runs the task that all wait for\n"
    assert re.fullmatch(says, ended.stdout), f"seed {SEED}: {ended.stdout}"
