# SPDX-License-Identifier: Apache-2.0
"""`wakeproof stress`: run the scenarios on real cores; each twin must show its defect."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from wakeproof import locations
from wakeproof.cli.panels import BOUNDS, MODEL, OUTPUT, WHAT, AsDask, AsJson, AsPage, InSandbox
from wakeproof.cli.progress import StressProgress
from wakeproof.errors import UsageError
from wakeproof.judge import report
from wakeproof.judge.junit import Case, document
from wakeproof.judge.names import finder
from wakeproof.judge.own import repeat as own
from wakeproof.judge.own.program import Program, has_main, is_scenario, of_files, without_flags
from wakeproof.judge.own.repeat import RepeatReport
from wakeproof.judge.page import render
from wakeproof.judge.stress import allowed, junit, shards
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
            metavar="[FILE]...",
            help="Run your own scenario files (.c with STRESS_TEST), or programs (.c, .cpp with a "
            "main, and their other files). What begins with - and stands after -- is a flag of "
            "the compiler of programs. Default: all scenarios of wakeproof.",
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
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Run all with each of N seeds, from --seed on, and judge what they show together. "
            "With --dask the seeds are shared among workers.",
            rich_help_panel=BOUNDS,
        ),
    ] = 1,
    dask: AsDask = None,
    _sandbox: InSandbox = False,
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
    argument: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            metavar="TEXT",
            help="Give this argument to your program's main.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    html: AsPage = None,
) -> None:
    """Run scenarios on this machine's cores and grade the outcomes that they show.

    Each outcome is compared with those that SC, x86-TSO and RC11 allow; the explorer computes
    these on first use. An outcome outside RC11 fails. One outside x86-TSO shows that the compiler
    reordered.

    A program with a main is run again and again. It fails if a run crashes, returns another code
    than 0, does not end in 10 seconds, or if all its threads sleep for ever, which is proven.

    Examples:

      wakeproof stress                           all scenarios, with their twins

      wakeproof stress -t guard --mode quick     one concept, a fifth of a second per build

      wakeproof stress path/to/race.c            your own race, written with stress.h

      wakeproof stress test.c queue.c -- -Iinclude  your own program, with its threads

      wakeproof stress -t guard --seed 7 --opt O2 --plain --no-twins --json

      wakeproof stress -t guard --seeds 64 --dask tcp://10.0.0.1:8786  on many machines
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
    given, programs = _split(files or [], argument or [])
    if programs and (dask is not None or seeds != 1):
        raise UsageError("--dask and --seeds are for scenarios, not for programs with a main")
    if programs:
        _repeat(screen, programs, options, xml, html, as_json=as_json)
    with StressProgress(screen) as progress:
        if dask is not None or seeds != 1:
            found = shards.run(given or None, pattern, options, dask, progress.show, seeds=seeds)
        else:
            found = native.stress(
                given or None, pattern, options, announce=progress.announce, progress=progress.show
            )
    if xml is not None:
        junit.write(found, xml, strict)
    if html is not None:
        render.write(html, "wakeproof stress", lambda to: show(to, found))
    report.end(
        lambda: summary(found, strict), lambda: show(screen, found), as_json=as_json,
        holds=found.ok(strict),
    )  # fmt: skip


def _split(files: list[Path], arguments: list[str]) -> tuple[list[Path], list[Program]]:
    """Return the scenario files, and the programs.

    Raises:
        UsageError: there are both, or flags or arguments and no program.
    """
    given, flags = without_flags(files)
    for file in given:
        if not file.is_file():
            raise UsageError(f"no file {file}")
    scenarios = [file for file in given if file.suffix == ".c" and is_scenario(file)]
    others = [file for file in given if file not in scenarios]
    if others and not any(has_main(file) for file in others):
        others, scenarios = [], given  # the list of scenarios says what is wrong
    if others and scenarios:
        raise UsageError(f"{scenarios[0]} declares scenarios and {others[0]} belongs to a program: "
                         "run them one by one")  # fmt: skip
    if not others and (flags or arguments):
        raise UsageError(f"{(flags + arguments)[0]} is for programs with a main, and there is none")
    return scenarios, of_files(others, flags, arguments) if others else []


def _repeat(
    screen: Console,
    programs: list[Program],
    options: StressOptions,
    xml: Path | None,
    html: Path | None,
    *,
    as_json: bool,
) -> NoReturn:
    seed = options.seed if options.seed is not None else random.SystemRandom().getrandbits(32)
    with StressProgress(screen) as progress:
        found = own.repeat(programs, options, seed, progress.show)
    if xml is not None:
        cases = [
            Case("wakeproof.stress.program", one.name,
                 "failure" if one.status == VIOLATED else "", "\n".join(one.messages),
                 sum(runs.seconds for runs in one.builds))
            for one in found.programs
        ]  # fmt: skip
        locations.write_atomically(xml, document("wakeproof.stress", cases, found.seconds))
    if html is not None:
        render.write(html, "wakeproof stress", lambda to: own_show(to, found))
    report.end(
        lambda: {"judge": "stress", "holds": found.ok(), "report": found},
        lambda: own_show(screen, found), as_json=as_json, holds=found.ok(),
    )  # fmt: skip


def own_show(screen: Console, found: RepeatReport) -> None:
    """Print a table of ends for each program."""
    for warning in found.warnings:
        screen.print(warning, style="yellow", markup=False, soft_wrap=True)
    for one in found.programs:
        screen.print(f"[bold]{escape(one.name)}[/] [{STYLES[one.status]}]{one.status}[/]")
        rows: list[list[object]] = [
            [runs.build, f"{end.runs:,}", Text(end.words, style="bold red" if end.is_bad else ""),
             end.printed]
            for runs in one.builds for end in runs.ends
        ]  # fmt: skip
        rows += [[runs.build, f"{runs.others:,}", "in other ways", ""]
                 for runs in one.builds if runs.others]  # fmt: skip
        screen.print(report.table("", ("build", ">runs", "how they end", "printed"), rows))
        seconds = sum(runs.seconds for runs in one.builds)
        rate = one.runs / seconds if seconds else 0
        screen.print(f"{one.runs:,} runs, {rate:,.0f} a second", style="dim")
        for message in one.messages:
            screen.print(f"{one.name}: {one.status}: {message}", style=STYLES[one.status],
                         markup=False, soft_wrap=True)  # fmt: skip
        screen.print()
    screen.print(
        f"{len(found.programs)} programs in {found.seconds:.0f} s, seed {found.seed}, "
        f"{found.machine}, {found.compiler}: runs without a bad end prove nothing",
        style=STYLES[VIOLATED if found.violated else HELD], markup=False, soft_wrap=True,
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
