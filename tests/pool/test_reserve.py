# SPDX-License-Identifier: Apache-2.0
"""Reserved threads: specs/pool/Reserve.tla, and the bugs that specs/README.md lists.

programs/pool/reserve.c runs one case and prints what is lost.
"""

from __future__ import annotations

import pytest
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, fails, hold

pytestmark = COMPILES
CASES = ("lazy", "shrinks", "refused", "storm")
TWINS = {"reserve_refused_kept": "refused"}


@EACH_BUILD
def test_who_is_handed_a_task_runs_it_once(build: str, compiled: Compiled) -> None:
    hold(compiled("reserve", build), CASES)


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    fails(compiled("reserve", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2"), TWINS[twin])
