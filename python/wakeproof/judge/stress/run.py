# SPDX-License-Identifier: Apache-2.0
"""The judge `stress`: scenarios and twins on real cores."""

from __future__ import annotations

import os
import platform
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from wakeproof.errors import UsageError
from wakeproof.judge import scenarios, store
from wakeproof.judge.builds import Build, Builder, Program
from wakeproof.judge.process import Children
from wakeproof.judge.scenarios import Scenario, Selection, Twin
from wakeproof.judge.stress import grading, outcome_sets, places
from wakeproof.judge.stress.allowed import Allowed
from wakeproof.judge.stress.engine import add_up, is_overdrawn, is_spent, measure
from wakeproof.judge.stress.grading import Run, ScenarioReport, TwinReport
from wakeproof.judge.stress.options import StressOptions as StressOptions
from wakeproof.judge.stress.outcome_sets import Sets
from wakeproof.judge.verdicts import Rows

SECOND_CHANCES = 2
"""The number of longer runs before an outcome that must be seen counts as missed."""

HOPELESS = 20
"""A second chance is given where this many times the samples reach the scenario's minimum."""

_Report = TypeVar("_Report", ScenarioReport, TwinReport)
Progress = Callable[[str, int, int], None]
"""Called with the next step, the steps done, and the steps in all."""


@dataclass(frozen=True)
class StressReport:
    """All verdicts of one job, and the options of the job."""

    scenarios: tuple[ScenarioReport, ...]
    twins: tuple[TwinReport, ...]
    mode: str
    seed: int
    compiler: str
    machine: str
    cpus_allowed: int
    places: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...] = ()  # of the compiler, about scenario files

    @property
    def verdicts(self) -> dict[str, str]:
        """Return the status of each scenario and twin by name."""
        judged = {report.name: report.status for report in self.scenarios}
        return judged | {report.name: report.status for report in self.twins}

    @property
    def allowed(self) -> dict[str, Allowed]:
        """Return by scenario and twin the standing of its outcomes in the models' sets."""
        found = {report.name: report.allowed for report in self.scenarios}
        return found | {report.name: report.allowed for report in self.twins}

    @property
    def violated(self) -> bool:
        """Return whether a scenario or twin failed."""
        return grading.VIOLATED in self.verdicts.values()

    @property
    def not_judged(self) -> tuple[str, ...]:
        """Return the names without a verdict; a missing verdict never counts as a pass."""
        return tuple(n for n, status in self.verdicts.items() if status == grading.NOT_JUDGED)

    def ok(self, strict: bool = False) -> bool:
        """Return whether all held; `strict`: and all were judged."""
        return not self.violated and not (strict and self.not_judged)


def stress(
    files: Iterable[Path] | None = None,
    regex: str | None = None,
    options: StressOptions | None = None,
    *,
    allowed: Sets | None = None,
    announce: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    rows: Rows | None = None,
    listed: Build | None = None,
) -> StressReport:
    """Run scenario files (the project's own if None) and return every verdict.

    The outcomes are compared with `allowed` (None: with the sets that the explorer computes or has
    kept).  `rows`: scenarios and twins with a row there are not run again, and the others get one.
    `listed`: the build that lists the declarations of a file (None: the first that runs).

    Raises:
        UsageError: a bad option, an unknown name, a file that does not compile.
        MissingToolError: no C compiler.
    """
    chosen = (options or StressOptions()).checked()
    with Children() as children:
        job = _Job(chosen, children, allowed, announce, progress, rows)
        return job.report(files, regex, listed or chosen.builds()[0])


def programs(options: StressOptions, rows: Rows, builder: Builder, listed: Build) -> list[Program]:
    """Return the programs that `stress` compiles of the project's own scenarios, without twins.

    A twin shares all but a few objects with its scenario.
    """
    with Children() as children:
        found = [scenarios.declared(file, builder, children, listed) for file in scenarios.find()]
    return [
        (one.file, build)
        for own, _ in found for one in own
        if rows.lacks("stress", one.name, inputs_of(builder, options, one))
        for build in options.builds()
    ]  # fmt: skip


def inputs_of(builder: Builder, options: StressOptions, of: Scenario | Twin) -> dict[str, str]:
    """Return the inputs of a verdict on a scenario or twin, without the machine and luck."""
    twin = of.name if isinstance(of, Twin) else None
    builds = [builder.identity(of.file, build) for build in options.builds(twin)]
    return {
        "programs": " ".join(builds),
        "test": f"stress {of.name}",
        "options": f"{options.mode} {options.seconds} {options.affinity} {options.stride}",
        "runner": " ".join(scenarios.runner(options.sanitizer)),
        "code": store.code_hash("stress/run.py", without=("stress/outcome_sets.py",)),
    }


