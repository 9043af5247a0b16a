# SPDX-License-Identifier: Apache-2.0
"""`wakeproof stress`: run the scenarios on real cores; each twin must show its defect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from wakeproof.cli.panels import BOUNDS, MODEL, OUTPUT, WHAT, AsJson, AsPage
from wakeproof.cli.progress import StressProgress
from wakeproof.judge import report
from wakeproof.judge.names import finder
from wakeproof.judge.page import render
from wakeproof.judge.stress import allowed, junit
from wakeproof.judge.stress import run as native
from wakeproof.judge.stress.allowed import Standing
from wakeproof.judge.stress.grading import HELD, NOT_JUDGED, VIOLATED, ScenarioReport, TwinReport
from wakeproof.judge.stress.options import StressOptions
from wakeproof.judge.stress.run import StressReport

STYLES = {HELD: "green", VIOLATED: "bold red", NOT_JUDGED: "bold yellow"}
GRADE_STYLES = {"FORBIDDEN": "bold red", "INTERESTING": "cyan", "": "bold red"}


def stress(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE.c]...",
            help="Run your own scenario files. Default: all of wakeproof.",
            show_default=False,
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option("-t", metavar="REGEX", help="Run the scenarios and twins whose name matches."),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Set the time per scenario and build: sanity (the shortest run), quick (0.2 s), "
            "default (1 s) or tough (10 s).",
        ),
    ] = "default",
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Run each scenario and twin for this many seconds, shared by its builds, "
            "instead of --mode; 0 to 86400."
        ),
    ] = None,
    twins: Annotated[bool, typer.Option(help="Run the twins of each scenario, too.")] = True,
    as_json: AsJson = False,
    affinity: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="Place the actors: none (the scheduler decides), global (on CPUs far apart), "
            "local (on CPUs close together), pairs (on each pair); joined by commas.",
            rich_help_panel=WHAT,
        ),
    ] = "none,global,local",
    opt: Annotated[
        str,
        typer.Option(
            metavar="LEVEL,...",
            help="Compile with these optimisations: O0, O1, O2, O3, joined by commas.",
            rich_help_panel=WHAT,
        ),
    ] = "O0,O2,O3",
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="Run only the builds without added delays.", rich_help_panel=WHAT
        ),
    ] = False,
    delayed: Annotated[
        bool,
        typer.Option(
            "--delayed",
            help="Run only the builds that delay accesses at random.",
            rich_help_panel=WHAT,
        ),
    ] = False,
    sanitizer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Compile with a sanitizer: address, undefined, thread or address,undefined.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    computed: Annotated[
        bool,
        typer.Option(
            help="Compare with the outcomes that each memory model allows.", rich_help_panel=MODEL
        ),
    ] = True,
    stride: Annotated[
        int | None,
        typer.Option(
            help="Set the states per rendezvous of the actors, 1 to 4096. Default: a sweep.",
            rich_help_panel=BOUNDS,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Set the seed of all random choices. Default: drawn, and printed.",
            rich_help_panel=BOUNDS,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(help="Fail on a scenario that was not judged.", rich_help_panel=OUTPUT),
    ] = False,
    xml: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            help="Write JUnit XML to this file, too.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    html: AsPage = None,
) -> None:
    """Run scenarios on this machine's cores and grade the outcomes that they show.

    Each outcome is compared with those that SC, x86-TSO and RC11 allow; the explorer computes
    these on first use. An outcome outside RC11 fails. One outside x86-TSO shows that the compiler
    reordered.

    Examples:

      wakeproof stress                           all scenarios, with their twins

      wakeproof stress -t guard --mode quick     one concept, a fifth of a second per build

      wakeproof stress path/to/race.c            your own race, written with stress.h

      wakeproof stress -t guard --seed 7 --opt O2 --plain --no-twins --json
    """
    options = StressOptions(
        mode=mode, seconds=seconds, affinity=_words(affinity), opt=_words(opt), twins=twins,
        stride=stride, seed=seed, sanitizer=sanitizer, computed=computed,
        plain=plain or not delayed,
        delayed=delayed or not plain,
    )  # fmt: skip
    finder(pattern)  # reports a wrong expression before anything is compiled
    render.check_folder("--junit", xml)
    render.check_folder("--html", html)
    screen = report.console(stderr=as_json)
    with StressProgress(screen) as progress:
        found = native.stress(
            files or None, pattern, options, announce=progress.announce, progress=progress.show
        )
    if xml is not None:
        junit.write(found, xml, strict)
    if html is not None:
        render.write(html, "wakeproof stress", lambda to: show(to, found))
    report.end(
        lambda: summary(found, strict), lambda: show(screen, found), as_json=as_json,
        holds=found.ok(strict),
    )  # fmt: skip


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def summary(found: StressReport, strict: bool = False) -> dict[str, Any]:
    """Return the report as plain data."""
    return {"judge": "stress", "holds": found.ok(strict), "strict": strict,
            "not_judged": found.not_judged, "report": found}  # fmt: skip


def show(screen: Console, found: StressReport) -> None:
    """Print a table per scenario, not judged first and violated last, then the twins."""
    order = {NOT_JUDGED: 0, HELD: 1, VIOLATED: 2}
    for warning in found.warnings:
        screen.print(warning, style="yellow", markup=False, soft_wrap=True)
    for scenario in sorted(found.scenarios, key=lambda s: order[s.status]):
        _show_scenario(screen, scenario)
    if found.twins:
        rows = [_twin_row(twin) for twin in sorted(found.twins, key=lambda t: order[t.status])]
        columns = ("twin", "of", "shows", "plain must", ">seen", "delayed must", ">seen", "verdict")
        screen.print(report.table("Twins: the same source with one defect", columns, rows))
        for twin in found.twins:
            _show_messages(screen, twin)
    for line in allowed.summary(found.allowed):
        screen.print(line, markup=False, soft_wrap=True)
    verdicts = list(found.verdicts.values())
    counts = ", ".join(f"{verdicts.count(s)} {s}" for s in (HELD, VIOLATED, NOT_JUDGED))
    screen.print(
        f"\n{len(found.scenarios)} scenarios and {len(found.twins)} twins in "
        f"{found.seconds:.0f} s, seed {found.seed}, {found.machine}, {found.cpus_allowed} CPUs, "
        f"{found.compiler}: {counts}",
        style=STYLES[VIOLATED if found.violated else HELD], markup=False,
    )  # fmt: skip


def _show_scenario(screen: Console, scenario: ScenarioReport) -> None:
    seconds = sum(run.seconds for run in scenario.runs)
    rate = scenario.samples / seconds if seconds else 0
    title = f"[bold]{escape(scenario.name)}[/] [{STYLES[scenario.status]}]{scenario.status}[/]"
    upholds = f"  ({escape(scenario.upholds)})" if scenario.upholds else ""
    screen.print(f"{title}  {escape(scenario.claim)}{upholds}")
    columns = ("outcome", ">samples", ">frequency", "grade", "allowed by", "what it means")
    screen.print(report.table("", columns, _rows(scenario)))
    builds = ", ".join(f"{run.build} {run.samples:,}" for run in scenario.runs)
    rescued = sum(run.asleep for run in scenario.runs)
    tail = f"; {rescued:,} sleepers rescued" if rescued else ""
    screen.print(
        f"{scenario.samples:,} samples, {rate:,.0f} a second ({builds}){tail}", style="dim"
    )
    if scenario.allowed.not_whole:
        screen.print(scenario.allowed.not_whole, style="dim", markup=False, soft_wrap=True)
    _show_messages(screen, scenario)
    screen.print()


def _rows(scenario: ScenarioReport) -> list[list[object]]:
    """Return a row per graded outcome, then one per allowed outcome that was not seen."""
    rows: list[list[object]] = []
    for row in scenario.rows:
        standing = scenario.allowed.of(row.outcome)
        style = GRADE_STYLES.get(row.grade, "") if row.samples else "dim"
        rows.append([
            row.outcome, f"{row.samples:,}", f"{row.frequency:.4%}",
            Text(row.grade or "no grade", style=style),
            _allowed_by(standing), _meaning(standing, row.reason),
        ])  # fmt: skip
    graded = {row.outcome for row in scenario.rows}
    rows += [
        [Text(cell, style="dim") for cell in (s.outcome, "0", "", "", s.allowed_by, s.means)]
        for s in scenario.allowed.outcomes
        if s.outcome not in graded
    ]
    return rows


def _allowed_by(standing: Standing | None) -> str:
    return (standing.allowed_by or "none") if standing else ""


def _meaning(standing: Standing | None, reason: str) -> str:
    """Return the declared reason, after the models' verdict if that is more than `seen`."""
    if standing is None or standing.means == allowed.SEEN:
        return reason
    flags = f" ({standing.flags})" if standing.builds else ""
    return f"{standing.means}{flags}; {reason}"


def _twin_row(twin: TwinReport) -> list[object]:
    cells: list[object] = [twin.name, twin.of, twin.shows]
    for judge in ("stress", "delayed"):
        samples = twin.samples.get(judge, 0)
        shown = twin.shown.get(judge, 0)
        expected = {"must": "see", "may": "may see", "must not": "not see"}
        cells.append(expected.get(twin.expected.get(judge, ""), "not run"))
        cells.append(f"{shown:,} ({shown / samples:.2%})" if samples else "")
    return [*cells, Text(twin.status, style=STYLES[twin.status])]


def _show_messages(screen: Console, of: ScenarioReport | TwinReport) -> None:
    for message in of.messages:
        screen.print(
            f"{of.name}: {of.status}: {message}", style=STYLES[of.status], markup=False,
            soft_wrap=True,
        )  # fmt: skip
