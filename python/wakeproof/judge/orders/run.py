# SPDX-License-Identifier: Apache-2.0
"""The order audit: every labelled site one step weaker, in every scenario that reaches it.

If a scenario fails with the weaker order, that order is *killed*: the order in the source is
needed, and the scenario is the evidence.  If the weaker order survives, the source must use it, or
the site's comment must explain the stronger order by ``kept:``.  Nothing is compiled again: the
explorer takes the order of a site from its command line.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import labels, scenarios, store
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.explore import explorer, tokens
from wakeproof.judge.explore import grading as explore_grading
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.report import Judged
from wakeproof.judge.labels import LabelledSite
from wakeproof.judge.lock import Row
from wakeproof.judge.orders import sites as orders_sites
from wakeproof.judge.orders.report import (
    EXPLAINED,
    KILLED,
    Kill,
    MutantReport,
    OrdersReport,
    Run,
    SiteReport,
    mutant_of,
    plain_of,
)
from wakeproof.judge.orders.sites import ONE_WEAKER, Mutant
from wakeproof.judge.process import Children
from wakeproof.judge.replay.run import sources_hash
from wakeproof.judge.scenarios import Scenario
from wakeproof.judge.store import Inputs
from wakeproof.judge.stress.grading import VIOLATED
from wakeproof.judge.verdicts import Rows

Progress = Callable[[str, int, int], None]
"""Called with the current run, the steps done, and the steps in all."""

SECONDS, LOOP_BOUND, BYTES = 10.0, 4, 1 << 30
GOOD = (KILLED, EXPLAINED)
_ENGINES = {Model.TSO: "states", Model.RC11: "graphs", Model.SC: "states"}
_In = TypeVar("_In")
_Out = TypeVar("_Out")


def orders(
    files: Iterable[Path] | None = None,
    regex: str | None = None,
    *,
    seconds: float = SECONDS,
    jobs: int = 1,
    save: Path | None = None,
    progress: Progress | None = None,
    rows: Rows | None = None,
) -> OrdersReport:
    """Audit the sites of ``kernel/`` with the project's scenarios, or of `files` with their own.

    `regex` selects labels; `seconds` limits each run; the executions that kill are written to
    `save`.  `rows`: sites with a row there are not judged again, and the others get one.

    Raises:
        UsageError: no such label, a bad number, a file that cannot be read or does not compile.
        MissingToolError: no C compiler.
    """
    if jobs < 1:
        raise UsageError(f"jobs is {jobs}; allowed: 1 or more")
    options = ExploreOptions(loop_bound=LOOP_BOUND, seconds=seconds, max_bytes=BYTES).checked()
    given = scenarios.find(files)
    sources = labels.kernel_files(locations.sources()) if files is None else given
    chosen = orders_sites.selected([site for file in sources for site in labels.sites(file)], regex)
    with Children() as children:
        return _Audit(children, options, jobs, save, progress, rows).report(given, chosen)


@dataclass(frozen=True)
class _Baseline:
    """A scenario as it is, under one model: the sites that it reaches, and its cost."""

    scenario: Scenario
    model: Model
    judged: Judged | None  # None: it gave no verdict
    error: str

    @property
    def cost(self) -> tuple[bool, int, float]:
        """Return the sort key of a mutant's runs: exhaustive, then TSO, then quick ones first."""
        assert self.judged is not None
        result = self.judged.result
        return not result.exhaustive, tuple(Model).index(self.model), result.seconds

    def comes_to(self, site: LabelledSite) -> bool:
        """Return whether an actor of the scenario reaches `site`."""
        assert self.judged is not None
        return any(
            at.file == site.file and site.first <= at.line <= site.last
            for at in self.judged.result.sites
        )


