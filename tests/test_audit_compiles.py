# SPDX-License-Identifier: Apache-2.0
"""The audit compiles every program before a judge runs: one that does not compile ends it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from wakeproof import locations
from wakeproof.cli.audit import STRESSED
from wakeproof.cli.audit import audit as audit_command
from wakeproof.errors import UsageError
from wakeproof.judge import builds, compiled, conform, linear, needs, specs, traces
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.native import StressOptions

EXPLORED = Build(kind="explored")
RECORDED = Build(kind="recorded")
OPTIONS = StressOptions(mode="quick", opt=STRESSED).checked()


class _AskedError(Exception):
    """A judge has asked for its program."""


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("conform_timer.c", EXPLORED),
        ("conform_parker.c", Build(kind="explored", twin="conform_unpark_lies")),
        ("conform_parker.c", RECORDED),
        ("linear_local.c", EXPLORED),
        ("wait_queue.c", EXPLORED),
        ("wait_queue.c", Build("O2")),
        ("wait_queue.c", Build("O2", delayed=True)),
    ],
    ids=lambda what: getattr(what, "kind", what),
)
def test_a_program_that_does_not_compile_ends_the_audit_before_a_judge_runs(
    name: str, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(_builder: Builder, scenario: Path, which: Build) -> Path:
        if (scenario.name, which) == (name, build):
            raise UsageError(f"{scenario} does not compile:\nit is broken")
        return scenario

    def runs(**_options: object) -> None:
        raise AssertionError("a judge runs")

    monkeypatch.setattr(needs, "require_judges", lambda: None)
    monkeypatch.setattr(Builder, "program", program)
    monkeypatch.setattr(specs, "check", runs)
    monkeypatch.setattr(conform, "conform", runs)
    with pytest.raises(UsageError, match=rf"{name} does not compile:\nit is broken"):
        audit_command()


def test_the_compiler_s_words_come_with_the_file_and_the_rest_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "conform_broken.c"
    broken.write_text("int main(void) { return nothing; }\n")
    wanted = [(broken, EXPLORED), *[(tmp_path / f"{n}.c", EXPLORED) for n in range(50)]]
    asked: list[Path] = []

    def program(builder: Builder, scenario: Path, _build: Build) -> Path:
        asked.append(scenario)
        if scenario == broken:
            return builder._make(scenario, ["cc", "-c", str(scenario)], tmp_path / "made.o")
        builder._children.run(["sleep", "300"], timeout_s=300)
        return scenario

    monkeypatch.setattr(Builder, "program", program)
    monkeypatch.setattr(builds, "prune", lambda _folder: None)
    begin = time.monotonic()
    with pytest.raises(UsageError, match=r"(?s)conform_broken.c does not compile:.*nothing"):
        compiled.compile_all(wanted)
    assert time.monotonic() - begin < 200
    assert len(asked) < len(wanted)


def test_what_the_judges_ask_for_is_among_what_was_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = set(compiled.programs(OPTIONS))
    asked: list[tuple[Path, Build]] = []

    def program(_builder: Builder, scenario: Path, build: Build) -> Path:
        asked.append((scenario, build))
        raise _AskedError

    monkeypatch.setattr(Builder, "program", program)
    monkeypatch.setattr(conform.Judge, "spec", lambda *_: (None, []))
    for judge in (
        lambda: conform.conform("^parker$", slow_twins=False),
        lambda: linear.linear("ticket", slow=False),
    ):
        with pytest.raises(_AskedError):
            judge()
    assert len(asked) == 2
    assert set(asked) <= before
    assert {build for _, build in traces.programs()} >= {RECORDED}


def test_every_file_of_the_judges_is_among_what_is_compiled() -> None:
    files = {scenario for scenario, _ in compiled.programs(OPTIONS)}
    stress = locations.sources() / "stress"
    assert {*(stress / "scenarios").rglob("*.c"), *stress.glob("linear/**/*.c")} <= files
    kept = {f"conform_{c.scenario}.c" for c in conform.CONCEPTS if not c.is_long}
    assert kept <= {file.name for file in files}
    assert all(file.is_file() for file in files)
