# SPDX-License-Identifier: Apache-2.0
"""The examples run as they stand, with smaller numbers: specs/thread/VThread.tla, Poller.tla."""

from __future__ import annotations

import re
import sys

import pytest
from tests.support.cases import IN_CHECKOUT
from tests.support.running import run

from wakeproof import locations

pytestmark = IN_CHECKOUT
SECONDS = r"\d+\.\d\d s"


@pytest.mark.slow
def test_many_threads_start_park_wake_and_end() -> None:
    command = [sys.executable, str(locations.sources() / "examples" / "many_threads.py"), "2000"]
    ran = run(command)
    said = f"2,000 virtual threads: started and parked in {SECONDS}, woken and joined in {SECONDS}"
    assert re.fullmatch(said + "\n", ran.stdout), ran.stderr
    assert (ran.stderr, ran.returncode) == ("", 0)


@pytest.mark.slow
def test_a_poller_of_ones_own_serves_many_pipes() -> None:
    command = [sys.executable, str(locations.sources() / "examples" / "own_poller.py"), "100"]
    ran = run(command)
    said = r"100 pipes, one carrier: each message was read\n\d+ sleeps in the system, \d+ wakeups\n"
    assert re.fullmatch(said, ran.stdout), ran.stderr
    assert (ran.stderr, ran.returncode) == ("", 0)
