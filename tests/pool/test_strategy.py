# SPDX-License-Identifier: Apache-2.0
"""Execution strategies: specs/pool/Strategy.tla, and the bugs that specs/README.md lists.

programs/pool/strategy.c runs one case over a pool of OS threads and prints what is lost.
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
CASES = ("modes", "tagged", "combined", "refused")
TWINS = {
    "strategy_tag_ignored": "tagged",
}
Compiled = Callable[..., list[str]]


def run(command: list[str], case: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, case], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_each_task_is_run_once_as_its_mode_says(build: str, compiled: Compiled) -> None:
    command = compiled("strategy", build)
    for case in CASES:
        ended = run(command, case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    command = compiled("strategy", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    ended = run(command, TWINS[twin])
    assert ended.returncode != 0
    assert "lost" in ended.stdout
