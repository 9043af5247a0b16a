# SPDX-License-Identifier: Apache-2.0
"""`wakeproof bench`: measure speed against peers and limits.  A missed goal fails no run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from wakeproof import bench as benching
from wakeproof import errors, locations
from wakeproof.bench import (
    MET,
    SHORT,
    SHOWN,
    TIE,
    BenchReport,
    Result,
    instructions,
    measure,
    versions,
)
from wakeproof.bench import compare as comparing
from wakeproof.bench.compare import Change, Comparison
from wakeproof.bench.instructions import Count
from wakeproof.cli.panels import AsJson
from wakeproof.cli.progress import status
from wakeproof.errors import UsageError
from wakeproof.judge import report

COLUMNS = ("row", ">ours", "against", ">peer", "unit", ">ratio", "quartiles", ">goal", "")
COMPARED = ("row", "against", ">old", ">new", ">new/old", "", ">goal", "verdict")
STYLES = {MET: "green", TIE: "yellow", SHORT: "bold red", SHOWN: "dim"}
LEGEND = """\
ratio: ours/peer, of times (<=) or of rates (>=); median over rounds in which the sides took turns.
A slice of milliseconds that was preempted is measured again. Rows without a goal explain the one
above; rows without a ratio count something. Nanoseconds differ between machines and hours by up to
3x; compare ratios."""


def bench(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[compare OLD.json NEW.json | instructions [REVISION]]",
            help="Compare two runs that were kept, or count instructions. Default: measure.",
            show_default=False,
        ),
    ] = None,
    regex: Annotated[
        str | None, typer.Option("-t", metavar="REGEX", help="Measure the rows whose name matches.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Measure each row for this many seconds.")] = 0.5,
    as_json: AsJson = False,
) -> None:
    """Measure wakeproof beside a peer or a limit, and compare the ratio with a goal.

    A missed goal is printed. It does not fail the command; a side that ends with an error does.

    Examples:

      wakeproof bench                      every row, ten minutes and more

      wakeproof bench -t parker            one of them

      wakeproof bench --seconds 3 --json   more rounds, for a program

      wakeproof bench compare old.json new.json

      wakeproof bench instructions         of the rows that one thread runs

      wakeproof bench instructions HEAD~3  beside those of another revision

    `compare` joins two runs that --json has printed. A row is faster or slower if the quartiles of
    its ratios do not overlap. The exit code is 1 if a goal that was met is short now.

    `instructions` needs valgrind, counts locked instructions apart, and depends on no neighbour of
    the machine. It builds the bench of both trees. The exit code is 1 if a row takes over 2 % more
    than in REVISION, or a locked instruction more.
    """
    match words or []:
        case []:
            pass
        case ["compare", old, new]:
            _compare(Path(old), Path(new), regex, as_json=as_json)
        case ["instructions", *revision] if len(revision) <= 1:
            _instructions("".join(revision), regex, as_json=as_json)
        case others:
            raise UsageError(f"{' '.join(others)!r}; allowed: nothing, compare OLD.json NEW.json, "
                             "or instructions [REVISION]")  # fmt: skip
    screen = report.console(stderr=True) if as_json else report.console()
    with status(screen) as progress:
        found = benching.bench(regex, seconds, progress)
    if as_json:
        print(report.to_json({**vars(found), "stored": locations.cache() / "bench"}))
    else:
        show(screen, found)
    raise typer.Exit(errors.EXIT_VIOLATED if found.failed else errors.EXIT_HOLDS)


def _compare(old: Path, new: Path, regex: str | None, *, as_json: bool) -> NoReturn:
    is_wanted = measure.matcher(regex)
    found = comparing.compare(comparing.read(old), comparing.read(new), is_wanted)
    report.end(
        lambda: {**vars(found), "lost": found.lost, "summary": found.summary},
        lambda: show_comparison(report.console(), found), as_json=as_json, holds=not found.lost,
    )  # fmt: skip


def _instructions(revision: str, regex: str | None, *, as_json: bool) -> NoReturn:
    screen = report.console(stderr=True) if as_json else report.console()
    with status(screen) as progress:
        found = instructions.counts(regex, revision, progress)
    more = [count for count in found if count.is_more]
    report.end(
        lambda: {"revision": revision, "counts": found, "more": more},
        lambda: show_counts(screen, found, revision), as_json=as_json, holds=not more,
    )  # fmt: skip


def show_counts(screen: Console, found: Iterable[Count], revision: str) -> None:
    """Print the instructions of each row, beside those of a revision if there is one."""
    earlier = (f">{revision}", ">change", f">locked, {revision}", "") if revision else ()
    columns = ("row", ">instructions", ">locked", *earlier)
    rows = [
        [count.row, f"{count.now:.1f}", _locked(count.locked),
         *((f"{count.before:.1f}", f"{count.change:+.1%}", _locked(count.locked_before),
            Text("more" if count.is_more else "", style="bold red")) if count.before else ())]
        for count in found
    ]  # fmt: skip
    screen.print(report.table("instructions of an operation", columns, rows))
    if revision:
        screen.print(f"\nmore: over {instructions.ALLOWED:.0%} more than in {revision}, "
                     "or a locked instruction more", markup=False)  # fmt: skip


def _locked(count: float | None) -> str:
    return "-" if count is None else f"{count:.1f}"


def show_comparison(screen: Console, found: Comparison) -> None:
    """Print a line for each row of both runs, the rows of one alone, and the count."""
    screen.print(report.table("old beside new", COMPARED, map(changed, found.changes)))
    for name, alone in (("old", found.only_old), ("new", found.only_new)):
        for result in alone:
            row = result.row
            line = f"in the {name} run alone: {row.program}, {row.name} ({row.against})"
            screen.print(line, markup=False, soft_wrap=True)
    screen.print(f"\n{found.summary}", markup=False)


def changed(change: Change) -> list[object]:
    """Return one line of the comparison."""
    row, style = change.new.row, "bold red" if change.is_lost else ""
    form = ".4g" if row.count else ".2f"
    verdicts = (change.old.verdict, change.new.verdict)
    return [row.name, row.against, f"{change.old.ratio:{form}}", f"{change.new.ratio:{form}}",
            f"{change.factor:.2f}" if change.old.ratio else "", change.way, row.goal,
            Text("" if SHOWN in verdicts else " -> ".join(dict.fromkeys(verdicts)), style=style),
           ]  # fmt: skip


def show(screen: Console, found: BenchReport) -> None:
    """Print the table, the reason for each missed goal that has one, and the count."""
    screen.print(report.table("ours beside peer or limit", COLUMNS, map(cells, found.results)))
    screen.print()
    for result in found.results:
        if result.verdict == SHORT and result.row.why:
            screen.print(f"{result.row.name}: {result.row.why}", markup=False, soft_wrap=True)
    screen.print(LEGEND, markup=False)
    screen.print(f"\n{versions.line(found.peers)}", markup=False, soft_wrap=True)
    screen.print(summary(found), markup=False)
    screen.print(f"stored in {locations.cache() / 'bench'}", markup=False)


def summary(found: BenchReport) -> str:
    """Return the line that counts the goals and names the machine."""
    cpus = ",".join(map(str, found.cpus))
    return f"{found.summary} ({found.machine}, CPUs {cpus}, {found.compiler})"


def cells(result: Result) -> list[object]:
    """Return one line of the table."""
    row = result.row
    if result.not_run:
        skipped = Text(result.not_run, style="yellow")
        return [row.name, "", row.against, "", row.unit, "", "", row.goal, skipped]
    spread = f"{result.low:.2f} - {result.high:.2f}"
    verdict = Text("" if result.verdict == SHOWN else result.verdict, style=STYLES[result.verdict])
    if row.count:
        spread = f"{result.low:.4g} - {result.high:.4g}"
        peer = "" if row.peer == row.ours else f"{result.peer:.4g}"
        return [row.name, f"{result.ours:.4g}", row.against, peer, row.unit, "", spread, row.goal,
                verdict]  # fmt: skip
    return [row.name, f"{result.ours:.1f}", row.against, f"{result.peer:.1f}", row.unit,
            f"{result.ratio:.2f}", spread, row.goal, verdict]  # fmt: skip
