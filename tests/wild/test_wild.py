# SPDX-License-Identifier: Apache-2.0
"""Released libraries show what their wild.toml says; a registry that does not answer is named.

Explored are the quick runs.  ``make wild`` explores all.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.wild import declared
from tests.wild import run as wild
from tests.wild.declared import Package
from tests.wild.fetch import Debian, NoAnswerError, WrongHashError
from tests.wild.run import Done, Job

from wakeproof.errors import JudgeError

LIBRARIES = declared.read()
QUICK = wild.jobs(LIBRARIES, quick=True)
PACKAGE = Package(name="libtoy-dev", version="1.0-1", suite="sid", sha256={"toy.deb": "0" * 64})
TOML = """
library = "toy"
language = "C"
releases."1.0".debian = [{ name = "libtoy-dev", version = "1.0-1", suite = "sid", sha256 = {} }]

[[cases]]
name = "one"
explored = "one thread"
files = ["one.c"]
"""
HOLDS = """
[[cases.runs]]
release = "1.0"
flags = ["-I{libtoy-dev}", "-DSHIFT=0"]
shows = "ended ended ended"
why = "It is simple."
"""
BROKEN = HOLDS.replace("ended ended ended", "assertion assertion -").replace("=0", "=1")


@pytest.mark.slow
@pytest.mark.parametrize("job", QUICK, ids=[job.name for job in QUICK])
def test_a_library_shows_what_is_declared(job: Job) -> None:
    done = wild.explore(job)
    if done.lacks:
        pytest.skip(done.lacks)
    assert done.problems == []


def test_each_language_has_quick_runs() -> None:
    assert {job.library.language for job in QUICK} == {one.language for one in LIBRARIES}


def test_no_address_is_declared() -> None:
    texts = [file for file in declared.FOLDER.glob("*/**/*") if file.suffix != ".pyc"]
    assert not [file for file in texts if file.is_file() and "://" in file.read_text("utf-8")]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "outcome"), [("xenium/deque", "1,1,2"), ("glibc/unseen", "2,2")])
def test_a_second_judge_has_the_execution_that_only_weak_memory_allows(
    text: str, outcome: str, wakeproof: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    file = declared.FOLDER / f"{text}.txt"
    said = wakeproof("explore", str(file), "--model", "sc,tso,rc11,armv8").stdout
    shown = dict(re.findall(r"^  (\w+) (?:states|graphs|axioms): (.+)$", said, re.MULTILINE))
    allows = {model: f"{outcome} acceptable" in found for model, found in shown.items()}
    assert allows == {"SC": False, "TSO": False, "RC11": True, "ARMv8": True}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[Done]]:
    """Explore a program that uses a library of one header, as it is declared."""

    def toy(text: str, runs: str) -> list[Done]:
        folder, package = tmp_path / "toy", tmp_path / "package"
        folder.mkdir()
        package.mkdir()
        monkeypatch.setattr(Debian, "unpacked", lambda _self, _package: package)
        (package / "toy.h").write_text("enum { ANSWER = 42 };\n", "utf-8")
        (folder / "one.c").write_text('#include "toy.h"\n' + text, "utf-8")
        (folder / "wild.toml").write_text(TOML + runs, "utf-8")
        return [wild.explore(job) for job in wild.jobs(declared.read(tmp_path))]

    return toy


RETURNS = "int main(void) { return ANSWER != 42 + SHIFT; }\n"


@pytest.mark.slow
def test_a_run_shows_what_it_says(toy: Callable[[str, str], list[Done]]) -> None:
    done, twin = toy(RETURNS, HOLDS + BROKEN)
    assert (done.problems, twin.problems) == ([], [])
    assert [(wild.worst(result), wild.executions(result)) for result in twin.results] == [
        ("assertion", 1), ("assertion", 1)
    ]  # fmt: skip


@pytest.mark.slow
def test_a_run_that_shows_another_verdict_is_wrong(toy: Callable[[str, str], list[Done]]) -> None:
    done, twin = toy(RETURNS, HOLDS.replace("SHIFT=0", "SHIFT=2") + BROKEN.replace("=1", "=0"))
    assert done.problems == [
        f"{model} shows assertion, expected is ended" for model in ("SC", "TSO", "RC11")
    ]
    assert twin.problems == [
        f"{model} shows ended, expected is assertion" for model in ("SC", "TSO")
    ]


@pytest.mark.slow
def test_a_run_that_is_not_explored_whole_is_wrong(toy: Callable[[str, str], list[Done]]) -> None:
    text = """#include <stdatomic.h>
