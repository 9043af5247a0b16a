# SPDX-License-Identifier: Apache-2.0
"""Where a task may wait, and in what order a carrier polls: programs/sched/run_queues.c."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import compiling

from wakeproof import locations

pytestmark = pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout")
CASES = {
    "asked": "each question says yes to the places that it is about, and to no other",
    "private": "without siblings: what its poller stole; then its own, queue and inbox in turn",
    "ring": "with a ring: what its poller stole, the next slot; then ring, queue and inbox in turn",
    "left": "a close finds all that is left",
}
TWINS = {  # case, what stands there, and what is put there
    "private": (
        "\tif (task != NULL) {\n\t\tcarrier->next = NULL;",
        "\tif (task != NULL && false) {",
    ),
    "ring": ("\ttask = wp__local_queue_carrier_next(carrier);\n", "\ttask = NULL;\n"),
    "left": ("\tif (task == NULL && carrier->bounded != NULL)\n", "\tif (false)\n"),
}
Compiled = Callable[..., list[str]]


@pytest.mark.parametrize("case", CASES)
def test_each_place_is_asked_and_polled_in_its_order(case: str, compiled: Compiled) -> None:
    ended = subprocess.run(
        [*compiled("run_queues", "plain"), case], capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), CASES[case]


@pytest.mark.slow
@pytest.mark.parametrize("case", TWINS)
def test_a_place_that_is_forgotten_is_seen(case: str, tmp_path: Path) -> None:
    target = compiling.broken(tmp_path, "run_queues", "plain", "run_queues.c", *TWINS[case])
    ended = subprocess.run([str(target), case], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stdout.startswith("lost ")
