# SPDX-License-Identifier: Apache-2.0
"""`wakeproof bench-http`: an HTTP proxy of ours beside others.  A missed goal fails no run."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wakeproof import errors, locations
from wakeproof.bench import SHORT, versions, web
from wakeproof.bench.web.placement import PINNED, SPARE
from wakeproof.bench.web.results import (
    BEHIND,
    DEPTH,
    EVENTS,
    LOOKS,
    REQUESTS,
    WAKEUPS,
    Line,
    quartiles,
)
from wakeproof.bench.web.sample import FIXED, MOST, PERCENTILES, TRACED, Sample
from wakeproof.bench.web.servers import HISTOGRAM_NEEDS, can_sort
from wakeproof.cli.bench import cells
from wakeproof.cli.panels import AsJson
from wakeproof.cli.progress import status
from wakeproof.judge import report

COLUMNS = (
    "server", "stealing", "where", ">rate", ">CPU us", ">CPUs", ">waited", ">switches", ">wakes",
    ">events", ">depth", ">errors", ">most k/s", ">CPUs", ">k/s per CPU", ">quartiles",
)  # fmt: skip
LATENCY = ("server", "stealing", "where", "ms: p50 / p90 / p99 / p99.9 / most", ">lag p99")
P99 = PERCENTILES.index(99.0)
GOALS = ("load", "row", ">ours", "against", ">peer", "unit", ">ratio", "quartiles", ">goal", "")
LEGEND = """\
At the fixed rate: answers a second, CPU us and context switches of the server per request, CPUs it
used, CPUs it waited for (others had them), wakes that are system calls per request, events per look
at the poller; depth: longest run queue, in a run of its own. As fast as it answers: requests a
second, CPUs, requests per second of the server's CPU time (in thousands). where: carriers, and the
server's CPUs; "shared": load and backend take time of them as well. errors: failed or not answered
in time, of all phases. lag: how late the load itself was. Medians; switches are judged by rounds in
which both sides kept up with the rate."""


def bench_http(
    regex: Annotated[
        str | None,
        typer.Option("-t", metavar="REGEX", help="Measure the servers whose name matches."),
    ] = None,
    seconds: Annotated[float, typer.Option(help="Measure each phase for this many seconds.")] = 1.0,
    rounds: Annotated[int, typer.Option(help="Let the servers take turns this many times.")] = 3,
    rate: Annotated[float, typer.Option(help="Set the fixed rate, in requests a second.")] = 4000.0,
    as_json: AsJson = False,
) -> None:
    """Measure an HTTP proxy: rate, latency, CPU and switches per request, beside other servers.

    A missed goal is printed and does not fail the command. A server that fails does.

    Examples:

      wakeproof bench-http                     every server under both loads: half an hour

      wakeproof bench-http -t ' off none 1$'   the servers on one CPU

      wakeproof bench-http --json              every sample, for a program
    """
    screen = report.console(stderr=True) if as_json else report.console()
    with status(screen) as progress:
        found = web.bench_http(web.Settings(regex, seconds, rounds, rate), progress)
    if as_json:
        print(report.to_json({**vars(found), "stored": locations.cache() / "bench" / "http.json"}))
    else:
        show(screen, found)
    has_failed = any(line.has_failed for line in found.lines)
    raise typer.Exit(errors.EXIT_VIOLATED if has_failed else errors.EXIT_HOLDS)


def show(screen: Console, found: web.WebReport) -> None:
    """Print the tables of each load, the goals, and the count."""
    for load in dict.fromkeys(line.load for line in found.lines):
        lines = [line for line in found.lines if line.load == load]
        title = f"backend takes {load.name}; fixed rate {found.rate:,g}/s"
        screen.print(report.table(title, COLUMNS, map(counts, lines)))
        screen.print()
        screen.print(report.table(f"{title}: latency", LATENCY, map(latency, lines)))
        screen.print()
    screen.print(report.table(
        "goals, on one server CPU", GOALS,
        ([f"{load.think_ms} ms", *cells(replace(result, not_run=result.not_run.partition(":")[0]))]
         for load, result in found.goals),
    ))  # fmt: skip
    screen.print()
    said = [f"{line.setup.side}: {line.not_run}" for line in found.lines if line.not_run]
    said += [f"{r.row.name}, {r.row.peer}: {BEHIND}" for _, r in found.goals if r.not_run == BEHIND]
    for line in dict.fromkeys(said):
        screen.print(line, markup=False, soft_wrap=True)
    for _, result in found.goals:
        if result.verdict == SHORT and result.row.why:
            screen.print(f"{result.row.name}: {result.row.why}", markup=False, soft_wrap=True)
    screen.print(LEGEND, markup=False)
    cpus = ",".join(map(str, found.cpus))
    screen.print(f"\n{versions.line(found.peers)}", markup=False, soft_wrap=True)
    screen.print(f"{found.summary} ({found.rounds} rounds of {found.seconds:g} s, "
                 f"{found.machine}, CPUs {cpus})", markup=False)  # fmt: skip
    screen.print(f"stored in {locations.cache() / 'bench' / 'http.json'}", markup=False)


def named(line: Line) -> list[object]:
    """Return the first cells of a line: the server and its place."""
    setup, where = line.setup, line.place
    stealing = ("on" if setup.stealing else "off") if setup.is_ours and setup.carriers > 1 else ""
    text = f"{where.carriers} on {len(where.server)} CPU{'s' if len(where.server) > 1 else ''}"
    text += " pinned" if setup.pin == PINNED else " (one more)" if setup.pin == SPARE else ""
    return [setup.side, stealing, text + (", shared" if where.is_shared else "")]


def counts(line: Line) -> list[object]:
    """Return the cells that need no CPUs of their own."""
    if line.not_run:
        return [*named(line), Text("failed" if line.has_failed else "not run", style="yellow")]
    fixed, most = line.of(FIXED), line.of(MOST)
    each = [s.completed / s.used.cpu_s / 1e3 for s in most if s.used.cpu_s > 0]
    low, middle, high = quartiles(each) if each else (0.0, 0.0, 0.0)
    failed = sum(s.errors + s.unanswered for phase in line.samples.values() for s in phase)
    return [
        *named(line), f"{_middle([s.rate for s in fixed]):.0f}",
        f"{_middle([s.each(s.used.cpu_s) * 1e6 for s in fixed]):.1f}",
        f"{_middle([s.cpus for s in fixed]):.2f}",
        f"{_middle([s.used.waited_s / s.seconds for s in fixed]):.2f}",
        f"{_middle([s.each(s.used.switches) for s in fixed]):.2f}",
        _counted(fixed, WAKEUPS, REQUESTS), _counted(fixed, EVENTS, LOOKS),
        "".join(str(s.stats.get(DEPTH, "")) for s in line.of(TRACED)), str(failed),
        f"{_middle([s.rate for s in most]) / 1e3:.1f}", f"{_middle([s.cpus for s in most]):.2f}",
        f"{middle:.1f}", f"{low:.1f} - {high:.1f}",
    ]  # fmt: skip


def latency(line: Line) -> list[object]:
    """Return the percentiles, or the reason why there are none."""
    told = line.percentiles_ms()
    if line.not_run or line.place.reason:
        why = line.place.reason if not line.not_run else "failed" if line.has_failed else "not run"
        return [*named(line), Text(why, style="yellow")]
    if not told:
        why = "no answers" if can_sort() else f"not run: pip install {HISTOGRAM_NEEDS}"
        return [*named(line), Text(why, style="yellow")]
    lag = [sample.lag_ms[P99] for sample in line.of(FIXED) if sample.lag_ms]
    return [*named(line), " / ".join(f"{ms:.2f}" for ms in told), f"{_middle(lag or [0.0]):.2f}"]


def _middle(values: list[float]) -> float:
    return quartiles(values)[1]


def _counted(samples: list[Sample], counter: str, to: str) -> str:
    found = [ratio for s in samples if (ratio := s.ratio(counter, to)) is not None]
    return f"{_middle(found):.2f}" if found else ""
