# SPDX-License-Identifier: Apache-2.0
"""`wakeproof audit`: every claim against every judge, in one table."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from wakeproof import audit as auditing
from wakeproof import errors, paths, report
from wakeproof.audit import HOLDS, VIOLATED, AuditReport, ClaimRow
from wakeproof.cli.progress import ConfigProgress, StressProgress
from wakeproof.errors import UsageError
from wakeproof.judge import native, specs
from wakeproof.judge.native import StressOptions

COLUMNS = ("claim", "check: configs", ">states", ">depth", "stress", ">samples", "check",
           "stress", "delayed", "verdict")  # fmt: skip
LEGEND = """\
check: TLC over every state of the passing configurations; states and depth as it printed them.
stress: scenarios on real cores and their samples, over all builds and places.
The next three columns: twins that this judge had to see, and saw, of those declared for it.
A claim without a scenario is judged by check alone. Not judged here: {later} (the explorer)."""


def audit(
    mode: Annotated[
        str, typer.Option(help="Stress budget: sanity, quick, default or tough.")
    ] = "quick",
    strict: Annotated[bool, typer.Option(help="Fail on what could not be judged as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the table as Markdown.")
    ] = None,
) -> None:
    """Judge every claim and print claim x judge, with bounds and the twins that each judge killed.

    Fails when a claim has no row or no judge, when a judge fails, and when a twin is missed by a
    judge that it declares or seen by one that it does not.

    Examples:

      wakeproof audit                   model checking, quick stress

      wakeproof audit --mode tough      before a release

      wakeproof audit --markdown a.md   for a page
    """
    options = StressOptions(mode=mode).checked()
    if markdown is not None and not markdown.absolute().parent.is_dir():
        raise UsageError(f"--markdown {markdown}: there is no folder {markdown.absolute().parent}")
    screen = report.console(stderr=as_json)
    root = paths.sources()
    checked = specs.check(progress=ConfigProgress(screen).show)
    with StressProgress(screen) as progress:
        stressed = native.stress(
            options=options, announce=progress.announce, progress=progress.show
        )
    found = auditing.audit(root / "specs", kernel_claims(root / "kernel"), checked, stressed)
    if markdown is not None:
        paths.write_atomically(markdown, to_markdown(found))
    if as_json:
        print(report.to_json(summary(found)))
    else:
        _print(screen, found)
    is_open = any(row.status not in (HOLDS, VIOLATED) for row in found.rows)
    violated = bool(found.problems) or any(row.status == VIOLATED for row in found.rows)
    bad = violated or (strict and is_open)
    raise typer.Exit(errors.EXIT_VIOLATED if bad else errors.EXIT_HOLDS)


def kernel_claims(kernel: Path) -> list[tuple[str, str]]:
    """Return (label, claim) of each labelled site; tools/pairs.py checks the comments."""
    site = re.compile(r"\[([A-Z]{1,2}\d*)\][^[]*?\bupholds\s+(?:\*\s+)?(\w+!\w+)")
    texts = (path.read_text(encoding="utf-8") for path in sorted(kernel.glob("*.[ch]")))
    return [(label, claim) for text in texts for label, claim in site.findall(text)]


def _cells(row: ClaimRow) -> list[str]:
    return [
        row.claim,
        ", ".join(row.configs),
        f"{row.states:,}",
        str(row.depth),
        ", ".join(row.scenarios) or "-",
        f"{row.samples:,}" if row.samples else "-",
        str(row.check_twins),
        str(row.stress_twins),
        str(row.delayed_twins),
        row.status,
    ]


def _legend(found: AuditReport) -> str:
    later = ", ".join(auditing.LATER_JUDGES)
    facts = found.stress
    return (
        LEGEND.format(later=later)
        + f"\nstress ran in mode {facts.mode} on {facts.machine}, {facts.cpus_allowed} CPUs "
        f"allowed, {facts.compiler}, seed {facts.seed}."
    )


def _print(screen: Console, found: AuditReport) -> None:
    rows: list[list[object]] = []
    for row in sorted(found.rows, key=lambda row: row.status == HOLDS):
        cells: list[object] = [*_cells(row)]
        cells[-1] = report.verdict(row.status, good=row.status == HOLDS)
        rows.append(cells)
    screen.print()
    screen.print(report.table("claim x judge", COLUMNS, rows))
    for line in _problems(found):
        screen.print(line, style="bold red", markup=False, soft_wrap=True)
    screen.print(_legend(found), markup=False, soft_wrap=True)
    good = sum(row.status == HOLDS for row in found.rows)
    seconds = found.check.seconds + found.stress.seconds
    screen.print(f"\n{good} of {len(found.rows)} claims hold ({seconds:.0f} s)", markup=False)


def _problems(found: AuditReport) -> list[str]:
    own = [f"{row.claim}: {problem}" for row in found.rows for problem in row.problems]
    return [*own, *found.problems]


def to_markdown(found: AuditReport) -> str:
    """Return the table, what is wrong and the legend as Markdown."""
    heads = [column.lstrip(">") for column in COLUMNS]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in found.rows]
    lines += ["", *(f"- {problem}" for problem in _problems(found)), "", _legend(found), ""]
    return "\n".join(lines)


def summary(found: AuditReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "holds": found.holds,
        "problems": found.problems,
        "claims": list(found.rows),
        "not_here": auditing.LATER_JUDGES,
        "stress": replace(found.stress, scenarios=(), twins=()),
        "check_seconds": round(found.check.seconds, 1),
    }
