# SPDX-License-Identifier: Apache-2.0
"""Groups whose marked carriers are replaced: SpareCarrier.tla, in the wiring.

programs/sched/compensation/spare_carrier.c runs one case and prints what is lost.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import compiling

from wakeproof import locations

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout"),
]
CASES = ("all", "many", "watched", "kept", "closed", "refused", "ends")
WRAPPED = "-Wl,--wrap=pthread_create"
TWINS = {"spare_carrier_group_ends_silent": "ends", "spare_carrier_group_watched_silent": "watched"}
Compiled = Callable[..., list[str]]


def run(command: list[str], *case: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *case], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_who_blocks_is_replaced(build: str, compiled: Compiled) -> None:
    command = compiled("spare_carrier", build, WRAPPED)
    for case in CASES:
        ended = run(command, case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_of_the_wiring_is_seen(twin: str, compiled: Compiled) -> None:
    flags = (WRAPPED, f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=1")
    ended = run(compiled("spare_carrier", "plain", *flags), TWINS[twin])
    assert ended.returncode != 0
    assert "lost" in ended.stdout


def test_replacements_that_are_made_in_used_memory_and_are_over_are_seen(tmp_path: Path) -> None:
    made = ("spare_carrier.c", "\tall->is_over = false;\n", "")
    wrapped = "-Wl,--wrap=sched_getaffinity"
    target = compiling.broken(tmp_path, "machine", "plain", *made, wrapped)
    assert run([str(target)], "used").returncode == 1
