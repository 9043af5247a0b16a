# SPDX-License-Identifier: Apache-2.0
"""Groups in which spares replace marked carriers: SpareCarrier.tla, in the wiring.

programs/sched/compensation/spare_carrier.c runs one case and prints what is lost.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, fails, hold
from tests.support.running import run

pytestmark = COMPILES
CASES = ("all", "many", "watched", "kept", "closed", "refused", "ends", "unsaid")
WRAPPED = "-Wl,--wrap=pthread_create"
TWINS = {"spare_carrier_group_ends_silent": "ends", "spare_carrier_group_watched_silent": "watched"}


@EACH_BUILD
def test_who_blocks_is_replaced(build: str, compiled: Compiled) -> None:
    hold(compiled("spare_carrier", build, WRAPPED), CASES)


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_of_the_wiring_is_seen(twin: str, compiled: Compiled) -> None:
    flags = (WRAPPED, f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=1")
    fails(compiled("spare_carrier", "plain", *flags), TWINS[twin])


def test_a_monitor_that_looks_behind_carriers_alone_is_seen(tmp_path: Path) -> None:
    own = (
        "monitor.c",
        " ||\n\t      (!is_marked && wp_placement_has_global(&placed->placement)))",
        ")",
    )
    target = compiling.broken(tmp_path, "spare_carrier", "plain", *own, WRAPPED, "-DPATIENCE_S=1")
    fails(target, "unsaid")


def test_replacements_that_are_made_in_used_memory_and_are_over_are_seen(tmp_path: Path) -> None:
    made = ("spare_carrier.c", "\tall->is_over = false;\n", "")
    wrapped = "-Wl,--wrap=sched_getaffinity"
    target = compiling.broken(tmp_path, "machine", "plain", *made, wrapped)
    assert run(target, "used").returncode == 1
