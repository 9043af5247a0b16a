# SPDX-License-Identifier: Apache-2.0
"""Spare OS threads that carry on while a pinned park blocks a carrier: SpareThread.tla.

programs/sched/compensation/spare_threads.c and roles.c run one case and print what is lost.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold, loses
from tests.support.running import run

pytestmark = COMPILES
CASES = ("compensated", "alone", "many", "stopped")
ROLES = ("handed", "mounted", "settled", "asked", "stop", "kept", "home")
TWINS = {
    "spare_thread_goes_on": "many",
    "spare_thread_keeps": "compensated",
    "spare_thread_unasked": "compensated",
    "spare_thread_exits_first": "stopped",
}
TWINS_OF_ROLES = {"spare_thread_gives_silent": "handed", "spare_thread_runs_on": "stop"}


@EACH_BUILD
def test_a_carrier_goes_on_while_its_thread_is_blocked(build: str, compiled: Compiled) -> None:
    hold(compiled("spare_threads", build), CASES)


@EACH_BUILD
def test_a_role_comes_back_as_it_was_lent(build: str, compiled: Compiled) -> None:
    hold(compiled("roles", build), ROLES)


def test_an_overflow_on_a_spare_is_reported(compiled: Compiled) -> None:
    ended = run(compiled("spare_threads", "plain"), "overflow")
    assert ended.returncode == -signal.SIGSEGV, ended
    assert 'stack overflow in virtual thread "one"' in ended.stderr


@pytest.mark.parametrize("twin", [*TWINS, *TWINS_OF_ROLES])
def test_each_twin_is_seen(twin: str, compiled: Compiled) -> None:
    build = "thread" if twin == "spare_thread_goes_on" else "plain"
    program = "spare_threads" if twin in TWINS else "roles"
    command = compiled(program, build, f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    # It never ends, which is an accepted failure, too.
    with contextlib.suppress(subprocess.TimeoutExpired):
        assert run(command, {**TWINS, **TWINS_OF_ROLES}[twin], timeout_s=20).returncode != 0


def test_a_role_that_comes_back_with_another_s_home_is_seen(tmp_path: Path) -> None:
    line = "\tmine->runs_for = loan->runs_for;\n\twp__worker_runs"
    broken = ("spare_thread.c", line, "\twp__worker_runs")
    ended = run(compiling.broken(tmp_path, "roles", "plain", *broken), "home")
    assert (ended.returncode, ended.stdout) == (1, "lost whose task goes on\n")


def test_a_scheduler_s_thread_that_settles_is_seen(tmp_path: Path) -> None:
    asked = "thread->scheduler != NULL || self == NULL ||\n"
    broken = ("vthread_park.c", asked, "self == NULL ||\n")
    ended = run(compiling.broken(tmp_path, "roles", "plain", *broken), "settled")
    assert ended.returncode == 1
    assert ended.stdout.endswith("lost that it does not settle\n")


def test_a_role_that_is_given_up_before_what_is_next_is_seen(tmp_path: Path) -> None:
    asked = "\tif (mine->home.carrier.bounded != NULL)\n\t\trun_next(mine);"
    later = asked.replace("mine->home.carrier.bounded != NULL", "0")
    more = "-DPATIENCE_S=1"
    loses(compiling.broken(tmp_path, "roles", "plain", "worker.c", asked, later, more), "kept")
