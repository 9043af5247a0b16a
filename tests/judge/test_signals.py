# SPDX-License-Identifier: Apache-2.0
"""Signals to the helper processes of commands, at a random moment: no hang, no wrong verdict.

A helper that is killed ends the command with one line that names it, or its work is done again.
One that is stopped is named once; when it goes on, the command does, with its usual result.  Ctrl-C
ends all.  No process and no file is left behind.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.judge.check.test_distributed import cube
from tests.judge.test_campaign import GUARD
from tests.support.cases import COMPILES

from wakeproof import locations

pytestmark = [*COMPILES, pytest.mark.slow, pytest.mark.rotates]

TRIES = 6
PATIENCE_S = 120.0
SEARCH = locations.sources() / "stress" / "scenarios" / "sched" / "search.c"
ADDS = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int sum;
static void *adds(void *arg) { atomic_fetch_add(&sum, 1); return arg; }
int main(void)
{
	pthread_t all[8];
	for (int at = 0; at < 8; at++)
		pthread_create(&all[at], 0, adds, 0);
	for (int at = 0; at < 8; at++)
		pthread_join(all[at], 0);
	return sum != 8;
}
"""
SLEEPER = """
#include <pthread.h>
int main(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	return pthread_mutex_lock(&lock);
}
"""


@dataclass(frozen=True)
class Job:
    """A command, what finds the command line of its helpers, and what it prints at the end."""

    arguments: tuple[str, ...]
    helper: str
    says: str
    again: bool = False  # a helper that is killed is replaced
    lasts_s: float = 0.2  # a helper
    code: int = 0


JOBS = {
    "explore": Job(
        ("explore", str(SEARCH), "-t", "^search$", "--parallel", "--no-twins"), "--test search ",
        "1 held",
    ),
    # Those of `museum run` are the same; what they found is kept, so a second run has none.
    "program": Job(("explore", "adds.c"), "--progress", "1 held", False, 0.1),
    "stress": Job(
        ("stress", str(GUARD), "-t", "^guard$", "--seconds", "2", "--no-twins"), "--run", "1 held"
    ),
    "check": Job(("check", "-t", "^MCGuard$"), "jvm_child", "all as expected", True, 1),
    "own-check": Job(("check", "Cube.tla"), "tlc2.TLC", "holds; 343,000", False, 1),
    "distributed": Job(
        ("check", "Cube.tla", "--distributed", "--jobs", "2"), "TLCWorker", "343,000 distinct",
        True, 1,
    ),
    "prove": Job(("prove", "-t", "^Parker"), "solver_child", "all as expected", True, 1),
    "watch": Job(("watch", "PID"), r"^\S+watch/calibrate-", "1 deadlock", True, 0, 1),
}  # fmt: skip


def marked(mark: str) -> dict[int, str]:
    """Return the processes with this variable in their environment, with their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if f"WAKEPROOF_MARK={mark}".encode() in (entry / "environ").read_bytes():
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry.name)] = words.decode("utf-8", "replace")
    return found


@dataclass(frozen=True)
class Hit:
    """A command whose helper got a signal."""

    pid: int  # of the helper
    child: subprocess.Popen[str]
    mark: str

    def ended(self) -> tuple[int, str, str]:
        """Wait for the command, of which nothing may be left; return its code and output."""
        output, errors = self.child.communicate(timeout=PATIENCE_S)
        deadline = time.monotonic() + 5
        while left := marked(self.mark):
            assert time.monotonic() < deadline, left
            time.sleep(0.05)
        return self.child.returncode, output, errors


@pytest.fixture(params=JOBS)
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Job]:
    """Return a job that is ready to run in `tmp_path`."""
    found = JOBS[request.param]
    cube(tmp_path, 70)
    (tmp_path / "adds.c").write_text(ADDS)
    if request.param != "watch":
        yield found
        return
    source = tmp_path / "sleeper.c"
    source.write_text(SLEEPER)
    subprocess.run(["cc", "-pthread", source, "-o", tmp_path / "sleeper"], check=True)
    with subprocess.Popen([tmp_path / "sleeper"]) as target:
        yield replace(found, arguments=("watch", str(target.pid)))
        target.kill()


def hit(job: Job, number: int, folder: Path, *, command: bool = False) -> Hit:
    """Start the command, and send a signal to one of its helpers, or to itself."""
    chance = random.Random()
    for _ in range(TRIES):
        for kept in (locations.cache() / "watch").glob("calibration*"):
            kept.unlink()
        mark = f"{os.getpid()}-{time.monotonic_ns()}"
        child = subprocess.Popen(
            [Path(sys.executable).with_name("wakeproof"), *job.arguments], cwd=folder, text=True,
            env={**os.environ, "WAKEPROOF_MARK": mark, "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        waits_s = chance.uniform(0, job.lasts_s)
        while child.poll() is None:
            if not any(re.search(job.helper, words) for words in marked(mark).values()):
                continue
            time.sleep(waits_s)
            live = [pid for pid, words in marked(mark).items() if re.search(job.helper, words)]
            with contextlib.suppress(ProcessLookupError):
                for pid in live:
                    os.kill(child.pid if command else pid, number)
                    return Hit(pid, child, mark)
            waits_s = 0
        child.communicate()
    raise AssertionError(f"no helper was seen in {TRIES} runs of {job.arguments}")


def test_a_helper_that_is_killed_is_named_or_replaced(job: Job, tmp_path: Path) -> None:
    for _ in range(TRIES):
        found = hit(job, signal.SIGKILL, tmp_path)
        code, output, errors = found.ended()
        assert "Traceback" not in errors
        if code == job.code:  # it had done its work, or is replaced
            assert job.says in output
            if job.again:
                break
            continue
        assert code == 3, output + errors
        [line] = errors.splitlines()
        assert f"(pid {found.pid}) was killed" in line
        break
    else:
        raise AssertionError("no helper was killed before its end")
    assert left_in(tmp_path) == []


def left_in(folder: Path) -> list[str]:
    """Return the temporary files and folders that are left there."""
    return [entry.name for entry in folder.iterdir() if entry.name.startswith("wakeproof-")]


def test_a_helper_that_is_stopped_is_named_and_goes_on(job: Job, tmp_path: Path) -> None:
    if "--distributed" in job.arguments:  # of two workers the other would do the work
        job = replace(job, arguments=(*job.arguments[:-1], "1"))
    found = hit(job, signal.SIGSTOP, tmp_path)
    time.sleep(8)
    assert found.child.poll() is None, found.ended()
    os.kill(found.pid, signal.SIGCONT)
    code, output, errors = found.ended()
    assert (code, job.says in output) == (job.code, True), output + errors
    lines = re.findall(r"^wakeproof: .+ is stopped: continue it with .+$", errors, re.MULTILINE)
    assert len(lines) == 1, errors
    assert f"(pid {found.pid}) is stopped: continue it with kill -CONT {found.pid}," in lines[0]
    assert left_in(tmp_path) == []


def test_ctrl_c_ends_a_command_with_its_helpers(job: Job, tmp_path: Path) -> None:
    found = hit(job, signal.SIGINT, tmp_path, command=True)
    code, _, errors = found.ended()
    assert (code, errors) == (130, "wakeproof: interrupted\n")
    assert left_in(tmp_path) == []


def test_ctrl_c_ends_a_command_whose_helper_is_stopped(job: Job, tmp_path: Path) -> None:
    found = hit(job, signal.SIGSTOP, tmp_path)
    time.sleep(0.2)
    found.child.send_signal(signal.SIGINT)
    code, _, errors = found.ended()
    assert (code, errors) == (130, "wakeproof: interrupted\n")
