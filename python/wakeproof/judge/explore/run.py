# SPDX-License-Identifier: Apache-2.0
"""The judge `explore`: every interleaving and reordering of scenarios, twins and small programs.

Source: docs/inside/explorer.md.  The explorer itself is ``stress/explorer``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import labels, scenarios, store
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.explore import explorer
from wakeproof.judge.explore import grading as explore_grading
from wakeproof.judge.explore import stored as explore_stored
from wakeproof.judge.explore.kept import Counterexample, Keeper
from wakeproof.judge.explore.names import Namer, distinct
from wakeproof.judge.explore.options import JOBS, ExploreOptions
from wakeproof.judge.explore.report import ScenarioReport, TwinReport
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.tasks import Progress, Task, Tasks
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children
from wakeproof.judge.replay.run import check_kind, programs_in, selected, sources_hash
from wakeproof.judge.scenarios import Scenario, Selection, Twin
from wakeproof.judge.stress.grading import HELD, NOT_JUDGED, VIOLATED
from wakeproof.judge.verdicts import Rows


@dataclass(frozen=True)
class ExploreReport:
    """All verdicts of one job, and the options of the job."""

    scenarios: tuple[ScenarioReport, ...]
    twins: tuple[TwinReport, ...]
    options: ExploreOptions
    counterexamples: tuple[Counterexample, ...]
    seconds: float
    warnings: tuple[str, ...] = ()  # of the compiler, about scenario files

    @property
    def every(self) -> tuple[ScenarioReport | TwinReport, ...]:
        """Return the reports on scenarios, programs and twins."""
        return (*self.scenarios, *self.twins)

    @property
    def statuses(self) -> dict[str, str]:
        """Return the status of each scenario, program and twin by name."""
        return {report.name: report.status for report in self.every}

    @property
    def violated(self) -> bool:
        """Return whether something failed."""
        return VIOLATED in self.statuses.values()

    @property
    def not_judged(self) -> tuple[str, ...]:
        """Return the names without a verdict; a missing verdict never counts as a pass."""
        return tuple(name for name, s in self.statuses.items() if s == NOT_JUDGED)

    @property
    def in_part(self) -> tuple[str, ...]:
        """Return the names of scenarios and twins that held, and were explored only in part."""
        return tuple(report.name for report in self.scenarios if report.is_part)

    def beside(self, other: ExploreReport) -> ExploreReport:
        """Return both reports as one."""
        return replace(
            other, scenarios=self.scenarios + other.scenarios,
            counterexamples=self.counterexamples + other.counterexamples,
            seconds=self.seconds + other.seconds, warnings=self.warnings + other.warnings,
        )  # fmt: skip

    def ok(self, strict: bool = False) -> bool:
        """Return whether all held; `strict`: and all were judged, and explored whole."""
        return not self.violated and not (strict and (self.not_judged or self.in_part))


def explore(
    files: Iterable[Path] | None = None,
    regex: str | None = None,
    options: ExploreOptions | None = None,
    *,
    twins: bool = True,
    jobs: int = 1,
    save: Path | None = None,
    progress: Progress | None = None,
    rows: Rows | None = None,
) -> ExploreReport:
    """Explore scenario files (.c; the project's own if None) and programs (any other file).

    Counterexamples are saved to the folder `save`, unless it is None.  `rows`: scenarios and twins
    with a row there are not explored again, and the others get one.

    Raises:
        UsageError: a bad option, an unknown name, a file that cannot be read or does not compile.
        MissingToolError: no C compiler.
    """
    chosen = (options or ExploreOptions()).checked()
    if jobs < 1:
        raise UsageError(f"jobs is {jobs}; allowed: 1 or more")
    finder(regex)  # reports a wrong expression before minutes of compiling
    with Children() as children:
        job = _Job(chosen, children, jobs, save, progress, rows)
        return job.report(files, regex, twins)


class _Job:
    def __init__(
        self,
        options: ExploreOptions,
        children: Children,
        jobs: int,
        save: Path | None,
        progress: Progress | None,
        rows: Rows | None,
    ) -> None:
        self._options, self._children, self._jobs = options, children, jobs
        self._rows = rows
        self._progress = progress or (lambda _next, _done, _total: None)
        self._builder = Builder(children)
        self._labels = labels.read(locations.sources())
        self._namer = Namer(children)
        self._twin_programs: dict[Twin, Path] = {}
        self._keeper = Keeper(options, save, self._again)

    def report(self, files: Iterable[Path] | None, regex: str | None, twins: bool) -> ExploreReport:
        started = time.monotonic()
        given = None if files is None else scenarios.find(files)
        texts = [file for file in given or () if file.suffix != ".c"]
        for file in texts:
            check_kind(file)
        code = None if given is None else [file for file in given if file.suffix == ".c"]
        judged = self._programs(texts, regex) if texts else ()
        twin_reports: tuple[TwinReport, ...] = ()
        if code is None or code:
            found, twin_reports = self._scenarios(scenarios.find(code), regex, twins)
            self._check_orders([*found, *twin_reports])
            judged += found
        return ExploreReport(
            judged, twin_reports, self._options, tuple(self._keeper.found),
            time.monotonic() - started, self._builder.warnings,
        )  # fmt: skip

    def _check_orders(self, reports: list[ScenarioReport | TwinReport]) -> None:
        """Refuse an order for a place at which no thread reached an operation."""
        results = [judged.result for report in reports for judged in report.judged]
        if any(result.error for result in results):
            return
        met = {(site.file, site.line) for result in results for site in result.sites}
        for file, line, order in self._options.orders:
            if (file, line) not in met:
                known = ", ".join(sorted(f"{f}:{at}" for f, at in met if f == file))
                raise UsageError(
                    f"--order {file}:{line}={order}: no access at this place was explored"
                    + (f"; there is {known}" if known else f"; files: {_files(met)}")
                )

    def _programs(self, files: list[Path], regex: str | None) -> tuple[ScenarioReport, ...]:
        """Explore each program of each file; `regex` finds programs by name."""
        self._progress("compiling", 0, 0)
        program = self._builder.explorer()
        reports: list[ScenarioReport] = []
        for file in files:
            programs = selected(programs_in(file), regex)
            self._progress(file.name, 0, 0)
            results = explorer.run_programs(
                self._children, program, list(programs.values()),
                replace(self._options, jobs=min(JOBS, self._jobs)),
            )  # fmt: skip
            unread = next((r for r in results if r.error and not r.threads), None)
            if unread:
                raise UsageError(f"{file}: {unread.program}: {unread.error}")
            each = len(results) // len(programs)
            for at, (name, text) in enumerate(programs.items()):
                own = [
                    self._shown(file, name, text, None, result)
                    for result in results[at * each : (at + 1) * each]
                ]
                judged = explore_grading.judge_program(str(file), name, own)
                self._keeper.keep(file, judged, None, sources_hash(self._builder, None, text))
                reports.append(judged)
        return tuple(reports)

    def _scenarios(
        self, files: list[Path], regex: str | None, with_twins: bool
    ) -> tuple[tuple[ScenarioReport, ...], tuple[TwinReport, ...]]:
        every, selection = self._select(files, regex, with_twins)
        owners = [selection.scenario_of(twin, every) for twin in selection.twins]
        wanted: list[tuple[Scenario, Twin | None]] = [(s, None) for s in selection.scenarios]
        wanted += zip(owners, selection.twins, strict=True)
        results: dict[Task, list[Result]] = {}
        tasks: list[Task] = []
        for of, twin in wanted:
            known = self._known(of, twin)
            own = [Task(of, model, twin) for model in self._options.models]
            results |= {t: [r for r in known if r.model is t.model] for t in own if known}
            tasks += () if known else own
        run = Tasks(self._options, self._children, self._builder, self._progress, self._judged)
        results |= run.run(tasks, self._jobs) if tasks else {}
        judged = tuple(self._scenario(s, results) for s in selection.scenarios)
        twins = tuple(
            self._twin(twin, owner, results)
            for twin, owner in zip(selection.twins, owners, strict=True)
        )
        return judged, twins

    def _known(self, of: Scenario, twin: Twin | None) -> list[Result]:
        """Return the kept results of a scenario or twin, without executions; [] if none."""
        name = (twin or of).name
        row = self._rows and self._rows.find("explore", name, self._inputs(of, twin))
        known = explore_stored.of_plain(of.name, row.counts, row.detail) if row else []
        return known if known and self._status(of, twin, known) == HELD else []

    def _judged(self, task: Task, results: list[Result]) -> None:
        """Add a row."""
        of, twin = task.scenario, task.betrays
        if self._rows is None:
            return
        status = self._status(of, twin, results)
        self._rows.judged(
            "explore", (twin or of).name, self._inputs(of, twin), status,
            *explore_stored.to_plain(results), holds=status == HELD,
        )  # fmt: skip

    def _status(self, of: Scenario, twin: Twin | None, results: list[Result]) -> str:
        if twin:
            return explore_grading.judge_twin(twin, of, results, self._labels).status
        return explore_grading.judge_scenario(of, results, self._labels).status

    def _inputs(self, of: Scenario, twin: Twin | None) -> dict[str, str]:
        """Return the inputs of a verdict on a scenario or twin."""
        build = Build(twin=twin.name if twin else None, kind="explored")
        return {
            "program": self._builder.identity(of.file, build),
            "test": f"explore {of.name}",
            "options": " ".join(self._options.arguments()),
            "code": store.code_hash("explore/tasks.py", "explore/stored.py"),
        }

    def _select(
        self, files: list[Path], regex: str | None, with_twins: bool
    ) -> tuple[list[Scenario], Selection]:
        self._progress("compiling", 0, 0)

        def listed(file: Path) -> tuple[list[Scenario], list[Twin]]:
            return scenarios.declared(file, self._builder, self._children, Build(kind="explored"))

        with ThreadPoolExecutor(2) as pool:
            listings = list(pool.map(listed, files))
        every = [scenario for listing, _ in listings for scenario in listing]
        twins = [twin for _, listing in listings for twin in listing]
        return every, scenarios.select(every, twins, regex, with_twins)

    def _scenario(self, of: Scenario, results: dict[Task, list[Result]]) -> ScenarioReport:
        own = [
            self._shown(of.file, of.name, "", of, result)
            for model in self._options.models
            for result in results[Task(of, model)]
        ]
        report = explore_grading.judge_scenario(of, own, self._labels)
        self._keeper.keep(of.file, report, None, sources_hash(self._builder, of.file))
        return report

    def _twin(self, twin: Twin, of: Scenario, results: dict[Task, list[Result]]) -> TwinReport:
        own = [r for model in self._options.models for r in results[Task(of, model, twin)]]
        own = [self._of_twin(twin, result) for result in own]
        report = explore_grading.judge_twin(twin, of, own, self._labels)
        self._keeper.keep(twin.file, report, twin, sources_hash(self._builder, twin.file))
        return report

    def _of_twin(self, twin: Twin, result: Result) -> Result:
        """Return a result of a twin whose outcomes have distinct locations and named actors."""
        if not any(found.example for found in result.outcomes):
            return result
        if twin not in self._twin_programs:  # to find a program costs a quarter of a second
            self._twin_programs[twin] = self._builder.explorer(twin.file, twin.name)
        actors = self._namer.actors(self._twin_programs[twin], result)
        outcomes = tuple(
            replace(distinct(found, {}, result.state_size), actors=actors) if found.example
            else found for found in result.outcomes
        )  # fmt: skip
        return replace(result, outcomes=outcomes)

    def _shown(
        self, file: Path, name: str, text: str, of: Scenario | None, result: Result
    ) -> Result:
        """Return `result` with named bad outcomes, and the smallest example of the worst."""
        if result.error and not text:
            return self._namer.in_error(self._builder.explorer(file), result)
        bad = [found for found in result.outcomes if explore_grading.is_bad(of, found)]
        if not bad:
            return result
        worst = min(bad, key=lambda found: len(found.example) or 1 << 30)
        smaller = self._keeper.smallest(file, name, text, result, worst)[0]
        shown = {id(found): found for found in bad} | {
            id(worst): replace(smaller, count=worst.count)
        }
        if not text:
            program = self._builder.explorer(file)
            shown = {key: self._namer.named(program, result, one) for key, one in shown.items()}
        outcomes = tuple(shown.get(id(found), found) for found in result.outcomes)
        return replace(result, outcomes=outcomes)

    def _again(self, file: Path, name: str, text: str, options: ExploreOptions) -> list[Result]:
        """Explore a scenario, or the program `text`, once more."""
        self._progress(f"{name}: a smaller counterexample", 0, 0)
        program = self._builder.explorer(None if text else file)
        if text:
            return explorer.run_programs(self._children, program, [text], options)
        return explorer.run_test(self._children, program, name, options)


def _files(sites: set[tuple[str, int]]) -> str:
    return ", ".join(sorted({file for file, _ in sites}))
