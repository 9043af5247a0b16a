# SPDX-License-Identifier: Apache-2.0
"""`pytest --wakeproof-watch`: a failed or slow test says who waits and what woke nobody."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.running import run

pytestmark = pytest.mark.slow
CONDITION = """
import threading, wakeproof
def case_it():
    changed = {kind}.Condition()
    def signals():
        with changed:
            changed.notify()
    with changed:
        thread = threading.Thread(target=signals, name="signaller")
        {early}
        assert changed.wait(1)
    thread.join()
"""
ASYNCIO = """
import asyncio
def case_it():
    async def main():
        changed = asyncio.Event()
        async def sets():
            changed.set()
            {pulse}
        task = asyncio.create_task(sets(), name="setter")
        {early}
        async with asyncio.timeout(0.5):
            await changed.wait()
    asyncio.run(main())
"""
LATE = "thread.start()"
EARLY = "changed.{0}(); thread.start(); thread.join(); changed.{1}()"
HANGS = """
import threading, pytest
def case_it():
    with (changed := threading.Condition()):
        changed.notify_all()
    def ends():
        with changed:
            changed.notify()
    threading.Timer({after_s}, ends).start()
    with changed:
        changed.wait()
"""


def _tests(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    options = ("-o", "python_functions=case_it", "--rootdir", str(folder), *options)
    return run((sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options,
                str(folder / "test_it.py")))  # fmt: skip


@pytest.mark.parametrize(("kind", "lock"), [("threading", ""), ("wakeproof", "mutex.")])
def test_a_signal_before_the_wait_is_hinted_at_and_one_in_time_is_not(
    kind: str, lock: str, tmp_path: Path
) -> None:
    early = EARLY.format(f"{lock}release", f"{lock}acquire")
    lost = CONDITION.format(kind=kind, early=early)
    told = _tests(tmp_path, lost, "--wakeproof-watch")
    assert (told.returncode, "wakeproof: who waits" in told.stdout) == (1, True), told.stdout
    assert re.search(r"MainThread has waited in Condition\.wait at .*:11 \(case_it\)", told.stdout)
    assert re.search(r"hint: it was signalled to nobody \S+ s before its wait began: "
                     r"Condition\.notify at .*:7 .*, by signaller", told.stdout)  # fmt: skip
    silent = _tests(tmp_path, lost)
    assert (silent.returncode, "who waits" in silent.stdout) == (1, False)
    late = _tests(tmp_path, CONDITION.format(kind=kind, early=LATE), "--wakeproof-watch")
    assert (late.returncode, "who waits" in late.stdout) == (0, False), late.stdout


def test_a_pulse_of_an_asyncio_event_is_hinted_at_and_a_set_that_stays_is_not(
    tmp_path: Path,
) -> None:
    lost = _tests(tmp_path, ASYNCIO.format(pulse="changed.clear()", early="await task"),
                  "--wakeproof-watch")  # fmt: skip
    assert lost.returncode == 1
    assert re.search(r"task Task-1 of MainThread has waited in Event\.wait at .*:12 ", lost.stdout)
    assert re.search(r"signalled to nobody .*: Event\.set at .*:7 .*, by task setter", lost.stdout)
    kept = _tests(tmp_path, ASYNCIO.format(pulse="pass", early="await task"), "--wakeproof-watch")
    assert (kept.returncode, "who waits" in kept.stdout) == (0, False), kept.stdout


def test_a_failure_of_another_kind_says_nothing_of_waits(tmp_path: Path) -> None:
    ended = _tests(tmp_path, "def case_it():\n    assert 1 == 2\n", "--wakeproof-watch")
    assert (ended.returncode, "who waits" in ended.stdout) == (1, False)


def test_a_test_that_takes_long_is_explained_while_it_hangs_and_a_fast_one_is_not(
    tmp_path: Path,
) -> None:
    options = ("--wakeproof-watch", "--wakeproof-watch-after", "1")
    slow = _tests(tmp_path, HANGS.format(after_s=2.5), *options)
    assert slow.returncode == 0  # it is only explained
    assert "test_it.py::case_it has taken 1 s" in slow.stderr
    assert re.search(r"MainThread waits in Condition\.wait at .*:11 ", slow.stderr)
    assert "signalled to nobody" in slow.stderr
    assert re.search(r"MainThread is at .*threading\.py:\d+ \(wait\)", slow.stderr)
    fast = _tests(tmp_path, HANGS.format(after_s=0.01), *options)
    assert (fast.returncode, fast.stderr) == (0, "")


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "1e30", "soon"])
def test_a_time_that_no_thread_can_wait_is_refused(seconds: str, tmp_path: Path) -> None:
    ended = _tests(tmp_path, "def case_it(): pass", "--wakeproof-watch",
                   f"--wakeproof-watch-after={seconds}")  # fmt: skip
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"it is '{seconds}'; allowed: more than 0 seconds" in ended.stderr
