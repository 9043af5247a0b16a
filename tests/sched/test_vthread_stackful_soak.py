# SPDX-License-Identifier: Apache-2.0
"""Virtual threads by the hundred thousand, at random, in C: specs/thread/VThread.tla under load.

`make soak`: a million for 60 s; $WAKEPROOF_SOAK_SEED repeats a seed.
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

IS_LONG = SECONDS >= 60
THREADS = {  # ThreadSanitizer allows no more
    "plain": 1_000_000 if IS_LONG else 100_000,
    "address": 100_000 if IS_LONG else 10_000,
    "thread": 4_000 if IS_LONG else 2_000,
    "delayed": 10_000,
}
SHORT_S = 3
STARTS_S = 120  # a million of them, on a busy machine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout"),
]


def ran(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout_s)


@pytest.mark.parametrize("way", ["stealing", "private"])
@pytest.mark.parametrize("build", THREADS)
def test_no_virtual_thread_is_lost(build: str, way: str, compiled: Compiled) -> None:
    is_first = build == "plain" and way == "stealing"
    seconds = SECONDS if IS_LONG else 2 * SECONDS if is_first else SHORT_S
    limits = (str(seconds), SEED, str(PATIENCE_S), str(THREADS[build]))
    ended = ran([*compiled("vsoak", build), *limits, way], seconds + STARTS_S + 5 * PATIENCE_S)
    assert ended.returncode == 0, f"seed {SEED}: {ended.stdout}{ended.stderr}"
    assert ended.stderr == ""
    sys.stdout.write(f"{build}, seed {SEED}: {ended.stdout}")
    did = {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", ended.stdout)}
    assert all(did[what] > 0 for what in ("parks", "timeouts", "interrupts", "children")), did


@pytest.mark.parametrize(
    "twin",
    ["vthread_park_split", "vthread_yield_takes", "vthread_unpark_busy", "group_settled_shared"],
)
def test_the_soak_sees_a_defect(twin: str, compiled: Compiled) -> None:
    soak = compiled("vsoak", "delayed", f"-DWP_TWIN_{twin}=1")  # a window that is seldom hit else
    ended = ran([*soak, "60", SEED, "5", "1000", "stealing"], 5 * PATIENCE_S)
    assert ended.returncode != 0, ended.stdout
