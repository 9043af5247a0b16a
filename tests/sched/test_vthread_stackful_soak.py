# SPDX-License-Identifier: Apache-2.0
"""Virtual threads by the hundred thousand, at random, in C: specs/thread/VThread.tla under load.

`make soak`: a million for 60 s; $WAKEPROOF_SOAK_SEED repeats a seed.
"""

from __future__ import annotations

import re
import sys

import pytest
from tests.support.cases import COMPILES, Compiled
from tests.support.running import run
from tests.support.soaking import PATIENCE_S, SECONDS, SEED

IS_LONG = SECONDS >= 60
THREADS = {  # ThreadSanitizer allows no more
    "plain": 1_000_000 if IS_LONG else 100_000,
    "whole": 100_000 if IS_LONG else 10_000,
    "address": 100_000 if IS_LONG else 10_000,
    "thread": 4_000 if IS_LONG else 2_000,
    "delayed": 10_000,
}
SHORT_S = 3
STARTS_S = 120  # a million of them, on a busy machine

pytestmark = COMPILES


@pytest.mark.parametrize("way", ["stealing", "private"])
@pytest.mark.parametrize("build", THREADS)
def test_no_virtual_thread_is_lost(build: str, way: str, compiled: Compiled) -> None:
    is_first = build == "plain" and way == "stealing"
    seconds = SECONDS if IS_LONG else 2 * SECONDS if is_first else SHORT_S
    limits = (str(seconds), SEED, str(PATIENCE_S), str(THREADS[build]))
    timeout_s = seconds + STARTS_S + 5 * PATIENCE_S
    ended = run(compiled("vsoak", build), *limits, way, timeout_s=timeout_s)
    assert ended.returncode == 0, f"seed {SEED}: {ended.stdout}{ended.stderr}"
    assert ended.stderr == ""
    sys.stdout.write(f"{build}, seed {SEED}: {ended.stdout}")
    did = {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", ended.stdout)}
    assert all(did[what] > 0 for what in ("parks", "timeouts", "interrupts", "children")), did


@pytest.mark.parametrize("build", ["plain", "address", "thread", "delayed"])
def test_no_virtual_thread_is_lost_while_its_number_of_parks_wraps(
    build: str, compiled: Compiled
) -> None:
    soak = compiled("vsoak", build, "-DNEAR_WRAP=1")
    ended = run(soak, str(2 * SHORT_S), SEED, str(PATIENCE_S), "500", "stealing", timeout_s=600)
    assert ended.returncode == 0, f"seed {SEED}: {ended.stdout}{ended.stderr}"


def test_a_number_of_parks_that_does_not_wrap_is_seen(compiled: Compiled) -> None:
    soak = compiled("vsoak", "plain", "-DNEAR_WRAP=40000000")
    ended = run(soak, "1", SEED, str(PATIENCE_S), "500", "stealing", timeout_s=600)
    assert "has not wrapped" in ended.stdout


@pytest.mark.parametrize("way", ["stealing", "private"])
def test_a_thread_whose_unparks_are_lost_is_seen_by_its_mail(way: str, compiled: Compiled) -> None:
    soak = compiled("vsoak", "plain", "-DFORGOTTEN=3")
    ended = run(soak, "60", SEED, "5", "1000", way, timeout_s=600)
    assert ended.returncode == 1
    assert "a thread is parked and has mail" in ended.stdout


@pytest.mark.parametrize(
    "twin",
    ["vthread_park_split", "vthread_yield_takes", "vthread_unpark_busy", "group_settled_shared"],
)
def test_the_soak_sees_a_defect(twin: str, compiled: Compiled) -> None:
    # A window that is seldom hit otherwise.
    soak = compiled("vsoak", "delayed", f"-DWP_TWIN_{twin}=1")
    ended = run(soak, "60", SEED, "5", "1000", "stealing", timeout_s=5 * PATIENCE_S)
    assert ended.returncode != 0, ended.stdout
