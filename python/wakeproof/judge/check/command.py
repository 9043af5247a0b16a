# SPDX-License-Identifier: Apache-2.0
"""`wakeproof check`: model-check the specs; each broken twin must fail."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from wakeproof import errors, locations
from wakeproof.cli.panels import BOUNDS, OUTPUT, WHAT, AsFormat, AsJson, AsPage
from wakeproof.cli.progress import ConfigProgress
from wakeproof.errors import UsageError
from wakeproof.judge import labels as explore_labels
from wakeproof.judge import report
from wakeproof.judge.check import distributed as spread
from wakeproof.judge.check import own_spec
from wakeproof.judge.check import run as specs
from wakeproof.judge.check.own_spec import OwnReport
from wakeproof.judge.check.run import CheckReport, ConfigResult
from wakeproof.judge.page import graphs, of_check, output
from wakeproof.judge.page.data import Counterexample, StateGraph
from wakeproof.judge.page.excerpts import Excerpts
from wakeproof.judge.page.output import Output
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import counterexample, manifest, models
from wakeproof.judge.tlc.distributed import HERE, Cluster
from wakeproof.judge.tlc.run import Outcome

SHOWN = "MCSearch_shipped.cfg"
"""The counterexample that is always printed: a task that no carrier runs."""

RUNNER_DEFECT = "run again in a JVM of its own, which counts; a shared one had said"
"""A defect of the runner, not of the configuration."""

REASONS = {
    "a twin": "twins (TLC's distributed mode prints no counterexample)",
    "lists properties": "with properties (it checks none)",
    "small": "small",
}


def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[MODULE.tla [CONFIG.cfg]]",
            help="Check your own module. Default: all of wakeproof's specs.",
            show_default=False,
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option("-t", metavar="REGEX", help="Check the configurations whose name matches."),
    ] = None,
    full: Annotated[
        bool, typer.Option(help="Check the large configurations, too (up to an hour).")
    ] = False,
    trace_of: Annotated[
        str | None,
        typer.Option(
            "--trace", metavar="CFG", help="Check one configuration and print its counterexample."
        ),
    ] = None,
    as_json: AsJson = False,
    deadlock: Annotated[
        bool,
        typer.Option(
            help="Count a state without a next step as a violation (your own module only).",
            rich_help_panel=WHAT,
        ),
    ] = True,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Run this many one-worker configurations at a time (your own module: this many "
            "workers). Default: 2, or 1 on one CPU (your own module: 1).",
            rich_help_panel=BOUNDS,
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            help="Stop TLC after this many seconds (your own module only).", rich_help_panel=BOUNDS
        ),
    ] = 600.0,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone",
            help="Start a Java process for each run instead of one for many.",
            rich_help_panel=BOUNDS,
        ),
    ] = False,
    distributed: Annotated[
        bool,
        typer.Option(
            "--distributed",
            help="Check the large configurations, or your own module, by TLC's server and workers "
            "(--jobs of them here). An interrupted run is taken up again at its last checkpoint.",
            rich_help_panel=BOUNDS,
        ),
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Let workers on other machines help, which reach this one by this name; prints "
            "the command that starts one (--distributed only).",
            rich_help_panel=BOUNDS,
        ),
    ] = None,
    shown: Annotated[
        str | None,
        typer.Option(
            "--show",
            metavar="CFG",
            help="Print the files that TLC reads, and check nothing.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    exported: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="DIR",
            help="Write the files that TLC reads to a new folder, and check nothing.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="Record the measured numbers in the tables of the specs.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    html: AsPage = None,
    form: AsFormat = output.TEXT,
) -> None:
    """Model-check every spec with TLC; each broken twin must violate the claim it names.

    With a file, the command checks your own module, in any folder, for what its configuration
    lists.

    Examples:

      wakeproof check                            everything that runs in seconds

      wakeproof check -t Guard                   one concept and its twins

      wakeproof check --trace MCGuard_no_fence   the counterexample, step by step

      wakeproof check --show MCGuard             its bounds, as TLC gets them

      wakeproof check --export tla               a folder for the Toolbox or VS Code

      wakeproof check my.tla                     your own module, with my.cfg beside it

      wakeproof check my.tla --html my.html      its counterexample in a viewer

      wakeproof check --full -t SearchFull --distributed --host me  with the help of others
    """
    out = output.checked(html, form, as_json=as_json)
    cluster = _cluster(host, jobs) if distributed else None
    if cluster is None and host is not None:
        raise UsageError("--host is for --distributed: give both")
    if cluster is not None and (update or alone):
        raise UsageError("--distributed excludes --update and --alone")
    if files:
        if shown is not None or exported is not None:
            raise UsageError(
                "--show and --export are for wakeproof's own specs: leave out the file"
            )
        _check_own(
            files, pattern, full, update, trace_of, as_json, deadlock, jobs, seconds, out, cluster
        )
    if shown is not None or exported is not None:
        _give(shown, exported)
    if update and not locations.is_checkout():
        raise UsageError(
            "--update needs a checkout, for these specs are part of an installed package: "
            "clone the repository, and run it there"
        )
    if trace_of is not None:
        if pattern is not None:
            raise UsageError("-t and --trace exclude each other: give one of them")
        pattern, full = _exactly(trace_of), True
    screen = report.console(stderr=as_json)
    progress = ConfigProgress(screen)
    if cluster is not None:
        _say_split(screen, pattern, full=full)
        found = spread.check(cluster, pattern, full=full, progress=progress.show,
                             watch=progress.watch)  # fmt: skip
    else:
        found = specs.check(pattern, full=full, update=update, alone=alone, jobs=jobs,
                            progress=progress.show)  # fmt: skip
    printed = out.given(
        screen, "wakeproof check", lambda to: _print(to, found, traced=trace_of is not None),
        lambda: _counterexamples(found),
    )  # fmt: skip
    report.end(lambda: summary(found), printed, as_json=as_json, holds=found.holds)


def _cluster(host: str | None, jobs: int | None) -> Cluster:
    workers = len(os.sched_getaffinity(0)) if jobs is None else jobs
    return Cluster(workers, host or HERE).checked()


def _say_split(screen: Console, pattern: str | None, *, full: bool) -> None:
    """Print which configurations are distributed, and why the others are not."""
    shared, others = spread.split(pattern, full=full)
    screen.print(f"distributed, one after another: {', '.join(e.name for e in shared) or 'none'}",
                 markup=False, soft_wrap=True)  # fmt: skip
    reasons = Counter(others.values())
    if others:
        screen.print(
            "in one process: " + ", ".join(f"{n} {REASONS[why]}" for why, n in reasons.items()),
            markup=False, soft_wrap=True,
        )  # fmt: skip


def _counterexamples(found: CheckReport) -> list[Counterexample]:
    """Return every counterexample of our own specs with the sources of its steps."""
    made, labels = models.own(), explore_labels.read(locations.sources())
    excerpts = Excerpts()
    return [
        excerpts.with_sources(of_check.converted(
            result, excerpts, models.modules(result.entry.home(made), result.entry.module), labels
        ))
        for result in found.results if result.tlc.trace
    ]  # fmt: skip


def _give(shown: str | None, exported: Path | None) -> NoReturn:
    """Print or write the files that TLC reads, and end the command."""
    tables = locations.sources() / "specs"
    if shown is not None:
        print("\n".join(models.show(tables, shown)), end="")
    if exported is not None:
        folder = models.export(tables, exported)
        print(f"{len(list(folder.rglob('*.cfg')))} configurations in {folder}")
    raise typer.Exit(errors.EXIT_HOLDS)


def _check_own(
    files: list[Path],
    pattern: str | None,
    full: bool,
    update: bool,
    trace_of: str | None,
    as_json: bool,
    deadlock: bool,
    jobs: int | None,
    seconds: float,
    out: Output,
    cluster: Cluster | None,
) -> None:
    """Check the user's own module, and end the command."""
    if pattern is not None or full or update or trace_of is not None:
        raise UsageError(
            "-t, --full, --update and --trace are for wakeproof's own specs: leave out the file, "
            "or these options"
        )
    if len(files) > 2:
        raise UsageError("one module at a time: wakeproof check MODULE.tla [CONFIG.cfg]")
    if cluster is None and jobs is not None and jobs < 1:
        raise UsageError(f"jobs is {jobs}; allowed: 1 or more")
    if not 1 <= seconds <= specs.FULL_S:
        raise UsageError(f"seconds is {seconds:g}; allowed: 1 to {specs.FULL_S:.0f}")
    screen = report.console(stderr=as_json)
    config = files[1] if len(files) > 1 else None
    if cluster is not None:
        watch = ConfigProgress(screen).watch
        found = spread.check_own(cluster, files[0], config, deadlock=deadlock, seconds=seconds,
                                 watch=watch)  # fmt: skip
    else:
        with screen.status(f"TLC: {files[0].name}"):
            found = own_spec.check_own(files[0], config, deadlock=deadlock, workers=jobs or 1,
                                       seconds=seconds)  # fmt: skip
    printed = out.given(
        screen, f"wakeproof check {found.module.name}", lambda to: _print_own(to, found),
        lambda: _own_counterexamples(found), lambda: _own_graph(found, deadlock=deadlock),
    )  # fmt: skip
    report.end(lambda: own_summary(found), printed, as_json=as_json, holds=found.holds)


