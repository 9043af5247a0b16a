# SPDX-License-Identifier: Apache-2.0
"""`wakeproof linear`: each operation of the compiled code takes effect between call and return."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from wakeproof.cli.panels import AsJson
from wakeproof.judge import report
from wakeproof.judge.linear import run as judge
from wakeproof.judge.linear.check import Row
from wakeproof.judge.linear.run import LinearReport, LinearResult


def linear(
    pattern: Annotated[
        str | None,
        typer.Option("-t", metavar="REGEX", help="Check the scenarios whose name matches."),
    ] = None,
    as_json: AsJson = False,
    full: Annotated[bool, typer.Option(help="Check the scenarios that take minutes, too.")] = False,
) -> None:
    """Check every history of calls and returns, of any length, against a sequential spec.

    The histories are those of the scenarios in stress/linear under SC and x86-TSO. A twin, and a
    spec that promises more than the code does, must have a history that no order explains.

    Examples:

      wakeproof linear                  queues and biased lock, with what must fail

      wakeproof linear -t biased_lock   one of them
    """
    screen = report.console(stderr=as_json)

    def show(result: LinearResult) -> None:
        text = f"{_name(result)}: {_verdict(result)}, {result.seconds:.1f} s"
        report.line(screen, text, good=result.holds)

    found = judge.linear(pattern, slow=full, progress=show)
    report.end(
        lambda: summary(found), lambda: _print(screen, found), as_json=as_json,
        holds=found.holds,
    )  # fmt: skip


def _name(result: LinearResult) -> str:
    case = result.case
    twin = f" ({case.twin})" if case.twin else ""
    return f"{case.test}{twin} under {case.model.upper()}, against {case.against}"


def _verdict(result: LinearResult) -> str:
    if result.missing:
        return f"says nothing: no {', '.join(result.missing)}"
    return "not linearizable" if result.counterexample else "linearizable"


def history(rows: tuple[Row, ...]) -> list[str]:
    """Return a run as lines: a column per thread."""
    threads = 1 + max(row.thread for row in rows)
    wide = 2 + max(len(row.text) for row in rows)
    heads = "".join(f"thread {number}".ljust(wide) for number in range(threads))
    return [heads.rstrip(), *(" " * wide * row.thread + row.text for row in rows)]


def _print(screen: Console, found: LinearReport) -> None:
    for result in found.results:
        if result.counterexample and not result.case.must_fail:
            screen.print(f"\n{_name(result)}: the last return has no explanation:",
                         style="bold red", markup=False)  # fmt: skip
            for line in history(result.counterexample):
                screen.print(line, markup=False, soft_wrap=True)
    columns = ("scenario", "model", "against", "twin", ">states", ">edges", ">pairs", ">sets",
               ">seconds", "")  # fmt: skip
    screen.print()
    screen.print(report.table("", columns, [_row(result) for result in found.results]))
    fail = sum(result.case.must_fail for result in found.results)
    report.total(screen, f"{len(found.results)} checks, {fail} of which must fail", found)


def _row(result: LinearResult) -> list[object]:
    case = result.case
    return [
        case.test, case.model, case.against, case.twin, f"{result.states:,}", f"{result.edges:,}",
        f"{result.pairs:,}", f"{result.sets:,}", f"{result.seconds:.1f}",
        report.verdict(_verdict(result) if result.holds else "WRONG", good=result.holds),
    ]  # fmt: skip


def summary(found: LinearReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "judge": "linear", "holds": found.holds, "seconds": round(found.seconds, 1),
        "results": [
            {
                "object": r.case.name, "scenario": r.case.test, "model": r.case.model,
                "against": r.case.against, "twin": r.case.twin, "must_fail": r.case.must_fail,
                "holds": r.holds, "linearizable": not r.counterexample, "states": r.states,
                "edges": r.edges, "pairs": r.pairs, "sets": r.sets, "returned": r.returned,
                "missing": r.missing,
                "history": history(r.counterexample) if r.counterexample else [],
                "seconds": round(r.seconds, 1),
            }
            for r in found.results
        ],
    }  # fmt: skip
