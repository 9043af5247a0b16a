# SPDX-License-Identifier: Apache-2.0
"""Explores a program under each model, and gives names to what it finds."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wakeproof.errors import UsageError
from wakeproof.judge.declarations import Scenario, Twin
from wakeproof.judge.explore import explorer, grading
from wakeproof.judge.explore.explorer import Tick
from wakeproof.judge.explore.kept import Keeper
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.report import ScenarioReport, TwinReport
from wakeproof.judge.explore.results import Found, Result
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.explore.tasks import Progress, size_of
from wakeproof.judge.explore.tokens import Token
from wakeproof.judge.labels import Labels
from wakeproof.judge.own import scenarios
from wakeproof.judge.own.build import Builder
from wakeproof.judge.own.program import Program, has_main, is_scenario, of_text
from wakeproof.judge.own.runtime import Runtime
from wakeproof.judge.own.symbols import Symbols
from wakeproof.judge.process import Children
from wakeproof.judge.replay.run import same, selected
from wakeproof.judge.source_texts import digest

TOOL_S = 60.0


def explore(
    children: Children,
    built: Path,
    program: Program,
    options: ExploreOptions,
    tick: Tick | None = None,
    *,
    variables: Sequence[str] = (),
) -> list[Result]:
    """Explore a program that was built, under each model of `options`.

    `variables`: added to the environment, as ``NAME=VALUE``.

    Raises:
        UsageError: the options do not fit, or the program does what is not explored.
        JudgeError: the explorer crashed, or did not keep its limits.
    """
    _check(options)
    added = [*variables, *["WAKEPROOF_VOLATILE=relaxed"] * program.volatile_is_relaxed]
    added += ["WAKEPROOF_MAY_LEAK=1"] * program.may_leak
    command = ["env", *added] if added else []
    results = explorer.run_program(
        children, [*command, str(built), "--test", program.name], built,
        replace(options, engine="graphs", jobs=1), ["--", *program.arguments], tick,
    )  # fmt: skip
    symbols = Symbols(children, built)
    symbols.find_lines(results)
    for result in results:
        if result.error:
            said = symbols.named(result.error)
            raise UsageError(f"{program.files[0]}, {result.model.label}: {said}")
    return [symbols.of_result(result) for result in results]


@dataclass(frozen=True)
class Task:
    """A program to judge: as it is, as a scenario, or as a twin that must betray itself."""

    program: Program
    scenario: Scenario | None = None
    twin: Twin | None = None

    def judge(self, results: Sequence[Result]) -> ScenarioReport | TwinReport:
        """Return the verdict on what was explored."""
        if self.scenario is None:
            return grading.judge_program(str(self.program.files[0]), self.program.name, results)
        if self.twin is None:
            return grading.judge_scenario(self.scenario, results, Labels())
        return grading.judge_twin(self.twin, self.scenario, results, Labels())


def report(
    programs: Sequence[Program],
    options: ExploreOptions | None = None,
    *,
    regex: str | None = None,
    twins: bool = True,
    save: Path | None = None,
    progress: Progress | None = None,
) -> ExploreReport:
    """Explore programs, judge what they do, and keep the counterexamples in the folder `save`.

    A program whose first file declares scenarios stands for all of these, and for their twins.
    `regex` selects programs, scenarios and twins by name.

    Raises:
        UsageError: no program has such a name, one does not compile, or does what is not explored.
    """
    chosen = (options or ExploreOptions()).checked()
    keeper = Keeper(chosen, save, lambda *_: [])
    shows = progress or (lambda _next, _done, _total: None)
    started = time.monotonic()
    reports: list[ScenarioReport] = []
    twin_reports: list[TwinReport] = []
    with Children() as children, tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        shows("compiling", 0, 0)
        runtime = Runtime(children)
        builder = Builder(children, runtime, Path(folder))
        tasks = _tasks(programs, regex, twins, children)
        for at, task in enumerate(tasks):
            program = task.program
            built = builder.program(program)

            def tick(now: dict[str, float], name: str = program.name, at: int = at) -> None:
                shows(f"{name}: {size_of(now)}", at, len(tasks))

            shows(program.name, at, len(tasks))
            judged = task.judge(explore(children, built, program, chosen, tick))
            keeper.keep(
                program.files[0], judged, task.twin, sources_hash(runtime, program), program.text
            )
            if isinstance(judged, TwinReport):
                twin_reports.append(judged)
            else:
                reports.append(judged)
    return ExploreReport(
        tuple(reports), tuple(twin_reports), chosen, tuple(keeper.found),
        time.monotonic() - started, tuple(builder.warnings),
    )  # fmt: skip


def _tasks(
    programs: Sequence[Program], regex: str | None, twins: bool, children: Children
) -> list[Task]:
    """Return what there is to judge, by name."""
    every = []
    for program in programs:
        if has_main(program.files[0]) or not is_scenario(program.files[0]):
            every.append(Task(program))
            continue
        found, defects = scenarios.declared_in(program.files, program.flags, children)
        owners = {scenario.name: scenario for scenario in found}
        every += [Task(scenarios.program(one, None, program), one) for one in found]
        every += [
            Task(scenarios.program(owners[twin.of], twin, program), owners[twin.of], twin)
            for twin in defects * twins
        ]
    kept = selected({task.program.name: "" for task in every}, regex)
    return [
        task for task in every
        if task.program.name in kept or (task.scenario and task.scenario.name in kept)
    ]  # fmt: skip


def sources_hash(runtime: Runtime, program: Program) -> str:
    """Return a hash of everything that is compiled or read for a run."""
    texts = (f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}"
             for file in program.sources)  # fmt: skip
    return digest(runtime.identity(), program.text, *texts)


def replay(token: Token) -> Found:
    """Explore the program of a token once more, and return the token's execution.

    Raises:
        UsageError: a file is gone, or has changed since.
        JudgeError: the sources are the same, but the execution was not found identically.
    """
    program = of_text(token.path, token.program)
    for file in program.files:
        if not file.is_file():
            raise UsageError(f"the token is of {file}, which does not exist")
    with Children() as children, tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        runtime = Runtime(children)
        if sources_hash(runtime, program) != token.sources:
            raise UsageError(
                f"the token was made from other sources of {token.file} or of the explorer: "
                "explore again for a new one"
            )
        built = Builder(children, runtime, Path(folder)).program(program)
        return same(token, explore(children, built, program, token.explore_options()))


def _check(options: ExploreOptions) -> None:
    if options.engine not in ("auto", "graphs"):
        raise UsageError(
            f"engine {options.engine} does not run programs with threads of their own: leave "
            "--engine out, or give graphs"
        )
    if Model.ARMV8 in options.models:
        raise UsageError("model armv8 is of litmus tests as text; a program has sc, tso, rc11")
    if options.failing_heavy:
        raise UsageError("--failing-heavy is of scenarios: membarrier of a program always works")
    if options.orders:
        raise UsageError("--order is of scenarios; change the order in the program itself")
