# SPDX-License-Identifier: Apache-2.0
"""One report on the samples of several seeds, each of which was a run of its own.

Results merge by content: an outcome is its text and its verdict.  Counts add up, the shortest
execution stays, and with it the token that finds it again.  What all seeds have shown is graded
anew, so a twin that must show its defect may show it under any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import labels
from wakeproof.judge.declarations import Scenario, Twin
from wakeproof.judge.explore import grading
from wakeproof.judge.explore.kept import Counterexample
from wakeproof.judge.explore.options import ExploreOptions
from wakeproof.judge.explore.report import ScenarioReport, TwinReport
from wakeproof.judge.explore.results import Found, Result
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.labels import Labels
from wakeproof.judge.own import scenarios
from wakeproof.judge.own.program import Program, has_main, is_scenario
from wakeproof.judge.process import Children

Grades = Mapping[str, Callable[[Sequence[Result]], ScenarioReport | TwinReport]]
"""How what is declared is judged, by name; a program without declarations is not in it."""


def options(one: ExploreOptions, seeds: int) -> list[ExploreOptions]:
    """Return the options of each seed, from that of `one` on.

    Raises:
        UsageError: there are no samples, or a value is not allowed.
    """
    if seeds < 1:
        raise UsageError(f"--seeds is {seeds}; allowed: 1 or more")
    if seeds > 1 and not one.sample:
        raise UsageError("--seeds needs --sample: without it all executions are explored at once")
    return [replace(one, seed=one.seed + at).checked() for at in range(seeds)]


def declared(every: Sequence[Scenario], twins: Sequence[Twin]) -> Grades:
    """Return how scenarios and twins are graded."""
    return _grades(every, twins, labels.read(locations.sources()))


def declared_by(programs: Sequence[Program], children: Children) -> Grades:
    """Return how those scenarios and twins are graded that are explored as programs."""
    found: dict[str, Callable[[Sequence[Result]], ScenarioReport | TwinReport]] = {}
    for one in programs:
        if is_scenario(one.files[0]) and not has_main(one.files[0]):
            found |= _grades(*scenarios.declared_in(one.files, one.flags, children), Labels())
    return found


def _grades(every: Sequence[Scenario], twins: Sequence[Twin], known: Labels) -> Grades:
    owners = {(one.file, one.name): one for one in every}
    return {
        one.name: lambda results, one=one: grading.judge_scenario(one, results, known)
        for one in every
    } | {
        twin.name: lambda results, twin=twin: grading.judge_twin(
            twin, owners[twin.file, twin.of], results, known
        )
        for twin in twins
    }


def merged(whole: ExploreReport, grades: Grades) -> ExploreReport:
    """Return a report in which each name stands once, of one in which it stands once for a seed."""
    reports: dict[str, list[ScenarioReport | TwinReport]] = {}
    every: tuple[ScenarioReport | TwinReport, ...] = (*whole.scenarios, *whole.twins)
    for one in every:
        reports.setdefault(one.name, []).append(one)
    judged: list[ScenarioReport | TwinReport] = []
    for name, found in reports.items():
        results = together([j.result for report in found for j in report.judged])
        graded = grades.get(name)
        judged.append(
            graded(results) if graded else grading.judge_program(found[0].file, name, results)
        )
    kept: dict[tuple[str, str, str, str], Counterexample] = {}
    for example in whole.counterexamples:
        token = example.token
        key = (token.name, token.twin, token.model, token.engine)
        if key not in kept or len(example.found.example) < len(kept[key].found.example):
            kept[key] = example
    return replace(
        whole,
        scenarios=tuple(one for one in judged if isinstance(one, ScenarioReport)),
        twins=tuple(one for one in judged if isinstance(one, TwinReport)),
        counterexamples=tuple(kept.values()),
    )


def together(results: Sequence[Result]) -> list[Result]:
    """Return one result for each model and engine."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        groups.setdefault((one.model.value, one.engine), []).append(one)
    return [_one(group) for group in groups.values()]


def _one(group: list[Result]) -> Result:
    outcomes: dict[tuple[str, str], Found] = {}
    for found in (found for result in group for found in result.outcomes):
        key = (found.text, found.verdict)
        before = outcomes.get(key)
        if before is None:
            outcomes[key] = found
            continue
        count = before.count + found.count
        is_shorter = bool(found.example) and not 0 < len(before.example) <= len(found.example)
        outcomes[key] = replace(found if is_shorter else before, count=count)

    def total(name: str) -> int:
        return sum(getattr(one, name) for one in group)

    stopped = [one.stopped for one in group]
    return replace(
        group[0], outcomes=tuple(outcomes.values()),
        executions=total("executions"), blocked=total("blocked"), bounded=total("bounded"),
        duplicates=total("duplicates"), states=total("states"), edges=total("edges"),
        depth=max(one.depth for one in group), exhaustive=any(one.exhaustive for one in group),
        stopped=next((why for why in stopped if why != "inclusion"), stopped[0]),
        error=next((one.error for one in group if one.error), ""),
        seconds=sum(one.seconds for one in group), bytes=max(one.bytes for one in group),
        cpu_seconds=sum(one.cpu_seconds for one in group),
        pct_bound=min(one.pct_bound for one in group), pct_samples=total("pct_samples"),
    )  # fmt: skip
