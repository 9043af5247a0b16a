# SPDX-License-Identifier: Apache-2.0
"""Threads of different real-time priorities on one CPU: programs/base/priorities.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, Compiled, loses
from tests.support.running import run

pytestmark = COMPILES
CASES = ("short_lock", "biased_lock", "errno_stays")
WRAPPED = "-Wl,--wrap=nanosleep"
REFUSED = 77


def skip_if_refused(command: list[str], case: str) -> None:
    if run(command, case).returncode == REFUSED:
        pytest.skip("not run: this user may not set real-time priorities")


@pytest.mark.parametrize("case", CASES)
def test_who_waits_lets_a_holder_of_a_lower_priority_run(case: str, compiled: Compiled) -> None:
    command = compiled("priorities", "plain", WRAPPED)
    skip_if_refused(command, case)
    ended = run(command, case)
    assert (ended.stdout, ended.returncode) == ("", 0), ended


def test_a_wait_without_a_sleep_is_seen(tmp_path: Path, compiled: Compiled) -> None:
    skip_if_refused(compiled("priorities", "plain", WRAPPED), "short_lock")
    sleep = "\tnanosleep(&(struct timespec){.tv_nsec = TURN_NS}, NULL);\n"
    twin = ("futex.c", sleep, "")
    loses(
        compiling.broken(tmp_path, "priorities", "plain", *twin, WRAPPED, "-DPATIENCE_S=4"),
        "short_lock",
    )


def test_a_wait_that_changes_errno_is_seen(tmp_path: Path) -> None:
    twin = ("futex.c", "\terrno = before;\n", "\t(void)before;\n")
    loses(compiling.broken(tmp_path, "priorities", "plain", *twin, WRAPPED), "errno_stays")