def _own_counterexamples(found: OwnReport) -> list[Counterexample]:
    if not found.result.tlc.trace:
        return []
    excerpts, folder = Excerpts(), found.module.absolute().parent
    modules = models.modules(folder, found.module.stem)
    one = of_check.converted(found.result, excerpts, modules, name=str(found.module))
    return [excerpts.with_sources(one)]


def _own_graph(found: OwnReport, *, deadlock: bool) -> list[StateGraph]:
    """Return the state graph of a module that holds, if it is small enough to look at."""
    if not found.holds or found.result.tlc.states > graphs.LARGEST:
        return []
    with Children() as children:
        graph = graphs.dumped(
            found.module.absolute(), found.config, children, name=found.module.stem,
            deadlock=deadlock,
        )  # fmt: skip
    return [graph] if graph else []


def _print_own(screen: Console, found: OwnReport) -> None:
    """Print the counterexample, then how often each action was taken, then the verdict."""
    run = found.result.tlc
    if run.trace:
        print_trace(screen, found.result, str(found.module))
    if found.actions:
        rows = [
            (action.name, action.line, f"{action.taken:,}", f"{action.distinct:,}",
             "" if action.taken else report.verdict("never taken", good=False))
            for action in found.actions
        ]  # fmt: skip
        columns = ("action", ">line", ">taken", ">to new states", "")
        screen.print()
        screen.print(report.table("", columns, rows))
    listed = ", ".join((*found.invariants, *found.properties))
    what = listed or "nothing but deadlock: the configuration lists no INVARIANT, no PROPERTY"
    verdict = "holds" if found.holds else found.result.got
    more = f": {run.message}" if run.message else ""
    if run.outcome is Outcome.TIMEOUT:
        more = ": nothing wrong among the states that were seen, and not all were"
    if run.outcome is Outcome.DEADLOCK:
        more = ": nobody has a step (if that is an end and right: --no-deadlock)"
    screen.print(f"\nchecked: {what}", markup=False, soft_wrap=True)
    screen.print(
        f"{found.module} with {found.config}: {verdict}{more}; {run.states:,} distinct states, "
        f"depth {run.depth}, {run.seconds:.1f} s",
        style="green" if found.holds else "bold red", markup=False, soft_wrap=True,
    )  # fmt: skip


