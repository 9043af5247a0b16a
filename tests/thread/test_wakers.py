# SPDX-License-Identifier: Apache-2.0
"""Groups are closed and freed while their threads stand in queues that outlive them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold, loses
from tests.support.running import run
from tests.support.soaking import SECONDS, SEED

pytestmark = COMPILES
CASES = {
    "mutex": "an OS thread behind two that are handed back gets the mutex",
    "passes": "a mutex whose waiter was handed back is locked as often as one likes",
    "semaphore": "permits stay with the semaphore, also those that a large request kept",
    "channel": "a rendezvous finds nobody who was handed back",
    "items": "items that were given and not received come back, in order",
    "granted": "what was handed over and not taken goes back",
    "condition": "a signal reaches who is behind one that was handed back",
    "signal": "a signal that one got who was handed back goes to the next",
    "broadcast": "a broadcast that one got who was handed back is no signal for who came later",
    "held": "a mutex of one that is handed back, or ends, is said to be abandoned, once",
    "latch": "a latch is opened without those who were handed back",
    "join": "a thread ends whose joiner was handed back",
    "scope": "a subtask ends whose owner was handed back",
    "stack": "all have left their lines before the first stack is given back",
    "left": "a free waits for a scheduler's thread that is inside",
}


@EACH_BUILD
def test_a_close_leaves_nobody_in_a_line(build: str, compiled: Compiled) -> None:
    hold(compiled("wait_queue_leave", build), CASES)


@pytest.mark.parametrize(
    ("twin", "case", "says"),
    [
        ("wait_queue_leave_stays", "mutex", "lost a mutex: who is behind\n"),
        ("wait_queue_leave_keeps", "granted", "lost permits\n"),
        ("wait_queue_leave_holds", "held", "lost the mutex of one that was handed back\n"),
        ("wait_queue_leave_uncounted", "left", "lost a runner that is inside\n"),
    ],
)
def test_a_defect_is_reported(twin: str, case: str, says: str, compiled: Compiled) -> None:
    flags = (f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=1")
    ended = run(compiled("wait_queue_leave", "plain", *flags), case)
    assert ended.stdout.startswith(says) or ended.returncode < 0  # it crashes
    assert ended.returncode != 0


@pytest.mark.parametrize("build", ["address", "thread", "delayed"])
def test_nothing_is_lost_while_groups_come_and_go(build: str, compiled: Compiled) -> None:
    ended = run(compiled("wait_queue_leave_soak", build), str(SECONDS), SEED, timeout_s=300)
    assert (ended.stderr, ended.returncode) == ("", 0), f"seed {SEED}: {ended.stdout}"
    did = {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", ended.stdout)}
    assert all(did[what] > 0 for what in ("groups", "back", "ended")), did


@pytest.mark.rotates
def test_the_soak_sees_a_defect(compiled: Compiled) -> None:
    flags = ("-DWP_TWIN_wait_queue_leave_stays=1", "-DPATIENCE_S=2")
    soak = compiled("wait_queue_leave_soak", "plain", *flags)
    ended = run(soak, "120", SEED, timeout_s=300)
    assert "lost " in ended.stdout or ended.returncode < 0, f"seed {SEED}"
    assert ended.returncode != 0


@pytest.mark.parametrize(
    ("case", "file", "old", "new"),
    [
        ("broadcast", "condition.c", "if (waiter->amount == SIGNALLED)", ""),
        (
            "granted",
            "mutex.c",
            "if (!wp__mutex_cancel(mutex, waiter))\n",
            "if (!wp__mutex_cancel(mutex, waiter) && 0)\n",
        ),
    ],
)
def test_one_line_changed_shows(case: str, file: str, old: str, new: str, tmp_path: Path) -> None:
    broken = (file, old, new, "-DPATIENCE_S=2")
    target = compiling.broken(tmp_path, "wait_queue_leave", "plain", *broken)
    loses(target, case, what="that nobody has ")
