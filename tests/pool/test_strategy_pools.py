# SPDX-License-Identifier: Apache-2.0
"""Strategies over pools, and by script: the cases that specs/README.md lists.

strategy_pools.c has each strategy over each pool. In strategy_scripts.c one thread plays all roles,
or two do.  Each runs one case and prints what is lost.
"""

from __future__ import annotations

import pytest
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, fails, hold

pytestmark = COMPILES
POOLS = ("modes", "offered", "blocked")
SCRIPTS = (
    *("idle", "non_blocking", "late", "overtaken", "asked", "dispatched"),
    *("early", "relied", "refused", "nothing", "ends"),
)
# Declared in stress/; here one thread is enough to see each.
TWINS = {
    "strategy_hands_alone": ("strategy_scripts", "refused"),
    "strategy_start_first": ("strategy_scripts", "early"),
    "strategy_leave_uncounted": ("strategy_scripts", "relied"),
    "strategy_back_counted": ("strategy_scripts", "refused"),
    "strategy_failure_keeps": ("strategy_scripts", "ends"),
    "strategy_null_leaves": ("strategy_scripts", "asked"),
    "strategy_run_uncounted": ("strategy_scripts", "late"),
    "strategy_null_keeps": ("strategy_scripts", "idle"),
}


@EACH_BUILD
def test_each_strategy_runs_all_over_each_pool(build: str, compiled: Compiled) -> None:
    hold(compiled("strategy_pools", build), POOLS)


@pytest.mark.parametrize("build", ["address", "thread"])
def test_who_comes_early_late_or_inside_has_its_part(build: str, compiled: Compiled) -> None:
    hold(compiled("strategy_scripts", build), SCRIPTS)


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    program, case = TWINS[twin]
    fails(compiled(program, "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2"), case)
