# SPDX-License-Identifier: Apache-2.0
"""Explorations for other programs: JUnit XML for CI systems, SARIF for code review."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from wakeproof.judge import junit, sarif
from wakeproof.judge.explore.kept import Counterexample
from wakeproof.judge.explore.report import ScenarioReport, TwinReport
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.junit import Case
from wakeproof.judge.stress.grading import NOT_JUDGED, VIOLATED

ENDS: Final = "Every execution ends, without a race, a crash, a leak or a failed assertion."
"""What is claimed of a program that says nothing itself."""
_LINE: Final = re.compile(r"([\w./+-]+\.\w+):(\d+)")
"""A line in a text: the other access of a race."""


def to_junit(report: ExploreReport, *, strict: bool = False) -> str:
    """Return a case for each scenario, program and twin.

    What was not judged, or held as far as it was explored, is skipped; `strict`: it fails.
    """
    open_status: Literal["failure", "skipped"] = "failure" if strict else "skipped"
    cases = []
    for kind, group in (("scenario", report.scenarios), ("twin", report.twins)):
        for one in group:
            is_open = one.status == NOT_JUDGED or (isinstance(one, ScenarioReport) and one.is_part)
            cases.append(Case(
                f"wakeproof.explore.{kind}", one.name,
                "failure" if one.status == VIOLATED else open_status if is_open else "",
                "\n".join(one.messages) or _said(one),
                sum(judged.result.seconds for judged in one.judged),
            ))  # fmt: skip
    return junit.document("wakeproof.explore", cases, report.seconds)


def to_sarif(report: ExploreReport, root: Path) -> dict[str, Any]:
    """Return a rule for each scenario, program and twin, and a result for each problem.

    Args:
        report: what was explored.
        root: places are relative to this folder.
    """
    every: list[ScenarioReport | TwinReport] = [*report.scenarios, *report.twins]
    found = {(one.token.name, one.token.model): one for one in report.counterexamples
             if not one.token.twin}  # fmt: skip
    rules, results = [], []
    for number, one in enumerate(every):
        claim = (
            one.claim if isinstance(one, ScenarioReport) else f"A twin of {one.of}: {one.defect}"
        )
        rules.append(sarif.rule(one.name, claim or ENDS))
        if one.status != VIOLATED:
            continue
        for text in one.messages:
            places = list(_places(text, one, found, root))
            results.append(sarif.result(number, one.name, text, places))
    return sarif.document(rules, results)


def _said(one: ScenarioReport | TwinReport) -> str:
    return one.line if isinstance(one, ScenarioReport) else ""


def _places(
    text: str, one: ScenarioReport | TwinReport, found: Mapping[Any, Counterexample], root: Path
) -> Iterator[dict[str, Any]]:
    """Yield the place where the execution behind a message ends, or both of a race."""
    for judged in one.judged if isinstance(one, ScenarioReport) else ():
        shown = found.get((one.name, judged.model.value))
        if shown is None or not text.startswith(f"{judged.model.label} ("):
            continue
        steps = [step for step in shown.found.example if step.site and step.site.line]
        ends = [step for step in steps if step.racing] or steps[-1:]
        lines = [(step.site.file, step.site.line) for step in ends if step.site]
        lines += [(name, int(at)) for step in ends for name, at in _LINE.findall(step.text)]
        for name, at in dict.fromkeys(lines):
            file = (shown.token.path.parent / name).resolve()
            if file.is_file():
                yield sarif.place(_uri(file, root.resolve()), at)


def _uri(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_uri()