def own_summary(found: OwnReport) -> dict[str, Any]:
    """Return the report on a module of the user's own as plain data."""
    run = found.result.tlc
    return {
        "judge": "check",
        "module": found.module,
        "config": found.config,
        "holds": found.holds,
        "got": found.result.got,
        "message": run.message,
        "violated": found.result.violated,
        "invariants": found.invariants,
        "properties": found.properties,
        "states": run.states,
        "depth": run.depth,
        "actions": list(found.actions),
        "initial": counterexample.initial(run),
        "trace": counterexample.rows(run),
        "seconds": round(run.seconds, 1),
    }


def _exactly(name: str) -> str:
    """Return a pattern that matches only the configuration `name`, which must exist."""
    known = [entry.name for entry in manifest.load(models.own()).values()]
    wanted = name.removesuffix(".cfg")
    if wanted not in known:
        near = difflib.get_close_matches(wanted, known, 5, 0.4) or known[:5]
        raise UsageError(f"--trace {name}: no such configuration; some are: {', '.join(near)}")
    return f"^{re.escape(wanted)}$"


def _print(screen: Console, found: CheckReport, *, traced: bool) -> None:
    for result in found.results:
        if result.tlc.trace and (traced or result.entry.config == SHOWN):
            print_trace(screen, result)
    screen.print()
    print_configs(screen, found)
    for result in found.results:
        if result.wrong:
            screen.print(f"{result.entry.name}: {result.wrong}", markup=False, style="bold red")
    for result in found.runner_defects:
        screen.print(
            f"{result.entry.name}: {RUNNER_DEFECT}: {result.runner}", markup=False, style="yellow"
        )
    twins = sum(result.entry.expect == "violates" for result in found.results)
    screen.print(
        f"\n{len(found.results)} configurations, {twins} of them twins, "
        f"in {found.seconds:.0f} s: {found.verdict}{_defects(found)}{judged_before(found)}",
        style="green" if found.holds else "bold red",
    )


