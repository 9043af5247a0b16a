# SPDX-License-Identifier: Apache-2.0
"""Tests made from TLC's graph: paths that take every edge of a spec, followed by the compiled code.

The schedule of each path is planned on the code's own graph; then the code runs along it natively,
with real memory, and is compared with the spec after each step.  A twin of the code, and a twin of
the spec, must fail in some path.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from wakeproof.errors import UsageError
from wakeproof.judge import scenarios
from wakeproof.judge.conform import code as conform_code
from wakeproof.judge.conform.bisimulation_graph import INVISIBLE, Graph
from wakeproof.judge.conform.concept import HIDDEN, Concept
from wakeproof.judge.conform.fused_steps import join_options
from wakeproof.judge.conform.graphs import code_side, spec_side
from wakeproof.judge.conform.maps import CONCEPTS
from wakeproof.judge.conform.run import Judge
from wakeproof.judge.names import finder
from wakeproof.judge.paths import native as paths_native
from wakeproof.judge.paths.check import Failure, Follower, Schedule, orders, schedule
from wakeproof.judge.paths.native import FollowBuilder, Run
from wakeproof.judge.paths.plan import Plan, Planner
from wakeproof.judge.paths.tour import tour
from wakeproof.judge.process import Children
from wakeproof.judge.results import Results, gathered


@dataclass(frozen=True)
class PathsResult:
    """The paths of one concept; with a twin, at least one path must fail."""

    concept: Concept
    twin: str  # "" | "spec: clear_first" | "code: mpsc_ignores_hostage"
    paths: int
    steps: int  # of the spec
    edges: int  # of the spec, each taken
    taken: int  # steps of the code
    failures: tuple[Failure, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Return whether every path was followed; for a twin, whether some path was not."""
        return bool(self.failures) == bool(self.twin)


class PathsReport(Results[PathsResult]):
    """All concepts of a job."""


Progress = Callable[[PathsResult], None]


def paths(
    pattern: str | None = None,
    *,
    twins: bool = True,
    progress: Progress | None = None,
) -> PathsReport:
    """Follow the paths of the concepts with a name that matches `pattern`, and of their twins.

    Raises:
        UsageError: nothing matches, or a scenario does not compile.
        JudgeError: TLC, the explorer or the code gave no answer.
        MissingToolError: no Java, no TLC or no C compiler.
    """
    is_named = finder(pattern)
    known = [c for c in CONCEPTS if c.has_paths]
    chosen = [c for c in known if is_named(c.name)]
    if not chosen:
        raise UsageError(
            f"-t {pattern!r} matches no concept; there are {', '.join(c.name for c in known)}"
        )
    with Children() as children:
        judge = Judge(children)
        results = (
            result
            for concept in chosen
            for result in _Paths(judge, concept).results(twins=twins)
        )  # fmt: skip
        return PathsReport(*gathered(results, progress))


@dataclass(frozen=True)
class _Tests:
    """The tests of a spec: paths, and a schedule of the code for each."""

    spec: Graph
    paths: list[list[int]]
    plans: list[Plan]
    schedules: list[Schedule]


def built(concept: Concept) -> list[str]:
    """Return the twins with their own code; a weaker order would show nothing in such a run."""
    return [twin for twin in concept.code_twins if "=" not in twin]


Names = Mapping[tuple[str, int], str]
"""The names of sites, by file and line."""


class _Paths:
    """One concept."""

    def __init__(self, judge: Judge, concept: Concept) -> None:
        self.judge, self.concept = judge, concept
        self.builder = FollowBuilder(judge.children)
        self.scenario = scenarios.of_concept("conform", concept.scenario, judge.sources)
        self.dump = judge.code(concept, None)
        self.numbers = {HIDDEN: INVISIBLE}
        self.code, self.states = code_side(concept, self.dump, self.numbers)

    def results(self, *, twins: bool) -> Iterator[PathsResult]:
        """Follow the spec's paths, then those of its twin; the code's twins follow the first."""
        concept = self.concept
        tests = self._tests("")
        yield self._result(tests, "", None)
        for twin in built(concept) if twins else ():
            yield self._result(tests, f"code: {twin}", twin)
        if twins and concept.spec_twin:
            yield self._result(self._tests(concept.spec_twin), f"spec: {concept.spec_twin}", None)

    def _tests(self, spec_twin: str) -> _Tests:
        graph, actions = self.judge.spec(self.concept, spec_twin)
        spec = spec_side(self.concept, graph, actions, self.numbers)
        paths = tour(spec)
        planner = Planner(spec, self.code)
        plans = [planner.plan(path) for path in paths]
        schedules = [schedule(self.dump, self.code, self.states, plan) for plan in plans]
        return _Tests(spec, paths, plans, schedules)

    def _result(self, tests: _Tests, twin: str, code_twin: str | None) -> PathsResult:
        begin = time.monotonic()
        failures = []
        kernel = self.judge.sources / "kernel"
        names = conform_code.site_names(self.judge.labels, kernel, self.scenario, code_twin)
        for number, run in enumerate(self._runs(tests, code_twin, names)):
            failure = self._failure(tests, number, run, names)
            failures += [failure] if failure else []
            if failure and twin:  # one is enough
                break
        return PathsResult(
            self.concept, twin, len(tests.paths), sum(map(len, tests.paths)),
            len(tests.spec.label), sum(len(one.edges) for one in tests.schedules),
            tuple(failures), time.monotonic() - begin,
        )  # fmt: skip

    def _runs(self, tests: _Tests, code_twin: str | None, names: Names) -> list[Run]:
        program = self.builder.follower(self.scenario, code_twin)
        options = [*self.concept.flags, *join_options(self.concept.joins, names)]
        what = [orders(self.dump, one.edges) for one in tests.schedules]
        return paths_native.run(self.judge.children, program, self.concept.test, options, what)

    def _failure(self, tests: _Tests, number: int, run: Run, names: Names) -> Failure | None:
        path, plan = tests.paths[number], tests.plans[number]
        labels = {label: name for name, label in self.numbers.items()}
        follower = Follower(self.concept, self.dump, names, tests.spec)
        failure = follower.failure(number + 1, path, tests.schedules[number], run, labels)
        if failure is None and plan.fails_at is not None:
            label = labels[tests.spec.label[path[plan.fails_at]]]
            cannot = f"code cannot; {self._options(plan, labels)}"
            return Failure(number + 1, plan.fails_at + 1, len(path), label, cannot)
        return failure

    def _options(self, plan: Plan, labels: Mapping[int, str]) -> str:
        can = sorted({labels[self.code.label[edge]] or "a hidden step" for edge in plan.options})
        return f"it can {', '.join(can)}" if can else "it has ended"
