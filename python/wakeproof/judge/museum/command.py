# SPDX-License-Identifier: Apache-2.0
"""`wakeproof museum`: real lost wakeups of other systems, judged as shipped and as fixed."""

from __future__ import annotations

import textwrap
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from wakeproof.cli.panels import AsDask, AsJson, InSandbox
from wakeproof.cli.progress import StressProgress
from wakeproof.errors import UsageError
from wakeproof.judge import report
from wakeproof.judge.explore import show as explore_show
from wakeproof.judge.explore.report import Judged as Explored
from wakeproof.judge.labels import Labels
from wakeproof.judge.museum import exhibits, run, shards, table
from wakeproof.judge.museum.exhibits import MODELS, Exhibit
from wakeproof.judge.museum.run import ByTool, Judged
from wakeproof.judge.museum.table import RUNS_S, Row

WIDTH = 92


def museum(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[run [NAME...] | show NAME... | table [NAME...]]",
            help="Judge exhibits, tell the story of one, or compare with others. Default: list "
            "them.",
            show_default=False,
        ),
    ] = None,
    tool: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Judge with this command instead, in which {file} and {flags} are replaced. It "
            "must fail on the bug and succeed on the fix.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            help="Stop each exploration after this CPU time, each tool's run after this time."
        ),
    ] = 60.0,
    as_json: AsJson = False,
    dask: AsDask = None,
    _sandbox: InSandbox = False,
) -> None:
    """List, judge and explain real lost wakeups of other systems.

    Each exhibit is an ordinary program in stress/museum/, in our own words and code, with the data
    structure of the original: as it was shipped, and with -DFIXED. `run` fails if one does not
    show its bug, or if its fix does not hold.

    Examples:

      wakeproof museum                         what there is

      wakeproof museum show liburing_541       the story of one, and its shortest execution

      wakeproof museum run                     all of them

      wakeproof museum run compio_948 --json

      wakeproof museum run --tool 'genmc -- {flags} {file}'  another tool

      wakeproof museum run --dask local:4      on four processes

      wakeproof museum table                   beside plain runs, and ThreadSanitizer
    """  # fmt: skip
    action, *names = words or ["list"]
    screen = report.console(stderr=as_json)
    if tool is not None and action != "run":
        raise UsageError("--tool is for museum run")
    if dask is not None and (action != "run" or tool is not None):
        raise UsageError("--dask is for museum run, without --tool")
    if action == "list" and not names:
        _list(screen, exhibits.read(), as_json=as_json)
    elif action == "show" and not names:
        raise UsageError("show which one? `wakeproof museum` lists them")
    elif action == "show":
        _show(screen, exhibits.read(names=names), as_json=as_json)
    elif action == "run" and tool is not None:
        _by_tool(screen, run.by_tool(exhibits.read(names=names), tool, seconds), as_json=as_json)
    elif action == "run":
        chosen = exhibits.read(names=names)
        with StressProgress(screen) as progress:
            options = run.options(seconds)
            found = (
                run.run(chosen, options, progress.show) if dask is None
                else shards.run(chosen, options, dask, progress.show)
            )  # fmt: skip
        report.end(
            lambda: summary(found), lambda: _print(screen, found), as_json=as_json,
            holds=not any(one.problems for one in found),
        )  # fmt: skip
    elif action == "table":
        with StressProgress(screen) as progress:
            rows = table.rows(exhibits.read(names=names), progress.show)
        report.end(
            lambda: {"judge": "museum", "table": [_row(one) for one in rows]},
            lambda: _print_table(screen, rows), as_json=as_json,
            holds=not any(one.judged.problems for one in rows),
        )  # fmt: skip
    else:
        raise UsageError(f"{' '.join(words or [])!r}; allowed: run [NAME...], show NAME..., table "
                         "[NAME...]")  # fmt: skip


def summary(found: list[Judged]) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "judge": "museum", "holds": not any(one.problems for one in found),
        "exhibits": [
            {
                **_facts(one.exhibit), "problems": one.problems,
                "seconds": round(one.seconds, 3),
                "models": {
                    judged.model.value: {
                        "shows": run.worst(one.shipped, judged.model),
                        "executions": _count(judged), "ms": _ms(judged),
                        "fixed": fixed.verdict, "fixed_executions": _count(fixed),
                        "fixed_ms": _ms(fixed),
                    }
                    for judged, fixed in zip(one.shipped.judged, one.fixed.judged, strict=False)
                },
            }
            for one in found
        ],
    }  # fmt: skip


def _count(judged: Explored) -> int:
    return sum(outcome.found.count for outcome in judged.outcomes)


def _ms(judged: Explored) -> float:
    return round(judged.result.seconds * 1e3, 1)


def _list(screen: Console, every: list[Exhibit], *, as_json: bool) -> None:
    if as_json:
        print(report.to_json({"judge": "museum", "exhibits": [_facts(one) for one in every]}))
        return
    rows = [(one.name, one.system, one.year, one.title) for one in every]
    screen.print(report.table("", ("name", "system", ">year", "what is wrong"), rows))
    systems = {one.system.split()[0].rstrip(",").casefold() for one in every}
    screen.print(f"\n{len(every)} bugs of {len(systems)} systems; `wakeproof museum show NAME` "
                 "tells one")  # fmt: skip


