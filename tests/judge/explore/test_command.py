# SPDX-License-Identifier: Apache-2.0
"""`wakeproof explore` and `replay`, as a user types them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.running import run

Command = Callable[..., "subprocess.CompletedProcess[str]"]
BUFFERING = """program SB
thread
  store x 1 release
  r0 = load y acquire
  assert r0 == 1
thread
  store y 1 release
end
program fine
thread
  store x 1 relaxed
observe x
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    file = tmp_path / "programs.txt"
    file.write_text(BUFFERING)
    return file


ERRORS = {
    "explore --model arm": "model is 'arm'; allowed: sc, tso, rc11, armv8, all",
    "explore --model ,": "model is empty; allowed: sc, tso, rc11, ",
    "explore --engine fast": "engine is 'fast'; allowed: auto, graphs, states, both",
    "explore --engine states --model all": "engine states has no model rc11: give --model",
    "explore --sample often": "sample is 'often'; allowed: random",
    "explore --max-bytes much": "max-bytes is 'much'; allowed: a number of bytes, as in 500M",
    "explore --preemptions 2 --engine graphs": "a bound on preemptions needs engine states",
    "explore --futex weak": "--futex is 'weak'; allowed: none, linux",
    "explore --order guard.2": "--order is 'guard.2'; allowed: SITE=ORDER, as in guard.2=relaxed",
    "explore --order XX9=relaxed": "no site has the label 'XX9'; there are ",
    "explore nowhere.c": "no scenario file nowhere.c",
    "explore -t ( nowhere.c": "no scenario file nowhere.c",
    "replay nonsense": "'nonsense' is no token: ",
    "replay nowhere.json": "nowhere.json: there is no such file",
}


@pytest.mark.parametrize("arguments", ERRORS)
def test_a_request_that_makes_no_sense_is_one_line_and_exit_2(
    wakeproof: Command, arguments: str
) -> None:
    ended = wakeproof(*arguments.split())
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"wakeproof: {ERRORS[arguments]}")
    assert ended.stderr.count("\n") == 1


def test_a_program_that_cannot_be_read_is_exit_2(wakeproof: Command, tmp_path: Path) -> None:
    file = tmp_path / "bad.txt"
    file.write_text("program p\nthread\nfoo\n")
    ended = wakeproof("explore", str(file))
    assert ended.returncode == 2
    assert f"{file}: p: line 3: foo is not an operation" in ended.stderr
    file.write_text("\n")
    assert "holds no program" in wakeproof("explore", str(file)).stderr


def test_a_folder_that_cannot_be_made_is_one_line_and_exit_3(wakeproof: Command) -> None:
    for command in ("explore", "orders"):
        ended = wakeproof(command, "--save", "/proc/none/here")
        expected = "wakeproof: /proc/none: No such file or directory\n"
        assert (ended.returncode, ended.stdout, ended.stderr) == (3, "", expected)


def test_a_disk_that_is_full_is_one_line_and_leaves_no_half_a_file(
    wakeproof: Command, programs: Path, tmp_path: Path
) -> None:
    wakeproof("explore", str(programs), "-t", "fine")  # builds the explorer
    saved, program = tmp_path / "saved", str(Path(sys.executable).with_name("wakeproof"))
    command = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", program, "explore", str(programs)]
    ended = run(command, "--save", str(saved))
    assert ended.returncode == 3
    assert re.fullmatch(rf"wakeproof: {re.escape(str(saved))}/\S+: File too large\n", ended.stderr)
    assert list(saved.iterdir()) == []


def test_help_shows_examples(wakeproof: Command) -> None:
    assert "wakeproof explore -t guard --model rc11" in wakeproof("explore", "--help").stdout
    assert "wakeproof replay build/explore/" in wakeproof("replay", "--help").stdout


def test_help_has_the_five_options_that_people_need_first_and_the_others_in_groups(
    wakeproof: Command,
) -> None:
    shown = wakeproof("explore", "--help").stdout
    first, *groups = re.split(r"(?m)^╭─ (?:Options|What to run) ─+╮$", shown)[1:]
    listed = re.findall(r"(?m)^│ +(-\S+)", first)
    assert listed == ["-t", "--model", "--seconds", "--twins", "--json", "--help"]
    for group in ("Memory model", "Bounds and resources", "Output"):
        assert f"╭─ {group} ─" in groups[0]


def test_programs_as_text_are_judged_and_a_bad_execution_is_printed(
    wakeproof: Command, programs: Path, tmp_path: Path
) -> None:
    ended = wakeproof("explore", str(programs), "--save", str(tmp_path / "saved"))
    assert ended.returncode == 1
    assert "SB, SC: assertion (failed assertion)" in ended.stdout
    assert "assertion fails" in ended.stdout
    assert "SC broken at SB:5" in ended.stdout
    assert "1 held, 1 violated" in ended.stdout
    assert "Load buffering lies outside RC11" in ended.stdout
    assert wakeproof("explore", str(programs), "-t", "fine").returncode == 0


def test_the_report_as_json_says_how_much_was_explored(wakeproof: Command, programs: Path) -> None:
    ended = wakeproof("explore", str(programs), "-t", "fine", "--engine", "graphs", "--json")
    found = json.loads(ended.stdout)
    assert (ended.returncode, found["holds"]) == (0, True)
    runs = [judged["result"] for judged in found["scenarios"][0]["judged"]]
    assert [(r["model"], r["executions"], r["exhaustive"]) for r in runs] == [
        ("sc", 1, True), ("tso", 1, True), ("rc11", 1, True),
    ]  # fmt: skip


@pytest.mark.rotates
def test_a_counterexample_is_found_again_by_token_and_by_file(
    wakeproof: Command, programs: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    ended = wakeproof("explore", str(programs), "--save", str(saved), "--json")
    made = json.loads(ended.stdout)["counterexamples"]
    assert [Path(one["saved"]).parent for one in made] == [saved] * 3
    for one in made:
        again = wakeproof("replay", one["token"])
        assert again.returncode == 0
        assert "assertion fails" in again.stdout
    assert wakeproof("replay", made[0]["saved"]).returncode == 0
    programs.write_text(BUFFERING.replace("store y 1", "store y 2"))
    refused = wakeproof("replay", made[0]["token"])
    assert refused.returncode == 2
    assert "made from other sources" in refused.stderr
    programs.unlink()
    assert "does not exist" in wakeproof("replay", made[0]["token"]).stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_ctrl_c_leaves_no_process_behind(tmp_path: Path, number: int, code: int) -> None:
    file = tmp_path / "long.txt"
    thread = "thread\n" + "add x 1 relaxed\n" * 12
    file.write_text("program long\n" + thread * 4)
    program = str(Path(sys.executable).with_name("wakeproof"))
    command = [program, "explore", str(file), "--model", "rc11", "--seconds", "100"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as job:
        explorers = _wait_for_explorer(job.pid)
        job.send_signal(number)
        assert job.wait(timeout=30) == code
    assert explorers
    end = time.monotonic() + (60 if number == signal.SIGKILL else 0)
    while left := [pid for pid in explorers if Path(f"/proc/{pid}/exe").exists()]:
        assert time.monotonic() < end, left
        time.sleep(0.02)


def _wait_for_explorer(parent: int) -> list[int]:
    """Wait for explorers of `parent`, and return them."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        children = Path(f"/proc/{parent}/task").glob("*/children")
        pids = [int(pid) for file in children for pid in file.read_text().split()]
        running = [p for p in pids if b"--program" in Path(f"/proc/{p}/cmdline").read_bytes()]
        if running:
            return running
        time.sleep(0.02)
    return []
