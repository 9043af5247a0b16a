# SPDX-License-Identifier: Apache-2.0
"""`wakeproof check`: model-check the specs; each broken twin must fail."""

from __future__ import annotations

import difflib
import re
from typing import Annotated, Any

import typer
from rich.console import Console

from wakeproof import errors, paths, report
from wakeproof.cli.progress import ConfigProgress
from wakeproof.errors import UsageError
from wakeproof.judge import manifest, specs, trace
from wakeproof.judge.specs import CheckReport, ConfigResult

SHOWN = "MCSearch_shipped.cfg"
"""The counterexample that is printed without being asked for: DESIGN section 3 tells its story."""


def check(
    pattern: Annotated[
        str | None, typer.Option("-t", metavar="REGEX", help="Only configurations of such a name.")
    ] = None,
    full: Annotated[bool, typer.Option(help="The large ones as well (up to an hour).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Record the measured numbers in the manifest.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(help="One-worker runs at a time (2, or the CPUs).")
    ] = None,
    trace_of: Annotated[
        str | None, typer.Option("--trace", metavar="CFG", help="Run one, print its trace.")
    ] = None,
) -> None:
    """Model-check every spec with TLC; each broken twin must violate the claim it names.

    Examples:

      wakeproof check                            everything that runs in seconds

      wakeproof check -t Guard                   one concept and its twins

      wakeproof check --trace MCGuard_no_fence   the counterexample, step by step
    """
    if update and not paths.is_checkout():
        raise UsageError("--update needs a checkout: these specs are part of an installed package")
    if trace_of is not None:
        if pattern is not None:
            raise UsageError("-t and --trace exclude each other: --trace names one configuration")
        pattern, full = _exactly(trace_of), True
    screen = report.console(stderr=as_json)
    found = specs.check(
        pattern, full=full, update=update, jobs=jobs, progress=ConfigProgress(screen).show
    )
    if as_json:
        print(report.to_json(summary(found)))
    else:
        _print(screen, found, traced=trace_of is not None)
    raise typer.Exit(errors.EXIT_HOLDS if found.holds else errors.EXIT_VIOLATED)


def _exactly(name: str) -> str:
    """Return the pattern of one configuration, which must exist."""
    known = [entry.name for entry in manifest.load(paths.sources() / "specs").values()]
    wanted = name.removesuffix(".cfg")
    if wanted not in known:
        near = difflib.get_close_matches(wanted, known, 5, 0.4) or known[:5]
        raise UsageError(f"--trace {name}: no such configuration; some are: {', '.join(near)}")
    return f"^{re.escape(wanted)}$"


def _print(screen: Console, found: CheckReport, *, traced: bool) -> None:
    for result in found.results:
        if result.tlc.trace and (traced or result.entry.config == SHOWN):
            print_trace(screen, result)
    columns = ("config", "claims", "expected", "got", ">states", ">depth", ">seconds", "")
    screen.print()
    screen.print(report.table("", columns, [_row(result) for result in found.results]))
    for result in found.results:
        if result.wrong:
            screen.print(f"{result.entry.name}: {result.wrong}", markup=False, style="bold red")
    wrong = sum(not result.holds for result in found.results)
    twins = sum(result.entry.expect == "violates" for result in found.results)
    verdict = "all as expected" if found.holds else f"{wrong} WRONG"
    screen.print(
        f"\n{len(found.results)} configurations, {twins} of them twins, "
        f"in {found.seconds:.0f} s: {verdict}",
        style="green" if found.holds else "bold red",
    )


def _row(result: ConfigResult) -> list[object]:
    entry, run = result.entry, result.tlc
    return [
        entry.name,
        _claims(entry.about),
        entry.expect,
        "violates" if entry.expect == "violates" and not result.wrong else result.got,
        f"{run.states:,}",
        f"trace {len(run.trace)}" if run.trace else run.depth,
        f"{run.seconds:.1f}",
        report.verdict("ok" if result.holds else "WRONG", good=result.holds),
    ]


def _claims(claims: tuple[str, ...]) -> str:
    """Return the claims with a module's name only where it changes: Guard!Served, NoLostWakeup."""
    shown: list[str] = []
    last = ""
    for claim in claims:
        module, _, name = claim.partition("!")
        shown.append(name if module == last else claim)
        last = module
    return ", ".join(shown)


def print_trace(screen: Console, result: ConfigResult) -> None:
    """Print a counterexample: one line per step with thread, action and what changed."""
    entry = result.entry
    screen.print(f"\n{entry.name} {result.got}, {len(result.tlc.trace)} states.", markup=False)
    if entry.defect:
        screen.print(f"The defect: {entry.defect}", markup=False)
    start = ", ".join(f"{name} = {text}" for name, text in trace.initial(result.tlc).items())
    screen.print(f"Starts with {start}", markup=False)
    rows = [(r.number, r.thread, r.action, "; ".join(r.changes)) for r in trace.rows(result.tlc)]
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
                "states": result.tlc.states,
                "depth": result.tlc.depth,
                "trace": trace.rows(result.tlc),
                "seconds": round(result.tlc.seconds, 1),
            }
            for result in found.results
        ],
    }