#include <pthread.h>
static atomic_int word;
static void *add(void *unused) { word += 1; return unused; }
int main(void)
{
	pthread_t threads[7];
	for (int at = 0; at < 7; at++)
		pthread_create(&threads[at], NULL, add, NULL);
	for (int at = 0; at < 7; at++)
		pthread_join(threads[at], NULL);
	return ANSWER != 42 + SHIFT;
}
"""
    done, _ = toy(text, HOLDS.replace("ended ended ended", "- - ended") + BROKEN)
    assert done.problems == []
    limited = Done(done.job, (replace(done.results[0], exhaustive=False, stopped="max_seconds"),),
                   0.0)  # fmt: skip
    assert limited.problems == ["RC11 was not explored whole: not exhaustive: time limit"]


@pytest.mark.slow
def test_a_run_is_refused_with_the_words_that_it_says(
    toy: Callable[[str, str], list[Done]],
) -> None:
    refused = HOLDS.replace('shows = "ended ended ended"', 'refused = "calls fork"')
    other = refused.replace("calls fork", "calls exec")
    done, wrong = toy("int fork(void);\nint main(void) { return fork(); }\n", refused + other)
    assert done.problems == []
    assert len(wrong.problems) == 1
    assert "it is not refused with 'calls exec'" in wrong.problems[0]


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (HOLDS, "no run of it shows a defect"),
        (HOLDS + BROKEN.replace('"1.0"', '"2.0"'), "there is no release 2.0"),
        (HOLDS + BROKEN.replace("assertion", "bad"), "shows is 'bad bad -'"),
        (HOLDS + BROKEN.replace("why", "when"), "Extra inputs are not permitted"),
    ],
)
def test_a_wrong_declaration_is_refused(runs: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "wild.toml").write_text(TOML + runs, "utf-8")
    with pytest.raises(JudgeError, match=re.escape(said)):
        declared.read(tmp_path)


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let apt-get be a program in sh; it gets a mirror for Debian."""

    def apt(update: str, download: str = "exit 0") -> None:
        program = tmp_path / "bin" / "apt-get"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            '#!/bin/sh\ncase "$*" in\n*indextargets*) echo mirror:/debian;;\n'
            f"*update*) {update};;\n*) {download};;\nesac\n", "utf-8",
        )  # fmt: skip
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent), prepend=":")

    return apt


def test_a_registry_that_does_not_answer_is_named(apt: Callable[..., None], tmp_path: Path) -> None:
    apt("echo 'E: Failed to fetch x://y Could not connect' >&2; exit 100")
    with pytest.raises(
        NoAnswerError, match=r"debian: does not answer: .* \.\.\. Could not connect"
    ):
        Debian(tmp_path).unpacked(PACKAGE)


def test_a_version_that_is_gone_is_named(apt: Callable[..., None], tmp_path: Path) -> None:
    apt("exit 0", "echo \"E: Version '1.0-1' for 'libtoy-dev' was not found\" >&2; exit 100")
    with pytest.raises(NoAnswerError, match=r"debian: sid no longer has libtoy-dev=1\.0-1"):
        Debian(tmp_path).unpacked(PACKAGE)


def test_a_machine_without_apt_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoAnswerError, match="debian: there is no apt-get"):
        Debian(tmp_path).unpacked(PACKAGE)


def test_a_wrong_hash_is_a_failure(apt: Callable[..., None], tmp_path: Path) -> None:
    apt("exit 0", "echo other > toy.deb")
    with pytest.raises(WrongHashError, match=r"toy\.deb has the sha256 .*, and 0000"):
        Debian(tmp_path).unpacked(PACKAGE)
    assert not list(tmp_path.glob("**/.sha256"))


def test_a_file_that_was_not_declared_is_a_failure(
    apt: Callable[..., None], tmp_path: Path
) -> None:
    apt("exit 0", "echo other > toy.deb; echo more > more.deb")
    with pytest.raises(WrongHashError, match=r"has the files more\.deb, toy\.deb"):
        Debian(tmp_path).unpacked(PACKAGE)


def test_what_was_left_out_is_not_said_to_be_right(
    toy: Callable[[str, str], list[Done]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done, _ = toy(RETURNS, HOLDS + BROKEN)
    lacking = Done(done.job, (), 0.0, lacks="debian: does not answer")
    monkeypatch.setattr(wild, "explore", lambda _job, _tick=None: lacking)
    monkeypatch.setattr(wild, "jobs", lambda _libraries, **_quick: [done.job])
    assert wild.main([]) == 1
    assert "0 runs, 0 as they say, in 0 s; 1 runs left out" in capsys.readouterr().out


def test_a_library_that_there_is_not_is_a_usage_error() -> None:
    assert wild.main(["nope"]) == 2


def test_a_run_of_which_nothing_was_explored_shows_nothing(
    toy: Callable[[str, str], list[Done]],
) -> None:
    done, _ = toy(RETURNS, HOLDS + BROKEN)
    bounded = replace(done.job, case=done.job.case.model_copy(update={"bounded": True}))
    empty = replace(done.results[0], outcomes=(), exhaustive=False, stopped="max_seconds")
    found = Done(bounded, (empty,), 0.0)
    assert wild.worst(empty) == "-"
    assert found.problems == ["SC: no execution was explored to its end"]
