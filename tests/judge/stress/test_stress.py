# SPDX-License-Identifier: Apache-2.0
"""The judge `stress`: every way to fail occurs once, on its own scenarios (judge/scenarios)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.builds import prune
from wakeproof.judge.stress.grading import HELD, NOT_JUDGED, VIOLATED, ScenarioReport
from wakeproof.judge.stress.options import StressOptions
from wakeproof.judge.stress.run import StressReport, stress

Command = Callable[..., "subprocess.CompletedProcess[str]"]
SCENARIOS = Path(__file__).parents[1] / "scenarios"
PLAIN = StressOptions(
    seconds=0.05, opt=("O2",), delayed=False, seed=7, affinity=("none",), computed=False
)

pytestmark = pytest.mark.slow


def run(file: str, regex: str | None = None, options: StressOptions = PLAIN) -> StressReport:
    return stress([SCENARIOS / f"{file}.c"], regex, options)


def only(file: str, name: str, options: StressOptions = PLAIN) -> ScenarioReport:
    return run(file, f"^{name}$", options).scenarios[0]


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("violated_forbidden", VIOLATED, "forbidden outcome 0"),
        ("violated_uncovered", VIOLATED, "covered by no grade; declared are 1"),
        ("violated_required", VIOLATED, "required outcome 2 was not seen"),
        ("violated_few", NOT_JUDGED, "not judged"),
        ("violated_stuck", VIOLATED, "outcome stuck"),
        ("violated_crash", VIOLATED, "crashed (signal 6)"),
    ],
)
def test_every_way_to_fail_is_seen(name: str, status: str, message: str) -> None:
    report = only("violated", name)
    assert report.status == status
    assert message in report.messages[0]


def test_a_twin_that_nobody_shows_or_that_the_wrong_judge_shows_fails() -> None:
    twins = {twin.name: twin for twin in run("violated", "twins_of_this").twins}
    assert twins["violated_missed"].status == VIOLATED
    assert "did not see" in twins["violated_missed"].messages[0]
    assert twins["violated_undeclared"].status == VIOLATED
    assert "neither in seen_by" in twins["violated_undeclared"].messages[0]


@pytest.mark.rotates
@pytest.mark.alone
def test_store_buffering_is_seen_without_fences_and_not_with_them() -> None:
    both = StressOptions(seconds=0.2, opt=("O0", "O3"), seed=7)
    report = run("buffering", None, both)
    assert report.verdicts == {
        "buffering_bare": HELD,
        "buffering_fenced": HELD,
        "buffering_no_fence": HELD,
    }
    assert {r.build for r in report.scenarios[0].runs} >= {"O0", "O3", "O0 delayed"}


def test_a_sleep_without_a_wake_is_proven_and_survived() -> None:
    pair = only("sleeping", "sleeping_pair")
    assert pair.status == HELD
    assert pair.rows[0].outcome == "asleep"
    assert pair.samples == pair.rows[0].samples >= 10


def test_a_sleep_with_a_wake_or_a_deadline_is_not_taken_for_one_without() -> None:
    options = StressOptions(seconds=0.3, opt=("O2",), seed=7, twins=False)
    report = run("sleeping", "woken|deadline", options)
    assert report.verdicts == {"sleeping_woken": HELD, "sleeping_deadline": HELD}


def test_a_waker_that_looks_first_loses_the_wake() -> None:
    report = run("sleeping", "looks", StressOptions(seconds=0.2, opt=("O2",), seed=7))
    assert report.verdicts == {"sleeping_waker_looks": HELD}
    assert min(report.twins[0].shown.values()) > 0


@pytest.mark.parametrize("name", ["many_three", "many_four"])
def test_more_actors_than_cpus_end_and_count_every_sample(name: str) -> None:
    report = only("many", name)
    assert report.status == HELD
    assert report.samples == sum(row.samples for row in report.rows) > 0


def test_numbers_of_any_size_are_counted() -> None:
    report = only("spread", "spread")
    assert [row.outcome for row in report.rows] == ["-5,1000000,42"]


@pytest.mark.rotates
def test_what_a_scenario_takes_it_gives_back() -> None:
    # AddressSanitizer's leak check: init and fini balance, also after a rescue.
    options = StressOptions(seconds=0.05, opt=("O2",), delayed=False, sanitizer="address")
    assert only("spread", "spread", options).status == HELD
    assert only("sleeping", "sleeping_pair", options).status == HELD


def test_a_seed_names_the_run() -> None:
    first, second = (only("many", "many_three") for _ in range(2))
    assert [r.seeds for r in first.runs] == [r.seeds for r in second.runs]


def test_the_sanity_mode_runs_a_few_blocks_and_judges_no_required_outcome() -> None:
    sanity = StressOptions(mode="sanity", opt=("O2",), delayed=False)
    report = only("violated", "violated_required", sanity)
    assert 0 < report.samples < 100_000


def test_a_file_that_does_not_compile_is_one_line_and_the_compilers_message(
    wakeproof: Command,
) -> None:
    ended = wakeproof("stress", str(SCENARIOS / "unfinished.c"))
    assert ended.returncode == 2
    assert "unfinished.c does not compile" in ended.stderr
    assert "struct missing" in ended.stderr


def test_a_file_without_a_scenario_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.c").write_text('#include "stress.h"\nvoid unused(void);\n')
    with pytest.raises(UsageError, match="declares no scenario"):
        stress([tmp_path / "empty.c"], None, PLAIN)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"0,0", REQUIRED', '"0", REQUIRED', "needs 2 numbers"),
        ('"0,0", REQUIRED', '"0,x", REQUIRED', "needs 2 numbers"),
        (".of = \"buffering_fenced\"", ".of = \"nothing\"", "which this file does not declare"),
        ("wp_twin(buffering_no_fence)", "0", "changes nothing"),
        ("buffering_bare,", "buffering_fenced,", "does not compile"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (SCENARIOS / "buffering.c").read_text()
    (tmp_path / "wrong.c").write_text(text.replace(old, new))
    with pytest.raises(UsageError, match=message):
        stress([tmp_path / "wrong.c"], None, PLAIN)


def test_a_name_that_does_not_exist_lists_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"'nothing'; there are many_three, many_four"):
        run("many", "nothing")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (StressOptions(mode="fast"), "'fast'; allowed: sanity, quick, default, tough"),
        (StressOptions(seconds=-1.0), "seconds is -1; allowed: 0 to 86,400"),
        (StressOptions(opt=("O9",)), "'O9'"),
        (StressOptions(affinity=("near",)), "'near'; allowed: none, global, local, pairs"),
        (StressOptions(stride=0), "stride is 0; allowed: 1 to 4,096"),
        (StressOptions(seed=-1), "seed is -1; allowed: 0 to "),
        (StressOptions(sanitizer="memory"), "'memory'"),
    ],
)
def test_a_bad_option_is_refused_with_what_is_allowed(options: StressOptions, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        stress([SCENARIOS / "many.c"], None, options)


@pytest.mark.rotates
def test_the_command_line_grades_writes_junit_and_says_so_in_its_exit_code(
    wakeproof: Command, tmp_path: Path
) -> None:
    file, xml = str(SCENARIOS / "violated.c"), tmp_path / "report.xml"
    common = ("stress", file, "--seconds", "0.05", "--opt", "O2", "--plain", "--affinity", "none",
              "--no-computed")  # fmt: skip
    ended = wakeproof(*common, "-t", "forbidden|few", "--json", "--junit", str(xml))
    assert ended.returncode == 1
    found = json.loads(ended.stdout)
    assert found["not_judged"] == ["violated_few"]
    suite = ElementTree.parse(xml).getroot()
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    assert wakeproof(*common, "-t", "few").returncode == 0
    assert wakeproof(*common, "-t", "few", "--strict").returncode == 1


def test_what_nobody_used_for_a_day_is_removed(tmp_path: Path) -> None:
    used, unused = tmp_path / "used.o", tmp_path / "unused.o"
    for file in (used, unused):
        file.touch()
    os.utime(unused, (0, 0))
    prune(tmp_path)
    assert (used.exists(), unused.exists()) == (True, False)


@pytest.mark.parametrize(
    ("scenario", "option", "running"),
    [("many", "--no-computed", "--run"), ("shared", "--computed", "--test")],
)
def test_ctrl_c_leaves_no_process_behind(
    tmp_path: Path, scenario: str, option: str, running: str
) -> None:
    file = tmp_path / "long.c"
    text = (SCENARIOS / f"{scenario}.c").read_text()
    file.write_text(f"{text}/* {time.time_ns()}: computed anew */\n")
    program = str(Path(sys.executable).with_name("wakeproof"))
    command = [program, "stress", str(file), "--seconds", "60", "--opt", "O2", "--plain", option]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        engines = _wait_for(running, job.pid)
        job.send_signal(signal.SIGINT)
        assert job.wait(timeout=30) == 130
    assert engines
    assert not [pid for pid in engines if Path(f"/proc/{pid}/exe").exists()]


def _wait_for(option: str, parent: int) -> list[int]:
    """Wait for processes of `parent` with this option, and return them."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        children = Path(f"/proc/{parent}/task").glob("*/children")
        pids = [int(pid) for file in children for pid in file.read_text().split()]
        running = [pid for pid in pids if option.encode() in _arguments(pid)]
        if running:
            return running
        time.sleep(0.02)
    return []


def _arguments(pid: int) -> list[bytes]:
    """Return the arguments of a process; none if the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return []