def _facts(one: Exhibit) -> dict[str, Any]:
    return {
        "name": one.name, "title": one.title, "system": one.system, "issue": one.issue,
        "year": one.year, "seen": one.seen, "mechanism": one.mechanism, "claim": one.claim,
        "shows": dict(zip((model.value for model in MODELS), one.shows, strict=True)),
    }  # fmt: skip


def _show(screen: Console, chosen: list[Exhibit], *, as_json: bool) -> NoReturn:
    found = run.run(chosen, run.options())

    def show() -> None:
        for judged in found:
            _tell(screen, judged)

    report.end(
        lambda: summary(found), show, as_json=as_json,
        holds=not any(one.problems for one in found),
    )  # fmt: skip


def _tell(screen: Console, found: Judged) -> None:
    one = found.exhibit
    screen.print(f"{one.name}: {one.title}", style="bold", markup=False)
    for name in ("system", "issue", "seen", "mechanism", "claim"):
        text = textwrap.fill(str(getattr(one, name)), WIDTH, initial_indent=f"{name:<11}",
                             subsequent_indent=" " * 11, break_on_hyphens=False,
                             break_long_words=False)  # fmt: skip
        screen.print(text, markup=False, soft_wrap=True)
    screen.print()
    for example in found.counterexamples[:1]:
        explore_show.print_execution(screen, example, Labels())
    _print(screen, [found])


def _print(screen: Console, found: list[Judged]) -> None:
    rows = []
    for one in found:
        for judged, fixed in zip(one.shipped.judged, one.fixed.judged, strict=False):
            rows.append([
                one.exhibit.name, judged.model.label, run.worst(one.shipped, judged.model),
                f"{_count(judged):,}", f"{_ms(judged):,.1f}", fixed.verdict,
                f"{_count(fixed):,}", f"{_ms(fixed):,.1f}",
            ])  # fmt: skip
    columns = ("name", "model", "as shipped", ">executions", ">ms", "fixed", ">executions", ">ms")
    screen.print(report.table("", columns, rows))
    for one in found:
        for problem in one.problems:
            screen.print(f"{one.exhibit.name}: {problem}", style="bold red", markup=False,
                         soft_wrap=True)  # fmt: skip
    bad = sum(bool(one.problems) for one in found)
    screen.print(
        f"\n{len(found) - bad} of {len(found)} as their files say, in "
        f"{sum(one.seconds for one in found):.0f} s", style="bold red" if bad else "green",
    )  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    (facts,) = summary([row.judged])["exhibits"]
    return {
        **facts, "plain": {"runs": row.plain.runs, "hits": row.hits},
        "thread_sanitizer": {"runs": row.sanitized.runs, "reports": row.races},
    }  # fmt: skip


def _print_table(screen: Console, rows: list[Row]) -> None:
    """Print what each judge and each other tool says of the bugs."""
    lines = []
    for row in rows:
        judged = row.judged.shipped.judged
        lines.append([
            row.judged.exhibit.name, *row.judged.verdicts, f"{sum(map(_count, judged)):,}",
            f"{sum(map(_ms, judged)):,.0f}", "yes" if not row.judged.problems else "no",
            f"{row.hits:,} of {row.plain.runs:,}", f"{row.races:,} of {row.sanitized.runs:,}",
        ])  # fmt: skip
    columns = ("name", "SC", "TSO", "RC11", ">executions", ">ms", "as it says", ">plain hits",
               ">ThreadSanitizer")  # fmt: skip
    screen.print(report.table("", columns, lines))
    caught = sum(not row.judged.problems for row in rows)
    hit, raced = sum(row.hits > 0 for row in rows), sum(row.races > 0 for row in rows)
    screen.print(
        f"\nOf {len(rows)} bugs, wakeproof explains {caught}, each with its fix; plain runs of "
        f"{RUNS_S:g} s hit {hit}; ThreadSanitizer reports {raced}.", soft_wrap=True,
    )  # fmt: skip
    screen.print(
        "executions, ms: of the bug, under the three models. plain hits: runs that slept for "
        "ever, failed or crashed, of all runs of a second, with -O2. ThreadSanitizer: runs with "
        "a report, such as a data race, of a second, with -O1.", soft_wrap=True,
    )  # fmt: skip
    for row in rows:
        for problem in row.judged.problems:
            screen.print(f"{row.judged.exhibit.name}: {problem}", style="bold red", markup=False,
                         soft_wrap=True)  # fmt: skip


def _by_tool(screen: Console, found: list[ByTool], *, as_json: bool) -> NoReturn:
    def said(code: int | None) -> str:
        return "no end" if code is None else f"exit {code}"

    def show() -> None:
        rows = [(one.exhibit.name, said(one.shipped), said(one.fixed),
                 report.verdict("caught" if one.is_caught else "not", good=one.is_caught))
                for one in found]  # fmt: skip
        screen.print(report.table("", ("name", "as shipped", "fixed", "caught"), rows))
        screen.print(f"\n{sum(one.is_caught for one in found)} of {len(found)} caught")

    report.end(
        lambda: {"judge": "museum", "tool": [
            {"name": one.exhibit.name, "shipped": one.shipped, "fixed": one.fixed,
             "caught": one.is_caught} for one in found
        ]},
        show, as_json=as_json, holds=all(one.is_caught for one in found),
    )  # fmt: skip
