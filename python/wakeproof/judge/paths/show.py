# SPDX-License-Identifier: Apache-2.0
"""`wakeproof conform --paths`: the code follows paths that take every edge of its spec."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from wakeproof.judge import report
from wakeproof.judge.paths import run as judge
from wakeproof.judge.paths.run import PathsReport, PathsResult

SHOWN = 5
"""The most failures that are printed for a concept."""


def follow(pattern: str | None, *, twins: bool, as_json: bool) -> None:
    """Follow the paths of the concepts with a name that matches."""
    screen = report.console(stderr=as_json)

    def show(result: PathsResult) -> None:
        report.line(screen, _line(result), good=result.holds)
        for failure in result.failures[: 1 if result.twin else SHOWN]:
            screen.print(f"  {failure}", markup=False, soft_wrap=True)

    found = judge.paths(pattern, twins=twins, progress=show)
    report.end(
        lambda: summary(found), lambda: _print(screen, found), as_json=as_json,
        holds=found.holds,
    )  # fmt: skip


def _line(result: PathsResult) -> str:
    twin = f" ({result.twin})" if result.twin else ""
    verdict = "followed"
    if result.failures:
        verdict = "a path fails" if result.twin else f"{len(result.failures):,} paths FAIL"
    return (
        f"{result.concept.name}{twin}: {result.paths:,} paths, {result.steps:,} steps, "
        f"all {result.edges:,} edges: {verdict}, {result.seconds:.1f} s"
    )


def _print(screen: Console, found: PathsReport) -> None:
    twins = sum(bool(result.twin) for result in found.results)
    own = [result for result in found.results if not result.twin]
    report.total(
        screen,
        f"{sum(r.paths for r in own):,} paths, {sum(r.taken for r in own):,} steps of the code "
        f"over all {sum(r.edges for r in own):,} edges of {len(own)} specs, and {twins} twins",
        found,
    )


def summary(found: PathsReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "judge": "paths", "holds": found.holds, "seconds": round(found.seconds, 1),
        "results": [
            {
                "concept": r.concept.name, "spec": r.concept.module, "scenario": r.concept.test,
                "bounds": r.concept.bounds, "twin": r.twin, "holds": r.holds, "paths": r.paths,
                "steps": r.steps, "edges": r.edges, "taken": r.taken,
                "failures": [str(failure) for failure in r.failures],
                "seconds": round(r.seconds, 1),
            }
            for r in found.results
        ],
    }  # fmt: skip
