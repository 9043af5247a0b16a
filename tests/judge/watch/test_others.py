# SPDX-License-Identifier: Apache-2.0
"""Other runtimes are named, and asked on demand only."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

import pytest
from tests.support import watching
from tests.support.running import run
from tests.support.watching import Case

pytestmark = pytest.mark.slow
WATCH = (sys.executable, "-m", "wakeproof", "watch")
CASES = {one.file.name: one for one in watching.cases()}
needs_java = pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK")
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="no Go")


def _command(case: Case) -> list[str]:
    return watching.built(case, watching.folder(), is_fixed=False)


@needs_java
@pytest.mark.parametrize(("name", "verdict"), [("Deadlock.java", "deadlock"),
                                               ("Monitors.java", "waits")])  # fmt: skip
def test_java_tells_its_deadlock_and_a_program_without_one_has_none(
    name: str, verdict: str
) -> None:
    with watching.running(_command(CASES[name])) as pid:
        time.sleep(2)
        plain = json.loads(run(WATCH, str(pid), "--once", "--json").stdout)
        said = run(WATCH, str(pid), "--once", "--ask", "--json")
    assert "it runs Java: --ask adds what jstack says of its threads" in plain["unknown"]
    found = json.loads(said.stdout)
    assert (found["verdict"], said.returncode) == (verdict, int(verdict == "deadlock"))
    assert ("Java-level deadlock" in found["evidence"]["jstack"]) == (verdict == "deadlock")


@needs_go
def test_a_go_program_is_ended_only_if_that_is_wanted(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    command = ["sh", "-c", f'exec "$0" 2>{errors}', *_command(CASES["channels.go"])]
    with watching.running(command) as pid:
        time.sleep(0.5)
        plain = json.loads(run(WATCH, str(pid), "--once", "--json").stdout)
        assert any("it runs Go: --end" in one for one in plain["unknown"])
        assert Path(f"/proc/{pid}/status").read_text().count("State:\tZ") == 0
        found = json.loads(run(WATCH, str(pid), "--once", "--end", "--json").stdout)
        assert found["evidence"] == {"SIGQUIT": f"to {errors}"}
        time.sleep(0.5)
    assert re.search(r"^goroutine 1 .*\[", errors.read_text(), re.MULTILINE)


def test_python_is_asked_by_py_spy(tmp_path: Path) -> None:
    (tmp_path / "py-spy").write_text('#!/bin/sh\necho "py-spy was asked: $*"\n')
    (tmp_path / "py-spy").chmod(0o755)
    with watching.running(_command(CASES["executor.py"])) as pid:
        time.sleep(0.5)
        said = run(WATCH, str(pid), "--once", "--ask", "--json",
                   PATH=f"{tmp_path}:{os.environ['PATH']}")  # fmt: skip
        lacks = run(WATCH, str(pid), "--once", "--ask", PATH="/nowhere")
    assert json.loads(said.stdout)["evidence"] == {"py-spy": f"py-spy was asked: dump --pid {pid}"}
    assert (lacks.returncode, lacks.stderr) == (
        3, "wakeproof: no py-spy: install it with pip, or use --faulthandler SIGNAL if the program "
        "has registered faulthandler\n"
    )  # fmt: skip


SLEEPS = "import time\ndef naps():\n    time.sleep(1000)\n"
REGISTERS = "import faulthandler, signal\nfaulthandler.register(signal.SIGUSR1)\n"


def test_python_is_asked_by_the_signal_that_faulthandler_has_and_by_no_other(
    tmp_path: Path,
) -> None:
    errors = tmp_path / "errors"
    errors.write_text("of before\n")
    shell = ["sh", "-c", f'exec "$0" -c "$1" 2>>{errors}', sys.executable]
    with watching.running([*shell, f"{REGISTERS}{SLEEPS}naps()"]) as pid:
        watching.come_to_sleep(pid)
        asked = run(WATCH, str(pid), "--once", "--faulthandler", "SIGUSR1", "--json")
        wrong = run(WATCH, str(pid), "--once", "--faulthandler", "USR2")
        assert Path(f"/proc/{pid}/stat").read_text().split()[2] == "S"
    said = json.loads(asked.stdout)["evidence"]["faulthandler"]
    assert re.search(r'File "<string>", line 5 in naps', said)
    assert "of before" not in said
    assert (wrong.returncode, "does not catch SIGUSR2: faulthandler is not" in wrong.stderr) == (
        2, True
    )  # fmt: skip


@pytest.mark.parametrize(("signal_name", "why"), [
    ("SIGNONE", "--faulthandler is 'SIGNONE'; allowed"), ("USR1", "does not run Python"),
])  # fmt: skip
def test_a_signal_is_sent_to_python_alone(signal_name: str, why: str) -> None:
    with watching.running(["sleep", "1000"]) as pid:
        said = run(WATCH, str(pid), "--once", "--faulthandler", signal_name)
        assert Path(f"/proc/{pid}/stat").read_text().split()[2] == "S"
    assert (said.returncode, why in said.stderr) == (2, True)


def test_a_program_in_c_has_nobody_to_ask() -> None:
    with watching.running(["sleep", "1000"]) as pid:
        asked = run(WATCH, str(pid), "--once", "--ask")
        ended = run(WATCH, str(pid), "--once", "--end")
        assert Path(f"/proc/{pid}/stat").read_text().split()[2] == "S"
    assert (asked.returncode, ended.returncode) == (2, 2)
    assert "runs neither Java nor Python" in asked.stderr
    assert "does not run Go" in ended.stderr
