# SPDX-License-Identifier: Apache-2.0
"""Explorations in CI: JUnit XML, SARIF, and ``pytest --wakeproof``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.support.running import run

HELD, VIOLATED = 0, 1
EXPLORE = (sys.executable, "-m", "wakeproof", "explore")

RACE = """
#include <pthread.h>
#include "shared.h"
static int n;
static void *f(void *a) { n++; return a; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    bump(&n);
    pthread_join(t, 0);
    return 0;
}
"""
SHARED = "static inline void bump(int *n)\n{\n\t*n += STEP;\n}\n"
DEADLOCK = """
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&a);
    return 0;
}
"""
SOUND = "int main(void) { return 0; }\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("counter_race.c", RACE), ("shared.h", SHARED), ("sound_race.c", SOUND),
                       ("lock_race.c", DEADLOCK), ("other.c", RACE)):  # fmt: skip
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def _explored(folder: Path, *arguments: str) -> tuple[int, ElementTree.Element, Any]:
    ended = run(EXPLORE, *arguments, "--junit", "found.xml", "--sarif", "found.sarif",
                "--", "-DSTEP=1", cwd=folder)  # fmt: skip
    assert "wakeproof:" not in ended.stderr
    found = json.loads((folder / "found.sarif").read_text("utf-8"))
    return ended.returncode, ElementTree.parse(folder / "found.xml").getroot(), found


def test_what_is_broken_is_a_failed_case_and_has_its_lines(folder: Path) -> None:
    files = [str(folder / name) for name in ("counter_race.c", "sound_race.c", "lock_race.c")]
    code, suite, sarif = _explored(folder, *files, "--model", "sc,rc11")
    assert code == VIOLATED
    failed = {case.attrib["name"]: case.find("failure") is not None for case in suite}
    assert failed == {"counter_race": True, "sound_race": False, "lock_race": True}
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "2")
    (ran,) = sarif["runs"]
    rules = [rule["id"] for rule in ran["tool"]["driver"]["rules"]]
    assert rules == ["counter_race", "sound_race", "lock_race"]
    places = {
        (result["ruleId"], result["message"]["text"].split()[0]): {
            (place["artifactLocation"]["uri"], place["region"]["startLine"])
            for place in (of["physicalLocation"] for of in result["locations"])
        }
        for result in ran["results"]
    }
    both = {("counter_race.c", 5), ("shared.h", 3)}  # the two accesses of the race
    deadlock = {("lock_race.c", 5), ("lock_race.c", 6)}
    for model in ("SC", "RC11"):
        assert places["counter_race", model] == both
        assert len(places["lock_race", model]) == 1
        assert places["lock_race", model] < deadlock
    assert len(places) == 4


def test_what_was_explored_in_part_is_no_passed_case(folder: Path) -> None:
    code, suite, sarif = _explored(
        folder, "sound_race.c", "--model", "sc", "--sample", "random:n=3"
    )
    (case,) = suite
    skipped = case.find("skipped")
    assert code == HELD
    assert skipped is not None
    assert "as far as explored" in skipped.attrib["message"]
    assert sarif["runs"][0]["results"] == []
    code, suite, _ = _explored(
        folder, "sound_race.c", "--model", "sc", "--sample", "random:n=3", "--strict"
    )
    assert code == VIOLATED
    assert suite.attrib["failures"] == "1"


@pytest.mark.rotates
@pytest.mark.skipif(not shutil.which("clang"), reason="not run: install clang")
def test_what_clang_leaves_out_is_said(folder: Path) -> None:
    said = "clang leaves out hooks that gcc has"
    ended = run(EXPLORE, "sound_race.c", "--model", "sc", cwd=folder, CC="clang")
    assert (ended.returncode, said in ended.stdout) == (HELD, True)
    ended = run(EXPLORE, "sound_race.c", "--model", "sc", cwd=folder, CC="gcc")
    assert (ended.returncode, said in ended.stdout) == (HELD, False)


def test_a_report_that_cannot_be_written_is_refused_at_once(folder: Path) -> None:
    ended = run(EXPLORE, "sound_race.c", "--sarif", "no/found.sarif", cwd=folder)
    assert ended.returncode == 2
    assert "--sarif no/found.sarif: there is no folder" in ended.stderr


def _pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"]
    return run(command, *arguments, cwd=folder)


@pytest.mark.rotates
def test_pytest_explores_files_named_race(folder: Path) -> None:
    counter = folder / "counter_race.c"
    counter.write_text(f"// wakeproof: --model sc -- -DSTEP=2\n{RACE}", "utf-8")
    ended = _pytest(folder, "--wakeproof")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "sound_race.c::explore PASSED" in ended.stdout
    assert "counter_race.c::explore FAILED" in ended.stdout
    assert "lock_race.c::explore FAILED" in ended.stdout
    assert "nothing orders the two" in ended.stdout
    assert "wakeproof explore counter_race.c --model sc --strict -- -DSTEP=2" in ended.stdout
    assert "other.c" not in ended.stdout
    assert "2 failed, 1 passed" in ended.stdout


def test_pytest_explores_nothing_unless_it_is_asked_to(folder: Path) -> None:
    ended = _pytest(folder)
    assert ended.returncode == 5  # no tests


def test_pytest_shows_why_a_file_cannot_be_explored(folder: Path) -> None:
    ended = _pytest(folder, "--wakeproof", "counter_race.c")
    assert ended.returncode == 1
    assert "STEP" in ended.stdout
    assert "does not compile" in ended.stdout


@pytest.mark.slow
def test_a_flag_may_be_two_words(tmp_path: Path) -> None:
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "number.h").write_text("#define NUMBER 0\n", "utf-8")
    (tmp_path / "main.c").write_text("int main(void) { return NUMBER; }\n", "utf-8")
    flags = ("-isystem", str(tmp_path / "headers"), "-include", "number.h")
    ended = run([*EXPLORE, "main.c", "--strict", "--", *flags], cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (HELD, "")
