# SPDX-License-Identifier: Apache-2.0
"""Runs compiled scenarios and twins under each model, several at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from wakeproof.errors import JudgeError
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.explore import explorer
from wakeproof.judge.explore import grading as explore_grading
from wakeproof.judge.explore.options import ENUMERATED, JOBS, ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.process import Children
from wakeproof.judge.scenarios import Scenario, Twin

LOOPS = "loops without a shared operation"  # stress/explorer/compiled_run.c

ENGINE_OF = {Model.RC11: "graphs", Model.ARMV8: ENUMERATED}
"""The models with one engine."""

Progress = Callable[[str, int, int], None]
"""Called with the current run, the steps done, and the steps in all."""


@dataclass(frozen=True)
class Task:
    """One run of the explorer: a scenario, or a twin of it, under one model."""

    scenario: Scenario
    model: Model
    betrays: Twin | None = None

    @property
    def twin(self) -> str | None:
        """Return the twin's name."""
        return self.betrays.name if self.betrays else None

    @property
    def name(self) -> str:
        """Return its name in the progress line: ``guard_no_fence RC11``."""
        return f"{self.twin or self.scenario.name} {self.model.label}"

    def is_betrayed(self, result: Result) -> bool:
        """Return whether an incomplete run shows the twin's defect."""
        twin = self.betrays
        return (
            twin is not None
            and not result.exhaustive
            and any(explore_grading.betrays(twin, self.scenario, f) for f in result.outcomes)
        )


Judged = Callable[[Task, list[Result]], None]
"""Called with the first of the runs of a scenario or twin when all its models are explored."""


class Tasks:
    """The runs of one job: each scenario and each twin goes through its models in one thread."""

    def __init__(
        self,
        options: ExploreOptions,
        children: Children,
        builder: Builder,
        progress: Progress,
        judged: Judged,
    ) -> None:
        self._options, self._children, self._builder = options, children, builder
        self._progress, self._judged = progress, judged
        self._lock = threading.Lock()
        self._done = self._total = 0
        self._each = 1  # processes of each run

    def run(self, tasks: list[Task], jobs: int) -> dict[Task, list[Result]]:
        """Run all, `jobs` at once; a run that breaks gives a result with its error.

        Raises:
            UsageError: a twin does not compile.
        """
        self._total = len(tasks)
        sets: dict[object, list[Task]] = {}  # the models of one scenario or twin, smallest first
        for task in tasks:
            sets.setdefault((task.scenario, task.betrays), []).append(task)
        if not self._options.orders:  # only one process reports the sites that it reaches
            self._each = min(JOBS, max(1, jobs // max(1, len(sets))))
        results: dict[Task, list[Result]] = {}
        with ThreadPoolExecutor(jobs) as pool:
            try:
                for found in pool.map(self._run_models, sets.values()):
                    results |= found
            except BaseException:  # Ctrl-C, or a twin that does not compile: the rest is given up
                self._children.kill_all()
                raise
        return results

    def _run_models(self, tasks: list[Task]) -> dict[Task, list[Result]]:
        """Run one scenario or twin under each model.

        An execution under SC is also one under TSO and RC11.  So if a twin is too large to be
        explored completely, and SC shows its defect, TSO and RC11 are not explored.
        """
        found: dict[Task, list[Result]] = {}
        betrayed: Result | None = None
        endless: list[Result] = []  # an actor that loops for ever does so under each model
        self._progress(tasks[0].name, self._done, self._total)
        build = Build(twin=tasks[0].twin, kind="explored")
        program = self._builder.program(tasks[0].scenario.file, build)
        for task in tasks:
            if endless:
                engine = ENGINE_OF.get(task.model, endless[0].engine)
                found[task] = [replace(endless[0], model=task.model, engine=engine)]
            elif betrayed:
                found[task] = [replace(betrayed, model=task.model, stopped="inclusion")]
            else:
                found[task] = self._run(task, program)
                endless = [r for r in found[task] if LOOPS in r.error]
                if task.model is Model.SC:
                    betrayed = next((r for r in found[task] if task.is_betrayed(r)), None)
            with self._lock:
                self._done += 1
        self._judged(tasks[0], [result for task in tasks for result in found[task]])
        return found

    def _run(self, task: Task, program: Path) -> list[Result]:
        self._progress(task.name, self._done, self._total)

        def tick(at: dict[str, float]) -> None:
            self._progress(f"{task.name}: {size_of(at)}", self._done, self._total)

        options = replace(self._options, models=(task.model,), engine=self._engine(task.model),
                          jobs=self._each)  # fmt: skip
        try:
            return explorer.run_test(
                self._children, program, task.scenario.name, options, tick,
                bounded=task.betrays is not None,
            )  # fmt: skip
        except JudgeError as error:
            return [failed(task.name, task.model, str(error))]

    def _engine(self, model: Model) -> str:
        """Return the engine for `model` alone; states are for SC and TSO."""
        engine = self._options.engine
        return ENGINE_OF.get(model, engine) if engine == "both" else engine


def size_of(at: dict[str, float]) -> str:
    """Return a run's progress: ``1,000 executions of about 5,040 (4,000 to 6,000), 20 %, ...``."""
    size = ", ".join(f"{at[key]:,.0f} {key}" for key in ("executions", "states") if at[key])
    about = at.get("estimate")
    if not about:
        return size
    share = max(at["executions"], at["states"]) / about
    left = f", {at['seconds'] * (1 / share - 1):,.0f} s left" if share else ""
    band = f"({at['low']:,.0f} to {at['high']:,.0f})"
    return f"{size} of about {about:,.0f} {band}, {share:.0%}{left}"


def failed(name: str, model: Model, error: str) -> Result:
    """Return the result of a run that failed."""
    return Result(
        name, model, "", 0, (), 0, 0, 0, 0, 0, 0, 0, exhaustive=False, stopped="", error=error,
        seconds=0.0, bytes=0,
    )  # fmt: skip