class _Audit:
    def __init__(
        self,
        children: Children,
        options: ExploreOptions,
        jobs: int,
        save: Path | None,
        progress: Progress | None,
        rows: Rows | None,
    ) -> None:
        self._children, self._options, self._jobs, self._save = children, options, jobs, save
        self._rows = rows
        self._progress = progress or (lambda _what, _done, _total: None)
        self._builder = Builder(children)
        self._programs: dict[Path, Path] = {}  # by scenario file
        self._identities: list[str] = []  # of these programs
        self._lock = threading.Lock()
        self._done = self._total = self._runs = 0
        self._labels = labels.Labels()
        self._usable: list[_Baseline] = []

    def report(self, files: list[Path], sites: Sequence[LabelledSite]) -> OrdersReport:
        started = time.monotonic()
        self._labels = labels.read(locations.sources(), files)
        known = self._reports(files, sites, self._rows.find) if self._rows else {}
        mutants = [
            Mutant(site, weaker)
            for site in sites if site.label not in known
            for weaker in ONE_WEAKER[site.order]
        ]  # fmt: skip
        again = [site for site in sites if site.label not in known and ONE_WEAKER[site.order]]
        locked = self._reports(files, again, self._rows.locked) if self._rows else {}
        runs = _runs(locked.values()) if len(locked) == len(again) else None
        baselines = self._baselines(files, mutants, runs) if mutants else []
        broken = [b for b in baselines if b.error]
        self._usable = [b for b in baselines if not b.error]
        self._done, self._total = 0, len(mutants)
        judged = dict(zip(mutants, self._each(self._mutant, mutants), strict=True))
        reports = tuple(
            _report(
                site,
                known[site.label] if site.label in known
                else tuple(judged[Mutant(site, weaker)] for weaker in ONE_WEAKER[site.order]),
            )
            for site in sites
        )  # fmt: skip
        self._add(files, [r for r in reports if r.label not in known], is_whole=not broken)
        unusable = tuple(f"{b.scenario.name} {b.model.label}: {b.error}" for b in broken)
        return OrdersReport(reports, unusable, self._runs, time.monotonic() - started)

    def _reports(
        self,
        files: list[Path],
        sites: Sequence[LabelledSite],
        find: Callable[[str, str, Inputs], Row | None],
    ) -> dict[str, tuple[MutantReport, ...]]:
        """Return by label the good reports that `find` finds."""
        found = {}
        for site in sites:
            inputs = self._inputs(files, site.label, site.file, site.order, site.kept)
            row = find("orders", site.label, inputs)
            known = tuple(mutant_of(one) for one in row.detail) if row else ()
            if known and _report(site, known).status in GOOD:
                found[site.label] = known
        return found

    def _add(self, files: list[Path], reports: Sequence[SiteReport], *, is_whole: bool) -> None:
        """Add a row for each site that was judged now; `is_whole`: by every scenario."""
        for site in reports:
            if self._rows is not None and site.mutants:
                self._rows.judged(
                    "orders", site.label,
                    self._inputs(files, site.label, site.file, site.order, site.kept), site.status,
                    {mutant.weaker: bool(mutant.kill) for mutant in site.mutants},
                    [plain_of(mutant) for mutant in site.mutants],
                    holds=is_whole and site.status in GOOD,
                )  # fmt: skip

    def _inputs(self, files: list[Path], *site: str) -> Inputs:
        """Return the inputs of a verdict on a site: all scenarios, as any may reach the site."""
        if not self._identities:
            build = Build(kind="explored")
            self._identities = [self._builder.identity(file, build) for file in files]
        return {
            "programs": " ".join(self._identities),
            "site": " ".join(site),
            "options": " ".join(self._options.arguments()),
            "code": store.code_hash("orders/run.py"),
        }

    def _baselines(
        self, files: list[Path], mutants: Sequence[Mutant], runs: set[tuple[str, Model]] | None
    ) -> list[_Baseline]:
        """Run every scenario as it is, under each model that some mutant needs.

        `runs`: of these scenarios, each under its model, and of no other.  The lock records them:
        on the same inputs no other scenario reaches a site.
        """
        self._progress("compiling", 0, 0)

        def listed(file: Path) -> list[Scenario]:
            build = Build(kind="explored")
            self._programs[file] = self._builder.program(file, build)
            return scenarios.declared(file, self._builder, self._children, build)[0]

        every = [scenario for listing in self._each(listed, files) for scenario in listing]
        models = {model for mutant in mutants for model in mutant.models}
        wanted = [
            (s, model) for s in every for model in Model
            if model in models and (runs is None or (s.name, model) in runs)
        ]  # fmt: skip
        self._done, self._total = 0, len(wanted)
        return self._each(self._baseline, wanted)

    def _baseline(self, wanted: tuple[Scenario, Model]) -> _Baseline:
        scenario, model = wanted
        self._progress(f"{scenario.name} {model.label} as it is", self._done, self._total)
        judged, error = self._explore(scenario, model, ())
        with self._lock:
            self._done += 1
        if judged is not None and judged.status == VIOLATED:
            error = f"does not hold as it is: {'; '.join(judged.messages)}"
        return _Baseline(scenario, model, judged, error)

    def _mutant(self, mutant: Mutant) -> MutantReport:
        """Run the scenarios that reach the site until one of them fails."""
        name = f"{mutant.site.label} {mutant.weaker}"
        runs: list[Run] = []
        kill = None
        here = [b for b in self._usable if b.model in mutant.models and b.comes_to(mutant.site)]
        for baseline in sorted(here, key=lambda b: b.cost):
            scenario, model = baseline.scenario, baseline.model
            self._progress(f"{name}: {scenario.name} {model.label}", self._done, self._total)
            judged, error = self._explore(scenario, model, mutant.overrides)
            if judged is None:
                runs.append(Run(scenario.name, model, f"error: {error}", 0, 0.0))
                continue
            if judged.worst is not None:
                kill = self._kill(baseline, judged, mutant)
                break
            result = judged.result
            runs.append(Run(
                scenario.name, model, result.coverage, result.executions, result.seconds
            ))  # fmt: skip
        with self._lock:
            self._done += 1
        return MutantReport(mutant.weaker, kill, tuple(runs))

    def _explore(
        self, scenario: Scenario, model: Model, overrides: tuple[tuple[str, int, str], ...]
    ) -> tuple[Judged | None, str]:
        """Explore a scenario with other orders.  None: no verdict, and why."""
        options = replace(self._options, models=(model,), engine=_ENGINES[model], orders=overrides)
        program = self._programs[scenario.file]
        with self._lock:
            self._runs += 1
        try:
            [result] = explorer.run_test(
                self._children, program, scenario.name, options, sites=not overrides
            )
        except JudgeError as error:
            return None, str(error)
        if result.error:
            return None, result.error
        [judged] = explore_grading.judge_scenario(scenario, [result], self._labels).judged
        return judged, ""

    def _kill(self, baseline: _Baseline, judged: Judged, mutant: Mutant) -> Kill:
        scenario, worst = baseline.scenario, judged.worst
        assert worst is not None
        assert baseline.judged is not None
        options = replace(
            self._options, models=(judged.model,), engine=judged.result.engine,
            orders=mutant.overrides,
        )  # fmt: skip
        token = tokens.make(
            scenario.file, scenario.name, "", judged.model, judged.result.engine, options,
            worst.found, sources_hash(self._builder, scenario.file),
        )  # fmt: skip
        saved = tokens.save(token, worst.found, self._save) if self._save else None
        return Kill(
            scenario.name, judged.model, worst.found.text, worst.found.verdict, worst.reason,
            judged.broken_at, token.text, saved, baseline.judged.result.coverage,
        )  # fmt: skip

    def _each(self, work: Callable[[_In], _Out], items: Sequence[_In]) -> list[_Out]:
        """Return the work's results, `jobs` at a time."""
        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                return list(pool.map(work, items))
            except BaseException:  # Ctrl-C, or a file that does not compile: the rest is given up
                self._children.kill_all()
                raise


def _runs(reports: Iterable[tuple[MutantReport, ...]]) -> set[tuple[str, Model]]:
    """Return each scenario and model by which these reports judged a mutant."""
    judged = (one for report in reports for mutant in report for one in (*mutant.runs, mutant.kill))
    return {(one.scenario, one.model) for one in judged if one}


def _report(site: LabelledSite, mutants: tuple[MutantReport, ...]) -> SiteReport:
    return SiteReport(site.label, site.file, site.first, site.order, site.kept, mutants)
