# SPDX-License-Identifier: Apache-2.0
"""The audit compiles every program before a judge runs, and ends if one does not compile."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import builds, needs, scenarios, store
from wakeproof.judge.audit import compiled
from wakeproof.judge.audit.command import STRESSED
from wakeproof.judge.audit.command import audit as audit_command
from wakeproof.judge.builds import Build, Builder, Program
from wakeproof.judge.check import run as specs
from wakeproof.judge.conform import run as conform
from wakeproof.judge.declarations import Scenario
from wakeproof.judge.linear import run as linear
from wakeproof.judge.lock import SHARES, Lock, Row
from wakeproof.judge.process import Children
from wakeproof.judge.stress import run as native
from wakeproof.judge.stress.run import StressOptions
from wakeproof.judge.traces import run as traces
from wakeproof.judge.verdicts import Rows

pytestmark = pytest.mark.slow  # the hashes of everything that is judged take a second
EXPLORED = Build(kind="explored")
RECORDED = Build(kind="recorded")
OPTIONS = StressOptions(mode="quick", opt=STRESSED).checked()


RUNS = 100


def declared(file: Path, *_: object) -> tuple[list[Scenario], list[object]]:
    """Return one scenario for each file, as if the file declared it."""
    one = Scenario(
        file, file.stem, "", "", 2, 1, False, 1, (), 0, frozenset(), 0,
    )  # fmt: skip
    return [one], []


def every(rows: Rows, builder: Builder) -> list[Program]:
    """Return everything that an audit with these `rows` compiles."""
    return [
        *compiled.programs(rows, builder, RUNS),
        *native.programs(OPTIONS, rows, builder, compiled.LISTED),
    ]


class _AskedError(Exception):
    """A judge has asked for its program."""


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("conform_timer.c", EXPLORED),
        ("conform_parker.c", Build(kind="explored", twin="conform_unpark_lies")),
        ("conform_parker.c", RECORDED),
        ("linear_local_queue.c", EXPLORED),
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
    monkeypatch.setattr(scenarios, "declared", declared)
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
    broken_says = r"(?s)conform_broken.c does not compile:.*nothing"
    with Children() as children, pytest.raises(UsageError, match=broken_says):
        compiled.compile_all(wanted, Builder(children), children)
    assert time.monotonic() - begin < 200
    assert len(asked) < len(wanted)


@pytest.mark.rotates
def test_what_the_judges_ask_for_is_among_what_was_compiled(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(compiled.programs(Rows(), builder, RUNS))
    asked: list[tuple[Path, Build]] = []

    def program(_builder: Builder, scenario: Path, build: Build) -> Path:
        asked.append((scenario, build))
        raise _AskedError

    monkeypatch.setattr(Builder, "program", program)
    monkeypatch.setattr(conform.Judge, "spec", lambda *_: (None, []))
    monkeypatch.setattr(traces._Judge, "replay", lambda *_: None)
    for judge in (
        lambda: conform.conform("^parker$", slow_twins=False),
        lambda: linear.linear("biased_lock", slow=False),
        lambda: traces.traces("biased_lock", count=RUNS),
    ):
        with pytest.raises(_AskedError):
            judge()
    assert len(asked) == 3
    assert set(asked) <= before


def test_every_file_of_the_judges_is_among_what_is_compiled(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenarios, "declared", declared)
    wanted = every(Rows(), builder)
    files = {scenario for scenario, _ in wanted}
    assert {build for _, build in wanted if build.kind == "stress"} == set(OPTIONS.builds())
    stress = locations.sources() / "stress"
    assert {*(stress / "scenarios").rglob("*.c"), *stress.glob("linear/**/*.c")} <= files
    kept = {f"conform_{c.scenario}.c" for c in conform.CONCEPTS if not c.is_long}
    assert kept <= {file.name for file in files}
    assert all(file.is_file() for file in files)


@pytest.mark.rotates
def test_what_no_row_needs_that_is_judged_now_is_not_compiled(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenarios, "declared", declared)
    monkeypatch.setenv(store.FRESH, "")
    asked: dict[tuple[str, str], Row] = {}

    class Asked(Rows):
        def lacks(self, judge: str, name: str, inputs: store.Inputs) -> bool:
            asked[judge, name] = Row(judge, name, store.key(inputs), "ok", None, None)
            return True

    whole = set(every(Asked(), builder))
    known = Lock(asked)
    listed = {(file, compiled.LISTED) for file in scenarios.find()}
    assert set(every(Rows(known, ()), builder)) == listed
    assert set(every(Rows(known, range(SHARES)), builder)) == whole
    shares = [set(every(Rows(known, (n,)), builder)) - listed for n in range(SHARES)]
    assert set().union(*shares) == whole - listed
    assert all(0 < len(share) < len(whole) / 2 for share in shares)