def judged_before(found: CheckReport) -> str:
    """Return how many verdicts come from the store, in words; "": none."""
    dates = [result.since for result in found.results if result.since]
    if not dates:
        return ""
    return f"; {len(dates)} were judged before, since {min(dates)} (WAKEPROOF_FRESH=1 judges all)"


def _defects(found: CheckReport) -> str:
    many = len(found.runner_defects)
    return f", {many} of them only in a JVM of their own" if many else ""


def print_configs(screen: Console, found: CheckReport) -> None:
    """Print a row for each configuration, and each claim on a line of its own."""
    columns = ("config", "claims", "expected", "got", ">states", ">depth", ">seconds", "")
    screen.print(report.table("", columns, [_row(result) for result in found.results]))


def _row(result: ConfigResult) -> list[object]:
    entry, run = result.entry, result.tlc
    return [
        entry.name,
        "\n".join(entry.about),
        entry.expect,
        "violates" if entry.expect == "violates" and not result.wrong else result.got,
        f"{run.states:,}",
        f"trace {len(run.trace)}" if run.trace else run.depth,
        f"{run.seconds:.1f}",
        report.verdict("ok" if result.holds else "WRONG", good=result.holds),
    ]


def print_trace(screen: Console, result: ConfigResult, name: str = "") -> None:
    """Print a counterexample: one line per step with thread, action and what changed."""
    entry = result.entry
    screen.print(
        f"\n{name or entry.name} {result.got}, {len(result.tlc.trace)} states.", markup=False
    )
    if entry.defect:
        screen.print(f"The defect: {entry.defect}", markup=False)
    start = ", ".join(
        f"{name} = {text}" for name, text in counterexample.initial(result.tlc).items()
    )
    screen.print(f"Starts with {start}", markup=False)
    rows = [
        (r.number, r.thread, r.action, "; ".join(r.changes))
        for r in counterexample.rows(result.tlc)
    ]
    screen.print(report.table("", (">step", "thread", "action", "what changed"), rows))


def summary(found: CheckReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "judge": "check",
        "holds": found.holds,
        "seconds": round(found.seconds, 1),
        "results": [
            {
                "config": result.entry.config,
                "claims": result.entry.about,
                "expect": result.entry.expect,
                "got": result.got,
                "violated": result.violated,
                "holds": result.holds,
                "wrong": result.wrong,
                "runner": result.runner,
                "states": result.tlc.states,
                "depth": result.tlc.depth,
                "trace": counterexample.rows(result.tlc),
                "seconds": round(result.tlc.seconds, 1),
                "since": result.since,
            }
            for result in found.results
        ],
    }
