# SPDX-License-Identifier: Apache-2.0
"""One report on what several runs have shown: samples of seeds, or the parts of one search.

Results merge by content: an outcome is its text and its verdict.  Counts add up.  Of seeds the
shortest execution stays, of parts the one that a search by one process keeps; and with it the token
that finds it again.  What all have shown is graded anew, so a twin that must show its defect may
show it in any of them.
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


def seeds(one: ExploreOptions, number: int) -> list[ExploreOptions]:
    """Return the options of each seed, from that of `one` on.

    Raises:
        UsageError: there are no samples, or a value is not allowed.
    """
    if number < 1:
        raise UsageError(f"--seeds is {number}; allowed: 1 or more")
    if number > 1 and not one.sample:
        raise UsageError("--seeds needs --sample: without it all executions are explored at once")
    return [replace(one, seed=one.seed + at).checked() for at in range(number)]


def parts(one: ExploreOptions, number: int) -> list[ExploreOptions]:
    """Return the options of each part of a search by graphs under the models that `one` has.

    Raises:
        UsageError: these options have no parts, or a value is not allowed.
    """
    return [replace(one, engine="graphs", parts=number, part=at).checked() for at in range(number)]


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


def merged(whole: ExploreReport, grades: Grades, *, of_parts: bool) -> ExploreReport:
    """Return a report in which each name stands once, of one with each of its seeds or parts."""
    reports: dict[str, list[ScenarioReport | TwinReport]] = {}
    for one in whole.every:
        reports.setdefault(one.name, []).append(one)
    judged: list[ScenarioReport | TwinReport] = []
    for name, found in reports.items():
        results = together([j.result for report in found for j in report.judged], of_parts)
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


def together(results: Sequence[Result], of_parts: bool) -> list[Result]:
    """Return one result for each model and engine."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        groups.setdefault((one.model.value, one.engine), []).append(one)
    return [_one(group, of_parts) for group in groups.values()]


def _one(group: list[Result], of_parts: bool) -> Result:
    better = _is_cheaper if of_parts else _is_shorter
    outcomes: dict[tuple[str, str], Found] = {}
    for found in (found for result in group for found in result.outcomes):
        key = (found.text, found.verdict)
        before = outcomes.get(key, found)
        outcomes[key] = replace(
            found if better(found, before) else before,
            count=found.count + (before.count if key in outcomes else 0),
            first=min(found.first, before.first),
        )
    in_order = sorted(outcomes.values(), key=lambda found: found.first)
    shown = [replace(found, first=0, cost=0, item=0) for found in in_order]

    def total(name: str) -> int:
        return sum(getattr(one, name) for one in group)

    stopped = sorted((one.stopped for one in group), key=_leaves_less_out)
    return replace(
        group[0], outcomes=tuple(shown),
        executions=total("executions"), blocked=total("blocked"), bounded=total("bounded"),
        duplicates=total("duplicates"), states=total("states"), edges=total("edges"),
        depth=max(one.depth for one in group),
        exhaustive=(all if of_parts else any)(one.exhaustive for one in group),
        stopped=stopped[0],
        error=next((one.error for one in group if one.error), ""),
        seconds=sum(one.seconds for one in group), bytes=max(one.bytes for one in group),
        cpu_seconds=sum(one.cpu_seconds for one in group),
        pct_bound=min(one.pct_bound for one in group), pct_samples=total("pct_samples"),
    )  # fmt: skip


def _leaves_less_out(stopped: str) -> int:
    """Order why runs have stopped: a limit is named before a bound, which was asked for."""
    return {"loop_bound": 1, "": 2, "inclusion": 3}.get(stopped, 0)


def _is_shorter(new: Found, old: Found) -> bool:
    return bool(new.example) and not 0 < len(old.example) <= len(new.example)


def _is_cheaper(new: Found, old: Found) -> bool:
    return (new.cost, new.item) < (old.cost, old.item)
