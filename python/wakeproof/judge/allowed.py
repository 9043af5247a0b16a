# SPDX-License-Identifier: Apache-2.0
"""What real cores showed against what the memory models allow.  Pure: joins two reports.

Source: DESIGN section 5, "the allowed set is computed".  Only a model under which every execution
was explored has an allowed set.
"""

from __future__ import annotations

from dataclasses import dataclass

from wakeproof.judge.explore import ExploreReport
from wakeproof.judge.explore_options import Model
from wakeproof.judge.explore_reports import ScenarioReport as Explored
from wakeproof.judge.grading import Row
from wakeproof.judge.native import StressReport


@dataclass(frozen=True)
class Allowed:
    """One scenario: its outcomes on real cores among those that the models allow."""

    name: str
    seen: tuple[str, ...]
    beyond: tuple[str, ...]  # seen, and no execution under RC11 gives it: a broken judge or machine
    reordered: tuple[str, ...]  # seen and beyond x86-TSO: the compiler; with the builds
    unseen: tuple[str, ...]  # allowed under x86-TSO, not seen in this run
    elsewhere: tuple[str, ...]  # allowed under RC11 alone: not observable on x86


def compare(stress: StressReport, explore: ExploreReport) -> tuple[Allowed, ...]:
    """Return a comparison for each scenario of both reports that RC11 was explored whole for."""
    explored = {(report.file, report.name): report for report in explore.scenarios}
    found = []
    for scenario in stress.scenarios:
        report = explored.get((scenario.file, scenario.name))
        allowed = _sets(report) if report else {}
        if Model.RC11 in allowed:
            rows = [row for row in scenario.rows if row.samples]
            found.append(_compare(scenario.name, rows, allowed))
    return tuple(found)


def _sets(report: Explored) -> dict[Model, frozenset[str]]:
    """Return the outcomes under each model that was explored whole."""
    return {
        judged.model: judged.result.texts
        for judged in report.judged
        if judged.result.exhaustive and not judged.result.error
    }


def _compare(name: str, rows: list[Row], allowed: dict[Model, frozenset[str]]) -> Allowed:
    rc11 = allowed[Model.RC11]
    tso = allowed.get(Model.TSO, rc11)
    seen = {row.outcome: ", ".join(row.builds) for row in rows}
    return Allowed(
        name=name,
        seen=tuple(sorted(seen)),
        beyond=tuple(sorted(set(seen) - rc11 - tso)),
        reordered=tuple(f"{text} ({seen[text]})" for text in sorted(set(seen) & (rc11 - tso))),
        unseen=tuple(sorted(tso - set(seen))),
        elsewhere=tuple(sorted(rc11 - tso - set(seen))),
    )
