# SPDX-License-Identifier: Apache-2.0
"""Execution strategies: specs/pool/Strategy.tla, and the bugs that specs/README.md lists.

programs/pool/strategy.c runs one case over a pool of OS threads and prints what is lost.
"""

from __future__ import annotations

import pytest
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, fails, hold

pytestmark = COMPILES
CASES = ("modes", "tagged", "combined", "refused")
TWINS = {
    "strategy_tag_ignored": "tagged",
}


@EACH_BUILD
def test_each_task_is_run_once_as_its_mode_says(build: str, compiled: Compiled) -> None:
    hold(compiled("strategy", build), CASES)


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    fails(compiled("strategy", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2"), TWINS[twin])
