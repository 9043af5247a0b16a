# SPDX-License-Identifier: Apache-2.0
"""Virtual threads with stacks, in C: specs/thread/VThread.tla, and the cases of specs/README.md.

vthreads.c, vthreads_end.c, vthreads_shown.c, passed.c run one case and print what is lost.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold
from tests.support.running import run

pytestmark = COMPILES
PROGRAMS = {
    "vthreads": (
        "permit",
        "pinned",
        "sleep",
        "chain",
        "scheduler",
        "contract",
        "again",
        "outside",
        "yielded",
    ),
    "vthreads_end": ("join", "fair", "locals", "close", "exhausted", "sizes", "lent", "held"),
    "vthreads_shown": ("parked",),
    "passed": ("left", "seen"),
}
TWINS = {
    "vthread_yield_takes": "permit",
    "vthread_pinned_unwoken": "pinned",
    "vthread_claimed_twice": "contract",
    "vthread_unpark_busy": "permit",
}


@pytest.mark.parametrize("program", PROGRAMS)
@EACH_BUILD
def test_what_the_design_asks_of_virtual_threads(
    compiled: Compiled, build: str, program: str
) -> None:
    hold(compiled(program, build), PROGRAMS[program])


def test_an_overflow_is_reported_with_the_name_of_its_thread(
    compiled: Compiled,
) -> None:
    ended = run(compiled("vthreads_end", "plain"), "overflow")
    assert ended.returncode == -signal.SIGSEGV, ended
    assert 'stack overflow in virtual thread "one"' in ended.stderr


def test_a_broken_canary_is_reported_when_its_thread_yields_to_another(
    compiled: Compiled,
) -> None:
    ended = run(compiled("passed", "plain"), "canary")
    assert (ended.stdout, ended.returncode) == ("", -signal.SIGABRT), ended
    assert 'stack overflow in virtual thread "one"' in ended.stderr


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(compiled: Compiled, twin: str) -> None:
    command = compiled("vthreads", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    assert run(command, TWINS[twin], timeout_s=20).returncode != 0


BROKEN = [  # program, case, file, the old text, and the new text
    ("vthreads", "again", "vthread_start.c", "\tbody->is_started = false; /*", "\t/*"),
    (
        "vthreads",
        "outside",
        "spare_thread.c",
        "\tif (mine == NULL)\n\t\treturn;\n\twp__poller",
        "\twp__poller",
    ),
    ("vthreads", "yielded", "carrier_tasks.c", " && home->carrier.bounded != NULL)", ")"),
    ("passed", "seen", "vthread_park.c", "\twp__body_check(body); /*", "\t/*"),
]


@pytest.mark.parametrize(
    ("program", "case", "file", "old", "new"), BROKEN, ids=[broken[1] for broken in BROKEN]
)
def test_one_line_changed_shows(
    program: str, case: str, file: str, old: str, new: str, tmp_path: Path
) -> None:
    target = compiling.broken(tmp_path, program, "plain", file, old, new, "-DPATIENCE_S=2")
    assert run(target, case).returncode != 0
