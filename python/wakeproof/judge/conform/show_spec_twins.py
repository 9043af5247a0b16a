# SPDX-License-Identifier: Apache-2.0
"""`wakeproof conform --spec-twins`: compare every twin of every spec with the code's graph."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from wakeproof.judge import report
from wakeproof.judge.conform import spec_twins as judge
from wakeproof.judge.conform.spec_twins import SpecTwinResult, SpecTwinsReport
from wakeproof.judge.conform.undetectable_twins import TOO_LARGE, TOO_LARGE_TWINS


def compare(pattern: str | None, *, as_json: bool) -> None:
    """Compare the twins of the concepts with a name that matches."""
    screen = report.console(stderr=as_json)

    def show(result: SpecTwinResult) -> None:
        name = f"{result.concept.name} ({result.twin})"
        text = f"{name}: {result.verdict}, {result.seconds:.1f} s"
        report.line(screen, text, good=result.holds)

    found = judge.spec_twins(pattern, progress=show)
    report.end(
        lambda: summary(found), lambda: _print(screen, found), as_json=as_json,
        holds=found.holds,
    )  # fmt: skip


def _print(screen: Console, found: SpecTwinsReport) -> None:
    names = list(dict.fromkeys(result.concept.name for result in found.results))
    screen.print()
    screen.print(report.table("", ("concept", ">twins", ">differ", ">equal, with a reason", ""),
                              [_row(found, name) for name in names]))  # fmt: skip
    for name, why in TOO_LARGE.items():
        screen.print(f"not compared, {name}: {why}", style="dim", markup=False, soft_wrap=True)
    for name, twins in TOO_LARGE_TWINS.items():
        screen.print(f"not compared, too large, {name}: {', '.join(twins)}", style="dim")
    report.total(screen, f"{len(found.results)} twins of specs, under SC", found)


def _row(found: SpecTwinsReport, name: str) -> list[object]:
    own = [result for result in found.results if result.concept.name == name]
    good = all(result.holds for result in own)
    differ = sum(result.differs for result in own)
    equal = sum(not result.differs and result.holds for result in own)
    return [name, len(own), differ, equal, report.verdict("holds" if good else "WRONG", good=good)]


def summary(found: SpecTwinsReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "judge": "spec-twins", "holds": found.holds, "model": "sc",
        "seconds": round(found.seconds, 1),
        "results": [
            {
                "concept": r.concept.name, "spec": r.concept.module, "twin": r.twin,
                "holds": r.holds, "differs": r.differs, "reason": r.reason,
                "spec_states": r.spec_states, "code_classes": r.code_states,
                "seconds": round(r.seconds, 1),
            }
            for r in found.results
        ],
    }  # fmt: skip
