# SPDX-License-Identifier: Apache-2.0
"""Child processes: none outlives its job; a run that was cut off differs from one that ended."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from threading import Timer

import pytest

from wakeproof.errors import JudgeError
from wakeproof.judge import process
from wakeproof.judge.process import Children, LostChildError

pytestmark = pytest.mark.slow  # each test starts a program


def test_a_child_that_ends_gives_its_code_and_all_it_printed() -> None:
    with Children() as children:
        ended = children.run(["sh", "-c", "echo out; echo err >&2; exit 7"])
    assert (ended.code, ended.output, ended.timed_out) == (7, "out\nerr\n", False)


def test_a_child_whose_time_runs_out_dies_with_its_own_children(tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! > {tmp_path}/pid; echo begun; wait"
    with Children() as children:
        cut = children.run(["sh", "-c", script], timeout_s=0.5)
    assert (cut.timed_out, cut.stalled, cut.output) == (True, False, "begun\n")
    assert not is_alive((tmp_path / "pid").read_text().strip())


def test_a_child_that_uses_no_cpu_is_given_up_as_stalled() -> None:
    with Children() as children:
        cut = children.run(["sleep", "60"], timeout_s=60, stall_s=0.2)
    assert (cut.timed_out, cut.stalled) == (True, True)


def test_a_limit_of_many_years_is_a_limit_like_others() -> None:
    nothing = [sys.executable, "-c", ""]
    with Children() as children:
        assert children.run(nothing, timeout_s=1e9).code == 0
        assert children.run(nothing, timeout_s=1e9, stall_s=1e9).code == 0


def test_a_child_that_works_is_not_stalled() -> None:
    work = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    with Children() as children:
        ended = children.run([sys.executable, "-c", work], stall_s=0.2)
    assert (ended.code, ended.stalled) == (0, False)


def test_a_child_that_is_killed_is_named_and_is_no_crash() -> None:
    with Children() as children, pytest.raises(LostChildError, match=r"sh \(pid \d+\) was killed"):
        children.run(["sh", "-c", "kill -KILL $$"])


def test_a_child_that_is_killed_with_its_job_is_no_news() -> None:
    with Children() as children:
        Timer(0.2, children.kill_all).start()
        with pytest.raises(JudgeError, match="the job has ended"):
            children.run(["sleep", "60"])


def test_what_a_tool_printed_counts_only_if_it_ended_well() -> None:
    with Children() as children:
        assert children.output(["sh", "-c", "echo all"], 10) == "all\n"
        with pytest.raises(JudgeError, match=r"sh -c failed \(exit code 7\): a part"):
            children.output(["sh", "-c", "echo a part; exit 7"], 10)
        with pytest.raises(JudgeError, match="sleep did not end within 0 s"):
            children.output(["sleep", "60"], 0.2)


@pytest.fixture
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LOOK_S", 0.05)
    monkeypatch.setattr(process, "STOPPED_S", 0.2)
    # The one of an earlier test may be in the middle of a long sleep.
    monkeypatch.setattr(process, "_stops", process._Stops())


STOPS = """import os, signal, subprocess, sys
child = subprocess.Popen(["sh", "-c", "sleep {0}; kill -CONT $PPID"])
os.kill(os.getpid(), signal.SIGSTOP)
child.wait()
print("goes on")
"""


def stopping(seconds: float) -> list[str]:
    """Return a program that stops itself, until a child of its own continues it."""
    return [sys.executable, "-c", STOPS.format(seconds)]


@pytest.mark.usefixtures("quick_looks")
def test_a_child_that_is_stopped_is_named_once(capfd: pytest.CaptureFixture[str]) -> None:
    with Children() as children:
        ended = children.run(stopping(1.5))
    assert (ended.code, ended.output) == (0, "goes on\n")
    said = capfd.readouterr().err
    assert said.count("is stopped: continue it with kill -CONT ") == 1


@pytest.mark.usefixtures("quick_looks")
def test_a_child_of_a_child_that_is_stopped_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    script = "sleep 60 & kill -STOP $!; echo $!; sleep 1; kill -KILL $!"
    with Children() as children:
        ended = children.run(["sh", "-c", script])
    assert f"sh (pid {ended.output.split()[0]}) is stopped" in capfd.readouterr().err


@pytest.mark.usefixtures("quick_looks")
def test_the_time_for_which_a_child_is_stopped_counts_for_no_limit() -> None:
    with Children() as children:
        assert children.run(stopping(3), timeout_s=1.5).output == "goes on\n"
        assert children.run(stopping(2), timeout_s=60, stall_s=1).output == "goes on\n"


@pytest.mark.usefixtures("quick_looks")
def test_a_child_that_is_stopped_dies_with_its_job() -> None:
    with Children() as children:
        child = children.start(["sleep", "60"])
        os.kill(child.pid, signal.SIGSTOP)
    assert child.returncode == -signal.SIGKILL
    assert child.stdout is not None
    child.stdout.close()


def test_no_child_starts_after_the_job_has_ended() -> None:
    with Children() as children:
        pass
    with pytest.raises(JudgeError, match="the job has ended"):
        children.run(["true"])


def test_a_program_that_does_not_exist_is_named() -> None:
    with Children() as children, pytest.raises(LostChildError, match="cannot start /nowhere/tlc"):
        children.run(["/nowhere/tlc"])


def is_alive(pid: str, patience_s: float = 5.0) -> bool:
    """Return true if the process still runs; a killed one may take a moment to go."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
    return True
