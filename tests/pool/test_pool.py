# SPDX-License-Identifier: Apache-2.0
"""A pool of threads: specs/pool/Pool.tla, and the bugs that specs/README.md lists.

programs/pool/pool.c and pool_more.c run one case and print what is lost.
"""

from __future__ import annotations

import pytest
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, fails, hold

pytestmark = COMPILES
WRAP = "-Wl,--wrap=pthread_create"
CASES = {
    "pool": ("stairs", "order", "refused", "stop", "inside", "leaves", "few", "shrinks"),
    "pool_more": ("reserved", "dropped", "virtual", "budget", "dump", "storm"),
}
TWINS = {
    "pool_leaves_below": "leaves",
    "pool_chooses_oldest": "few",
}


@EACH_BUILD
@pytest.mark.parametrize("program", CASES)
def test_each_job_has_one_fate_and_each_thread_is_needed(
    program: str, build: str, compiled: Compiled
) -> None:
    hold(compiled(program, build, *([WRAP] if program == "pool" else [])), CASES[program])


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    fails(compiled("pool", "plain", WRAP, f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2"), TWINS[twin])
