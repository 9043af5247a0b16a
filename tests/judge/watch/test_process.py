# SPDX-License-Identifier: Apache-2.0
"""What `wakeproof watch` says of a process that it cannot look at, and of one that does not run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import watching
from tests.support.running import run

from wakeproof.errors import UnsupportedError, UsageError
from wakeproof.judge.watch import process as processes
from wakeproof.judge.watch.process import Process, Thread
from wakeproof.judge.watch.verdicts import Verdict

WATCH = (sys.executable, "-m", "wakeproof", "watch")


@pytest.fixture
def sleeper() -> Iterator[int]:
    with watching.running(["sleep", "1000"]) as pid:
        while not Path(f"/proc/{pid}/cmdline").read_bytes():  # it comes after the end of the exec
            time.sleep(0.001)
        yield pid


def test_there_is_no_such_process() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    with pytest.raises(UsageError, match=f"^there is no process {child.pid}$"):
        Process(child.pid)


def test_a_process_that_has_ended_waits_for_its_parent() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(UsageError, match="has ended: its parent has not waited for it"):
        Process(child.pid)
    child.wait()


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"\x7fELF\x01" + bytes(13) + struct.pack("<H", 3), "has 32 bits; watch knows 64 alone"),
        (b"\x7fELF\x02" + bytes(13) + struct.pack("<H", 183), r"of another machine \(.* 183\)"),
    ],
)
def test_a_program_for_another_machine_is_refused(
    head: bytes, message: str, sleeper: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "exe").write_bytes(head)
    original = Path.open

    def opened(path: Path, *rest: object, **named: object) -> object:
        real = tmp_path / "exe" if path.name == "exe" else path
        return original(real, *rest, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(UsageError, match=message):
        Process(sleeper)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_process_of_another_user_is_refused_with_what_to_do(sleeper: int) -> None:
    code = (
        "from wakeproof.judge.watch.process import Process\n"
        f"try: Process({sleeper})\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    # The interpreter of the environment may lie where nobody else may look, so it becomes nobody
    # after its imports.
    said = subprocess.run(
        [sys.executable, "-c", f"import os, wakeproof.judge.watch.process\n"
         f"os.setgroups([]); os.setgid(65534); os.setuid(65534)\n{code}"],
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    assert said == (f"UnsupportedError the system forbids to look into process {sleeper}: it "
                    "belongs to root; run watch as root\n")  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root gives up a capability"
)
def test_root_of_a_container_without_the_capability_is_told_so_and_may_watch_its_own() -> None:
    """As in a container: the watcher is root, and has not all that the process has."""
    lacks = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")
    with (
        watching.running(["sleep", "1000"]) as outside,
        watching.running([*lacks, "sleep", "1000"]) as inside,
    ):
        watching.begun(inside, str(Path(shutil.which("sleep") or "").resolve()))
        refused = run([*lacks, *WATCH], str(outside), "--once")
        watched = run([*lacks, *WATCH], str(inside), "--once")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr == (
        f"wakeproof: the system forbids to look into process {outside}: give watch CAP_SYS_PTRACE "
        "(docker run --cap-add SYS_PTRACE), or run it outside the container\n"
    )
    assert (watched.returncode, "clock_nanosleep (timed)" in watched.stdout) == (0, True)


@pytest.mark.parametrize(
    ("scope", "help_"),
    [
        ("1", r"run watch as root, or set it to 0, or let the process call prctl\(PR_SET_PTRACER"),
        ("2", "run watch as root, or set it to 0$"),
        ("3", "nobody may look .* until this machine starts again$"),
    ],
)
def test_what_yama_forbids_is_said(
    sleeper: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scope: str, help_: str
) -> None:
    """With a file in its place: few kernels in which tests run have Yama."""
    (tmp_path / "ptrace_scope").write_text(f"{scope}\n")
    monkeypatch.setattr(processes, "_YAMA", tmp_path / "ptrace_scope")
    monkeypatch.setattr(os, "open", _refused)
    with pytest.raises(UnsupportedError, match=rf"ptrace_scope is {scope}; {help_}"):
        Process(sleeper)
    (tmp_path / "ptrace_scope").write_text("0\n")
    with pytest.raises(UnsupportedError, match="give watch CAP_SYS_PTRACE"):
        Process(sleeper)


def test_a_thread_with_a_lower_number_than_the_main_one_is_not_taken_for_it(
    sleeper: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers begin anew, and such a thread may end during the look."""
    other = Thread(sleeper - 1, "brief", "S")
    monkeypatch.setattr(Process, "threads", lambda _: [other, Thread(sleeper, "sleep", "S")])
    with Process(sleeper) as process:
        assert process.command == "sleep 1000"


def _refused(*_: object) -> int:
    raise PermissionError(1, "Operation not permitted")


@pytest.mark.slow
def test_a_stopped_process_is_stopped_and_one_that_goes_on_is_not(sleeper: int) -> None:
    os.kill(sleeper, signal.SIGSTOP)
    found = watching.looked(sleeper, seconds=0)
    assert (found.verdict, found.quiet_sweeps) == (Verdict.STOPPED, 0)
    assert found.threads[0].why == "a signal has stopped it: SIGCONT continues it"
    os.kill(sleeper, signal.SIGCONT)
    assert watching.looked(sleeper, seconds=0).verdict == Verdict.WAITS


@pytest.mark.slow
def test_the_command_prints_json_and_its_exit_code_tells_a_deadlock() -> None:
    (case,) = (one for one in watching.cases() if one.name == "mutex_self")
    with watching.running(watching.built(case, watching.folder(), is_fixed=False)) as pid:
        said = run(WATCH, str(pid), "--for", "1", "--json")
    found = json.loads(said.stdout)
    assert (said.returncode, found["verdict"], found["pid"]) == (1, "deadlock", pid)
    assert found["threads"][0]["why"] == "it waits for itself"


@pytest.mark.slow
def test_the_command_shows_a_table_and_exits_with_0_if_a_process_only_waits(sleeper: int) -> None:
    said = run(WATCH, str(sleeper), "--once")
    assert said.returncode == 0
    assert said.stdout.startswith(f"process {sleeper}: sleep 1000\n")
    assert "clock_nanosleep (timed)" in said.stdout


@pytest.mark.slow
@pytest.mark.parametrize("every", ["0", "nan"])
def test_a_wrong_time_is_refused(every: str) -> None:
    said = run(WATCH, str(os.getpid()), "--every", every)
    assert said.returncode == 2
    assert f"--every is {float(every)}; allowed" in said.stderr
