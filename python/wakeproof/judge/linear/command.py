# SPDX-License-Identifier: Apache-2.0
"""`wakeproof linear`: each operation of the compiled code takes effect between call and return."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from wakeproof import locations
from wakeproof.cli.panels import AsJson, InSandbox
from wakeproof.cli.progress import StressProgress
from wakeproof.errors import UsageError
from wakeproof.judge import report
from wakeproof.judge.explore import show as explore_show
from wakeproof.judge.explore.options import ExploreOptions, models_of
from wakeproof.judge.labels import Labels
from wakeproof.judge.linear import own
from wakeproof.judge.linear import run as judge
from wakeproof.judge.linear.check import Row
from wakeproof.judge.linear.own import OwnLinearReport
from wakeproof.judge.linear.run import LinearReport, LinearResult
from wakeproof.judge.own.program import of_files, without_flags
from wakeproof.judge.stress.grading import HELD


def linear(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Check your own object: a program (.c or .cpp with a main, and its other files) "
            "that marks calls and returns with linear.h. What begins with - and stands after -- "
            "is a flag of the compiler. Default: the scenarios of wakeproof.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.py",
            help="Compare your object with the class Model in this file of Python.",
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(metavar="NAME,...", help="Explore your object under sc, tso, rc11 or all."),
    ] = "all",
    seconds: Annotated[
        float,
        typer.Option(help="Stop each exploration of your object after this CPU time; 0: never."),
    ] = 60.0,
    pattern: Annotated[
        str | None,
        typer.Option("-t", metavar="REGEX", help="Check the scenarios whose name matches."),
    ] = None,
    as_json: AsJson = False,
    _sandbox: InSandbox = False,
    full: Annotated[bool, typer.Option(help="Check the scenarios that take minutes, too.")] = False,
) -> None:
    """Check every history of calls and returns, of any length, against a sequential spec.

    The histories are those of the scenarios in stress/linear under SC and x86-TSO. A twin, and a
    spec that promises more than the code does, must have a history that no order explains.

    Your own object is a program that marks its operations:

      linear_call(push, 1); queue_push(&queue, 1); linear_return(0);

    and a model in Python: class Model, with a method push(self, value) that returns 0. A method
    returns NotImplemented if the operation cannot happen now, as a pop that waits.

    Examples:

      wakeproof linear                  queues and biased lock, with what must fail

      wakeproof linear -t biased_lock   one of them

      wakeproof linear queue_test.c queue.c --against queue_model.py
    """
    if files or against:
        _own(files or [], against, pattern, model, seconds, as_json=as_json)
    screen = report.console(stderr=as_json)

    def show(result: LinearResult) -> None:
        text = f"{_name(result)}: {_verdict(result)}, {result.seconds:.1f} s"
        report.line(screen, text, good=result.holds)

    found = judge.linear(pattern, slow=full, progress=show)
    report.end(
        lambda: summary(found), lambda: _print(screen, found), as_json=as_json,
        holds=found.holds,
    )  # fmt: skip


def _own(
    files: list[Path],
    against: Path | None,
    pattern: str | None,
    model: str,
    seconds: float,
    *,
    as_json: bool,
) -> NoReturn:
    given, flags = without_flags(files)
    if against is None or not given or pattern:
        raise UsageError("your own object needs its FILEs and --against FILE.py, and no -t")
    for file in given:
        if not file.is_file():
            raise UsageError(f"no file {file}")
    programs = of_files([file.resolve() for file in given], flags)
    if len(programs) > 1:
        raise UsageError(f"{given[0]} and {given[1]} are two programs: check one at a time")
    screen = report.console(stderr=as_json)
    options = ExploreOptions(models=models_of(model), seconds=seconds)
    with StressProgress(screen) as progress:
        found = own.linear(
            programs[0], against, options, save=locations.cache() / "explore",
            progress=progress.show,
        )  # fmt: skip
    report.end(
        lambda: own_summary(found), lambda: _print_own(screen, found), as_json=as_json,
        holds=found.holds,
    )  # fmt: skip


def own_summary(found: OwnLinearReport) -> dict[str, Any]:
    """Return the report on a user's own object as plain data."""
    return {
        "judge": "linear", "holds": found.holds, "seconds": round(found.seconds, 1),
        "program": found.program.name, "verdict": found.program.verdict,
        "models": [
            {
                "model": one.model.label, "verdict": one.verdict,
                "executions": one.result.executions, "exhaustive": one.result.exhaustive,
                "histories": found.histories[one.model.label], "messages": one.messages,
                "unexplained": [
                    {"history": history.lines, "executions": count}
                    for history, count in found.unexplained[one.model.label]
                ],
            }
            for one in found.program.judged
        ],
        "returned": found.returned, "warnings": found.warnings,
        "counterexamples": [one.token.text for one in found.counterexamples],
    }  # fmt: skip


def _print_own(screen: Console, found: OwnLinearReport) -> None:
    for warning in found.warnings:
        screen.print(warning, style="yellow", markup=False, soft_wrap=True)
    for example in found.counterexamples[:1]:
        explore_show.print_execution(screen, example, Labels())
    for example in found.counterexamples:
        explore_show.print_token(screen, example)
    for one in found.program.judged:
        for history, count in found.unexplained[one.model.label][:1]:
            screen.print(f"\n{one.model.label}: {own.UNEXPLAINED} ({count:,} executions):",
                         style="bold red", markup=False)  # fmt: skip
            for line in history.lines:
                screen.print(f"  {line}", markup=False, soft_wrap=True)
        for message in one.messages:
            screen.print(f"{one.model.label}: {message}", style="red", markup=False, soft_wrap=True)
    screen.print()
    columns = ("model", ">executions", ">histories", ">unexplained", "how much of it", "verdict")
    screen.print(report.table("", columns, [
        [one.model.label, f"{one.result.executions:,}", f"{found.histories[one.model.label]:,}",
         f"{len(found.unexplained[one.model.label]):,}", one.coverage,
         report.verdict(one.verdict, good=one.status == HELD)]
        for one in found.program.judged
    ]))  # fmt: skip
    returned = ", ".join(f"{name} in {count:,}" for name, count in found.returned.items())
    screen.print(f"returns, and in how many histories: {returned}", style="dim", markup=False,
                 soft_wrap=True)  # fmt: skip
    screen.print(
        f"\n{found.program.name} in {found.seconds:.0f} s: "
        + ("linearizable as far as explored" if found.holds and found.program.is_part
           else "linearizable" if found.holds else "not linearizable, or it does not end well"),
        style="green" if found.holds else "bold red",
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
