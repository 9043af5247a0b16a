# SPDX-License-Identifier: Apache-2.0
"""`wakeproof conform`: compare the compiled code with the specs, state by state."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from wakeproof.cli.panels import BOUNDS, WHAT, AsFormat, AsJson, AsPage
from wakeproof.errors import UsageError
from wakeproof.judge import report
from wakeproof.judge.conform import run as judge
from wakeproof.judge.conform import show_spec_twins as spec_twins
from wakeproof.judge.conform.run import ConformReport, ConformResult
from wakeproof.judge.page import of_conform, output
from wakeproof.judge.paths import show as paths
from wakeproof.judge.traces import run as tracing
from wakeproof.judge.traces import show as recorded
from wakeproof.judge.traces.report import TraceResult


def conform(
    pattern: Annotated[
        str | None,
        typer.Option("-t", metavar="REGEX", help="Compare the concepts whose name matches."),
    ] = None,
    twins: Annotated[
        bool, typer.Option(help="Compare the twins, too: each of them must differ.")
    ] = True,
    as_json: AsJson = False,
    traces: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Record N runs per concept on real cores instead, and check that the spec allows "
            "each; 0: compare.",
            rich_help_panel=WHAT,
        ),
    ] = 0,
    by_paths: Annotated[
        bool,
        typer.Option(
            "--paths",
            help="Run the code along paths over every edge of the spec instead.",
            rich_help_panel=WHAT,
        ),
    ] = False,
    by_spec_twins: Annotated[
        bool,
        typer.Option(
            "--spec-twins",
            help="Compare every twin of every spec instead: all must differ.",
            rich_help_panel=WHAT,
        ),
    ] = False,
    seed: Annotated[
        int,
        typer.Option(
            min=1,
            help="Set the seed of --traces: of its delays, and of the changes that it "
            "makes to traces to see them rejected.",
            rich_help_panel=BOUNDS,
        ),
    ] = 1,
    html: AsPage = None,
    form: AsFormat = output.TEXT,
) -> None:
    """Compare the state graph of the compiled code with TLC's of its spec; twins must differ.

    Examples:

      wakeproof conform                  every concept, with its twins: a quarter of an hour

      wakeproof conform -t parker        one concept

      wakeproof conform --no-twins       the comparisons that must show no difference

      wakeproof conform --traces 2000    what real threads did must be behaviours of the specs

      wakeproof conform --paths          tests made from TLC's graphs, followed by the code

      wakeproof conform --spec-twins     every twin of every spec differs, or has a reason not to
    """
    if sum((by_paths, bool(traces), by_spec_twins)) > 1:
        raise UsageError(
            "--paths, --traces and --spec-twins each replace the comparison: give one of them"
        )
    out = output.checked(html, form, as_json=as_json)
    if (html is not None or form != output.TEXT) and (by_paths or traces or by_spec_twins):
        raise UsageError("--html and --format are for the comparison: leave out --paths, --traces "
                         "and --spec-twins, or these options")  # fmt: skip
    if by_spec_twins:
        spec_twins.compare(pattern, as_json=as_json)
    if by_paths:
        paths.follow(pattern, twins=twins, as_json=as_json)
    screen = report.console(stderr=as_json)
    if traces:
        _traces(screen, pattern, traces, seed, as_json=as_json, twins=twins)

    def show(result: ConformResult) -> None:
        verdict = "equal" if result.difference is None else f"{result.differences:,} differences"
        twin = f" ({result.twin})" if result.twin else ""
        text = f"{result.concept.name}{twin}: {verdict}, {result.seconds:.1f} s"
        report.line(screen, text, good=result.holds)

    found = judge.conform(pattern, twins=twins, progress=show)
    printed = out.given(
        screen, "wakeproof conform", lambda to: _print(to, found),
        lambda: [of_conform.converted(r) for r in found.results if r.difference],
    )  # fmt: skip
    report.end(lambda: summary(found), printed, as_json=as_json, holds=found.holds)


def _traces(
    screen: Console, pattern: str | None, count: int, seed: int, *, as_json: bool, twins: bool
) -> None:
    def show(result: TraceResult) -> None:
        report.line(screen, recorded.line(result), good=result.holds)

    found = tracing.traces(pattern, count=count, seed=seed, twins=twins, progress=show)
    report.end(
        lambda: recorded.summary(found), lambda: recorded.show(screen, found), as_json=as_json,
        holds=found.holds,
    )  # fmt: skip


def _print(screen: Console, found: ConformReport) -> None:
    for result in found.results:
        if result.difference and not result.twin:
            screen.print(f"\n{result.concept.name}: spec and code differ, the shortest example:",
                         style="bold red", markup=False)  # fmt: skip
            for line in result.difference.lines:
                screen.print(line, markup=False, soft_wrap=True)
    columns = ("concept", "twin", ">spec states", ">edges", ">code states", ">edges", ">classes",
               ">differences", ">seconds", "")  # fmt: skip
    screen.print()
    screen.print(report.table("", columns, [_row(result) for result in found.results]))
    screen.print()
    for concept in {r.concept.name: r.concept for r in found.results}.values():
        steps = f"; one step: {concept.joined}" if concept.joined else ""
        screen.print(f"{concept.name}: {concept.bounds}{steps}", style="dim", markup=False,
                     soft_wrap=True)  # fmt: skip
    twins = sum(bool(result.twin) for result in found.results)
    what = f"{len(found.results)} comparisons, {twins} of them twins, under SC"
    report.total(screen, what, found)


def _row(result: ConformResult) -> list[object]:
    good = "equal" if not result.twin else "differs"
    return [
        result.concept.name, result.twin, f"{result.spec_states:,}", f"{result.spec_edges:,}",
        f"{result.code_states:,}", f"{result.code_edges:,}", f"{result.classes:,}",
        f"{result.differences:,}", f"{result.seconds:.1f}",
        report.verdict(good if result.holds else "WRONG", good=result.holds),
    ]  # fmt: skip


def summary(found: ConformReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "judge": "conform", "holds": found.holds, "model": "sc",
        "seconds": round(found.seconds, 1),
        "results": [
            {
                "concept": r.concept.name, "spec": r.concept.module, "scenario": r.concept.test,
                "bounds": r.concept.bounds, "one_step": r.concept.joined, "twin": r.twin,
                "holds": r.holds, "spec_states": r.spec_states, "spec_edges": r.spec_edges,
                "code_states": r.code_states, "code_edges": r.code_edges, "classes": r.classes,
                "differences": r.differences, "example": r.difference,
                "seconds": round(r.seconds, 1),
            }
            for r in found.results
        ],
    }  # fmt: skip
