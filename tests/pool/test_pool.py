# SPDX-License-Identifier: Apache-2.0
"""A pool of threads: specs/pool/Pool.tla, and the bugs that specs/README.md lists.

programs/pool/pool.c and pool_more.c run one case and print what is lost.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from wakeproof import locations

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout"),
]
WRAP = "-Wl,--wrap=pthread_create"
CASES = {
    "pool": ("stairs", "order", "refused", "stop", "inside", "leaves", "few", "shrinks"),
    "pool_more": ("reserved", "dropped", "virtual", "budget", "dump", "storm"),
}
TWINS = {
    "pool_leaves_below": "leaves",
    "pool_chooses_oldest": "few",
}
Compiled = Callable[..., list[str]]


def run(command: list[str], case: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, case], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
@pytest.mark.parametrize("program", CASES)
def test_each_job_has_one_fate_and_each_thread_is_needed(
    program: str, build: str, compiled: Compiled
) -> None:
    command = compiled(program, build, *([WRAP] if program == "pool" else []))
    for case in CASES[program]:
        ended = run(command, case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    command = compiled("pool", "plain", WRAP, f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    ended = run(command, TWINS[twin])
    assert ended.returncode != 0
    assert "lost" in ended.stdout
