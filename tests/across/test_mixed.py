# SPDX-License-Identifier: Apache-2.0
"""All at once, at random: threads that yield, pins with spares, scopes, dumps, closes; mixed.c.

SpareThread.tla, Dump.tla, Scope.tla and Group.tla are judged alone elsewhere; this test judges
their effects on one another.  `make soak`: 60 s each; $WAKEPROOF_SOAK_SEED repeats a seed.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys

import pytest
from tests.support.cases import COMPILES, Compiled
from tests.support.running import run
from tests.support.soaking import PATIENCE_S, SECONDS, SEED

pytestmark = COMPILES
IS_LONG = SECONDS >= 60
BUILDS = {"plain": "private", "address": "stealing", "thread": "private", "delayed": "stealing"}
TWINS = ("spare_thread_goes_on", "dump_one_look", "scope_close_as_join")


@pytest.mark.parametrize("build", BUILDS)
def test_what_was_judged_alone_holds_together(build: str, compiled: Compiled) -> None:
    seconds = SECONDS if IS_LONG else 2
    for way in ("private", "stealing") if IS_LONG else (BUILDS[build],):
        limits = (str(seconds), SEED, str(PATIENCE_S), way)
        ended = run(compiled("mixed", build), *limits, timeout_s=seconds + 5 * PATIENCE_S)
        assert ended.returncode == 0, f"seed {SEED}, {way}: {ended.stdout}{ended.stderr}"
        assert ended.stderr == ""
        sys.stdout.write(f"{build}, {way}, seed {SEED}: {ended.stdout}")
        did = {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", ended.stdout)}
        assert all(did[what] > 0 for what in ("parks", "pins", "forks", "refused", "dumps")), did


@pytest.mark.parametrize("twin", TWINS)
def test_a_defect_of_one_is_seen_among_all(twin: str, compiled: Compiled) -> None:
    mixed = compiled("mixed", "delayed", f"-DWP_TWIN_{twin}=1")
    # It never ends, which is an accepted failure, too.
    with contextlib.suppress(subprocess.TimeoutExpired):
        ended = run(mixed, "60", SEED, "5", "private", timeout_s=4 * PATIENCE_S)
        assert ended.returncode != 0
