# SPDX-License-Identifier: Apache-2.0
"""Reserved threads: specs/pool/Reserve.tla, and the bugs that specs/README.md lists.

programs/pool/reserve.c runs one case and prints what is lost.
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
CASES = ("lazy", "shrinks", "refused", "storm")
TWINS = {"reserve_refused_kept": "refused"}
Compiled = Callable[..., list[str]]


def run(command: list[str], case: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, case], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_who_is_handed_a_task_runs_it_once(build: str, compiled: Compiled) -> None:
    command = compiled("reserve", build)
    for case in CASES:
        ended = run(command, case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    command = compiled("reserve", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    ended = run(command, TWINS[twin])
    assert ended.returncode != 0
    assert "lost" in ended.stdout
