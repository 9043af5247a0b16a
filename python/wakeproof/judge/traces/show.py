# SPDX-License-Identifier: Apache-2.0
"""The output of `wakeproof conform --traces`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console

from wakeproof.judge import report
from wakeproof.judge.traces.report import TraceReport, TraceResult


def line(result: TraceResult) -> str:
    """Return the line of one finished concept."""
    twin = f" ({result.twin})" if result.twin else ""
    return (
        f"{result.table.name}{twin}: {result.traces:,} runs, {result.events:,} events, "
        f"{len(result.rejected):,} rejected, {result.seconds:.1f} s"
    )


def show(screen: Console, found: TraceReport) -> None:
    """Print the report."""
    for result in found.results:
        if result.rejected and not result.twin:
            screen.print(f"\n{result.table.name}: run {result.rejected[0]} is no behaviour of "
                         f"{result.table.concept.module}:", style="bold red")  # fmt: skip
            screen.print("\n".join(result.stuck), markup=False, soft_wrap=True)
    columns = ("concept", "twin", ">runs", ">set aside", ">events", ">rejected", ">tampered, found",
               ">edges covered", ">states", ">seconds", "")  # fmt: skip
    screen.print()
    screen.print(report.table("", columns, [_row(result) for result in found.results]))
    screen.print()
    for result in found.results:
        if not result.twin:
            cover = result.coverage
            never = ", ".join(cover.never) or "none"
            screen.print(
                f"{result.table.name}: {result.table.concept.bounds}; {cover.edges:,} of "
                f"{cover.of_edges:,} edges; actions never taken: {never}",
                style="dim", markup=False, soft_wrap=True,
            )  # fmt: skip
    report.total(
        screen,
        f"{sum(r.traces for r in found.results):,} runs on real cores, recorded with stamps that "
        "make them sequentially consistent, judged by TLC and again over its graph",
        found,
    )


def _row(result: TraceResult) -> list[object]:
    good = "rejected" if result.twin else "accepted"
    cover = result.coverage
    return [
        result.table.name, result.twin, f"{result.traces:,}", f"{result.aside:,}",
        f"{result.events:,}", f"{len(result.rejected):,}",
        f"{result.found} of {result.lies}" if result.lies else "",
        "" if result.twin else f"{cover.edges:,} of {cover.of_edges:,}",
        "" if result.twin else f"{cover.states:,} of {cover.of_states:,}",
        f"{result.seconds:.1f}",
        report.verdict(good if result.holds else "WRONG", good=result.holds),
    ]  # fmt: skip


def summary(found: TraceReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "judge": "traces", "holds": found.holds, "seed": found.seed,
        "seconds": round(found.seconds, 1),
        "results": [
            {
                "concept": r.table.name, "spec": r.table.concept.module,
                "scenario": r.table.concept.test, "bounds": r.table.concept.bounds,
                "twin": r.twin, "holds": r.holds, "runs": r.traces, "set_aside": r.aside,
                "events": r.events, "rejected": len(r.rejected), "stuck": list(r.stuck),
                "tampered": r.lies, "tampered_found": r.found,
                "lies": [asdict(grade) for grade in r.grades],
                "edges_covered": r.coverage.edges,
                "edges": r.coverage.of_edges, "states_covered": r.coverage.states,
                "states": r.coverage.of_states, "never": list(r.coverage.never),
                "actions": {
                    name: {"covered": got, "edges": of}
                    for name, (got, of) in sorted(r.coverage.actions.items())
                },
                "seconds": round(r.seconds, 1),
            }
            for r in found.results
        ],
    }  # fmt: skip
