# SPDX-License-Identifier: Apache-2.0
"""Virtual threads and OS threads at the same objects: WaitQueue.tla, Mutex.tla and their like.

programs/sync/sync.c draws their actions, disturbs them, and prints what is lost.
"""

from __future__ import annotations

import pytest
from tests.support.cases import COMPILES, Compiled
from tests.support.running import run
from tests.support.soaking import SEED

pytestmark = COMPILES
SECONDS, TWIN_S = "2", "60"


@pytest.mark.parametrize("build", ["thread", "address"])
def test_nothing_is_lost_between_virtual_and_os_threads(build: str, compiled: Compiled) -> None:
    ended = run(compiled("sync", build), SECONDS, SEED)
    assert (ended.stderr, ended.returncode) == ("", 0), f"seed {SEED}: {ended.stdout}"
    assert ended.stdout.startswith("rounds ")


@pytest.mark.parametrize(
    ("twin", "says"),
    [
        ("wait_queue_grant_ignored", "an item"),
        ("wait_queue_number_kept", "thread: it hangs"),
    ],
)
def test_a_defect_is_reported(twin: str, says: str, compiled: Compiled) -> None:
    command = compiled("sync", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    ended = run(command, TWIN_S, SEED, timeout_s=240)
    assert says in ended.stdout, f"seed {SEED}: {ended.stdout}"
    assert ended.returncode != 0