class _Job:
    def __init__(
        self,
        options: StressOptions,
        children: Children,
        allowed: Sets | None,
        announce: Callable[[str], None] | None,
        progress: Progress | None,
        rows: Rows | None,
    ) -> None:
        self._options, self._children, self._allowed = options, children, allowed
        self._rows = rows
        self._announce = announce or (lambda _text: None)
        self._progress = progress or (lambda _next, _done, _total: None)
        self._builder = Builder(children)
        self._programs: dict[tuple[Path, Build], Path] = {}
        self._cpus = places.allowed()
        self._places = places.choose(options.affinity, self._cpus)
        random = int.from_bytes(os.urandom(4), "little")
        self._seed = random if options.seed is None else options.seed
        self._done = self._total = 0
        self._is_x86 = _machine() == "x86_64"

    @property
    def _may_try_again(self) -> bool:
        """Return whether a longer run can change a verdict: not in sanity mode or on one CPU."""
        return self._options.budget_s() > 0 and len(self._cpus) > 1

    @property
    def _longer_s(self) -> float:
        """Return the budget of a second chance."""
        return max(1.0, 4 * self._options.budget_s())

    def report(
        self, files: Iterable[Path] | None, regex: str | None, listed: Build
    ) -> StressReport:
        started = time.monotonic()
        every, selection = self._select(scenarios.find(files), regex, listed)
        owners = {twin: selection.scenario_of(twin, every) for twin in selection.twins}
        known = {s: self._known(s, partial(self._of_scenario, s)) for s in selection.scenarios}
        known_twins = {t: self._known(t, partial(self._of_twin, t, of)) for t, of in owners.items()}
        left = Selection(
            tuple(s for s, report in known.items() if report is None),
            tuple(twin for twin, report in known_twins.items() if report is None),
        )
        self._build_all(left)
        sets = self._sets(left)
        judged = tuple(
            report or self._add(s, self._compared(self._scenario(s), sets))
            for s, report in known.items()
        )
        twins = tuple(
            report or self._add(twin, self._compared(self._twin(twin, owners[twin]), sets))
            for twin, report in known_twins.items()
        )
        return StressReport(
            judged, twins, self._options.mode, self._seed, self._builder.compiler_name,
            _machine(), len(self._cpus), tuple(place.name for place in self._places),
            time.monotonic() - started, self._builder.warnings,
        )  # fmt: skip

    def _known(
        self, one: Scenario | Twin, graded: Callable[[Sequence[Run]], _Report]
    ) -> _Report | None:
        """Return the report on the outcomes that were seen before, if it still holds."""
        if self._rows is None:
            return None
        row = self._rows.find("stress", one.name, inputs_of(self._builder, self._options, one))
        if row is None:
            return None
        runs = [_run_of(*run) for run in row.detail]
        report = self._compared(graded(runs), self._allowed or {})
        return report if report.status == grading.HELD else None

    def _add(self, one: Scenario | Twin, report: _Report) -> _Report:
        """Add a row without counts, because its outcomes are a matter of luck."""
        if self._rows is not None:
            inputs = inputs_of(self._builder, self._options, one)
            self._rows.judged(
                "stress", one.name, inputs, report.status, None,
                [_plain_of(run) for run in report.runs], holds=report.status == grading.HELD,
            )  # fmt: skip
        return report

    def _select(
        self, files: list[Path], regex: str | None, listed: Build
    ) -> tuple[list[Scenario], Selection]:
        def declared(file: Path) -> tuple[list[Scenario], list[Twin]]:
            return scenarios.declared(file, self._builder, self._children, listed)

        self._progress("compiling", 0, 0)
        with ThreadPoolExecutor(4) as pool:
            listings = list(pool.map(declared, files))
        every = [scenario for listing, _ in listings for scenario in listing]
        twins = [twin for _, listing in listings for twin in listing]
        names = Counter([s.name for s in every] + [t.name for t in twins])
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise UsageError(
                f"names must be unique; rename what is declared twice: {', '.join(twice)}"
            )
        return every, scenarios.select(every, twins, regex, self._options.twins)

    def _build_all(self, selection: Selection) -> None:
        """Compile the programs, and announce how long the runs will take."""
        jobs = [(s.file, build) for s in selection.scenarios for build in self._options.builds()]
        jobs += [(t.file, build) for t in selection.twins for build in self._options.builds(t.name)]
        self._total = len(jobs)
        seconds = sum(max(self._options.budget_s(build.twin), 0.02) for _, build in jobs)
        self._announce(
            f"{len(selection.scenarios)} scenarios, {len(selection.twins)} twins, {len(jobs)} "
            f"builds of them: about {seconds:.0f} s on CPUs "
            f"{','.join(map(str, self._cpus))}, seed {self._seed}"
        )
        with ThreadPoolExecutor(4) as pool:
            made = pool.map(lambda job: (job, self._builder.program(*job)), dict.fromkeys(jobs))
            self._programs = dict(made)

    def _sets(self, selection: Selection) -> Sets:
        """Return what the models allow; empty if that is not requested, as in sanity mode."""
        if self._allowed is not None:
            return self._allowed
        if not self._options.computed or self._options.budget_s() == 0:
            return {}
        return outcome_sets.compute(
            (*selection.scenarios, *selection.twins), self._builder, self._progress
        )

    def _compared(self, report: _Report, sets: Sets) -> _Report:
        return grading.judge_allowed(report, sets.get((report.file, report.name), ()), self._is_x86)

    def _scenario(self, scenario: Scenario) -> ScenarioReport:
        builds = self._options.builds()
        runs: list[Run] = []
        for build in builds:
            if not is_overdrawn(runs, self._options.seconds):
                runs.append(self._run(scenario, build))
        left_out = tuple(build.name for build in builds[len(runs) :])
        judged = self._of_scenario(scenario, runs, left_out)
        for chance in range(1, SECOND_CHANCES + 1):
            is_hopeless = judged.samples * HOPELESS < scenario.min_samples
            if not judged.missing or is_hopeless or not self._may_try_again:
                break
            build = builds[chance % len(builds)]
            runs.append(self._run(scenario, build, chance, self._longer_s))
            judged = self._of_scenario(scenario, runs, left_out)
        return judged

    def _twin(self, twin: Twin, owner: Scenario) -> TwinReport:
        runs = []
        for build in self._options.builds(twin.name):
            run = self._run(owner, build)
            runs.append(run)
            must = grading.expectation(twin, run.judge) == "must"
            for chance in range(1, SECOND_CHANCES + 1):
                if not must or grading.shown_in(twin, owner, run) or not self._may_try_again:
                    break
                run = self._run(owner, build, chance, self._longer_s)
                runs.append(run)
        return self._of_twin(twin, owner, runs)

    def _of_scenario(
        self, scenario: Scenario, runs: Sequence[Run], left_out: Sequence[str] = ()
    ) -> ScenarioReport:
        return grading.judge_scenario(scenario, runs, len(self._cpus), left_out)

    def _of_twin(self, twin: Twin, of: Scenario, runs: Sequence[Run]) -> TwinReport:
        return grading.judge_twin(twin, of, runs, len(self._cpus), self._is_x86)

    def _run(
        self, scenario: Scenario, build: Build, chance: int = 0, seconds: float | None = None
    ) -> Run:
        """Run one build at all places, and add the histograms up."""
        self._progress(f"{build.twin or scenario.name} {build.name}", self._done, self._total)
        self._done += 0 if chance else 1
        budget = self._options.budget_s(build.twin) if seconds is None else seconds
        program = str(self._programs[scenario.file, build])
        parts = []
        for place in self._places:
            identity = f"{self._seed}:{scenario.name}:{build}:{place.name}:{chance}"
            command = [
                *scenarios.runner(build.sanitizer), program, "--run", scenario.name,
                "--seconds", f"{budget / len(self._places):.6f}",
                "--seed", str(zlib.crc32(identity.encode())),
            ]  # fmt: skip
            if budget and (build.twin or scenario.has_required):
                wanted = scenario.min_samples // (len(self._places) * len(self._options.opt)) + 1
                command += ["--sample-min", str(wanted)]
            if place.cpus:
                command += ["--cpus", ",".join(map(str, place.cpus[: scenario.actors]))]
            if self._options.stride:
                command += ["--stride", str(self._options.stride)]
            parts.append(measure(self._children, command, 30 + 12 * budget))
            if is_spent(parts, budget):
                break
        return add_up(build, parts)


def _plain_of(run: Run) -> list[Any]:
    return [run.build, run.judge, run.samples, run.asleep, run.asleep_changed, run.histogram]


def _run_of(
    build: str, judge: str, samples: int, asleep: int, changed: int, histogram: dict[str, int]
) -> Run:
    return Run(build, judge, samples, 0.0, asleep, changed, (), (), "", histogram)


def _machine() -> str:
    """Return the machine that runs the programs: this one, or an emulator."""
    return " ".join(scenarios.runner(None)) or platform.machine()
