# SPDX-License-Identifier: Apache-2.0
"""`wakeproof audit`: every claim against every judge, in one table."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from rich.console import Console

from wakeproof import errors, locations
from wakeproof.cli.panels import OUTPUT, AsJson
from wakeproof.cli.progress import ConfigProgress, StressProgress
from wakeproof.errors import UsageError
from wakeproof.judge import lock, needs, report, store, verdicts
from wakeproof.judge.audit import claims, collected, compiled, formats, own, proofs
from wakeproof.judge.audit import run as auditing
from wakeproof.judge.audit.claims import Claim
from wakeproof.judge.audit.run import (
    GOOD,
    HOLDS,
    NOT_JUDGED,
    NOW,
    SPECIFICATION_ONLY,
    VIOLATED,
    AuditReport,
    ClaimRow,
)
from wakeproof.judge.check import run as specs
from wakeproof.judge.check.run import CheckReport
from wakeproof.judge.conform import run as conform
from wakeproof.judge.conform.run import ConformReport
from wakeproof.judge.explore import run as explore
from wakeproof.judge.linear import run as linear
from wakeproof.judge.orders import run as orders
from wakeproof.judge.orders.report import EXPLAINED
from wakeproof.judge.page import graphs, render
from wakeproof.judge.page.data import Report, schema
from wakeproof.judge.process import Children
from wakeproof.judge.stress import allowed, outcome_sets
from wakeproof.judge.stress import run as native
from wakeproof.judge.stress.run import StressOptions
from wakeproof.judge.tlc import models
from wakeproof.judge.traces import run as tracing
from wakeproof.judge.traces import show as recorded
from wakeproof.judge.verdicts import Rows

T = TypeVar("T")
COLUMNS = ("claim", "check: configs", ">states", ">depth", "conform", "scenarios", "explored",
           ">samples", "check", "sc", "tso", "rc11", "stress", "delayed", "judged",
           "verdict")  # fmt: skip
TRACED_RUNS = 100  # of each concept
STRESSED = ("O2",)
"""The builds that stress runs here; `wakeproof stress` also runs -O0 and -O3."""
LOCKED_MODE = "quick"
"""The stress mode in which verdicts.lock is written, and in which CI judges."""
LEGEND = """\
check: TLC over every state of the passing configurations; states and depth as it printed them.
conform: the state graph of the compiled code under SC is the spec's, edge by edge, up to \
branching bisimulation, at the bounds that `wakeproof conform` prints, which also runs slow twins.
explored: the scenarios under SC, x86-TSO and RC11, compiled from the same sources: whole, or in \
part (`wakeproof explore` says by which bound).
stress: the scenarios on real cores and their samples, with -O2, without and with delays, in \
all places; `wakeproof stress` has -O0 and -O3, too.
The six columns of judges: twins that this judge had to see, and saw, of those declared.
judged: now, or when the oldest of what check, explore and stress say of the claim was judged.
verdict: holds: of the specification and of the code. Specification only: check alone judges the \
claim, for it has no scenario and its concept no comparison; no judge sees the code keep it. \
Why, for each:"""


def audit(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]",
            help="Judge your own project: the modules and scenarios in this folder. Default: "
            "wakeproof itself.",
            show_default=False,
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Set the time of stress per scenario and build: sanity (the shortest run), quick "
            "(0.2 s), default (1 s) or tough (10 s).",
        ),
    ] = LOCKED_MODE,
    strict: Annotated[bool, typer.Option(help="Fail on a claim that was not judged.")] = False,
    deadlock: Annotated[
        bool,
        typer.Option(help="Count a state without a next step as a violation (with FOLDER only)."),
    ] = True,
    as_json: AsJson = False,
    listed: Annotated[
        bool,
        typer.Option(
            "--claims", help="Print each claim in words, with its code, and run no judge."
        ),
    ] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the table as Markdown to this file, too.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write JUnit XML to this file, too: a case for each claim.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    sarif: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write SARIF to this file, too: a result for each problem, with its place.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the page to this file, and its data and their schema beside it. Default: "
            "build/audit/index.html; for a FOLDER, wakeproof-audit.html.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Judge every claim and print claim x judge, with bounds and the twins that each judge killed.

    The audit fails when a claim has no row or no judge, when a judge fails, when a judge misses a
    twin that it declares or sees one that it does not declare, and when verdicts.lock disagrees.

    It judges what has changed since it was last judged here. WAKEPROOF_FRESH=1 judges all and
    writes verdicts.lock. WAKEPROOF_CI=1 judges what verdicts.lock lacks, and an eighth of the
    rest.

    Examples:

      wakeproof audit                     what has changed

      WAKEPROOF_FRESH=1 wakeproof audit   all: a quarter of an hour

      wakeproof audit --mode tough        before a release

      wakeproof audit --markdown a.md     the table for a page

      wakeproof audit --junit a.xml --sarif a.sarif   for a CI system, and for code review

      wakeproof audit --claims            each claim in words, and its code; runs no judge

      wakeproof audit my/project          the modules and scenarios of your own project
    """
    if listed:
        if folder or strict or mode != LOCKED_MODE or any((markdown, junit, sarif, html)):
            raise UsageError("--claims runs no judge: leave out FOLDER, --strict, --mode and the "
                             "files")  # fmt: skip
        _print_claims(claims.read(locations.sources()), as_json=as_json)
        return
    if folder is None and not deadlock:
        raise UsageError("--no-deadlock is for a project of your own: name its FOLDER")
    options = StressOptions(mode=mode, opt=STRESSED).checked()
    files = {"--markdown": markdown, "--junit": junit, "--sarif": sarif, "--html": html}
    for option, file in files.items():
        render.check_folder(option, file)
    needs.require_judges()
    screen = report.console(stderr=as_json)
    if folder is not None:
        written = ((markdown, own.to_markdown), (junit, formats.to_junit),
                   (sarif, own.to_sarif(folder)))  # fmt: skip
        _audit_own(screen, folder, options, html, written, deadlock=deadlock, as_json=as_json,
                   strict=strict)  # fmt: skip
    root = locations.sources()
    rows = verdicts.of_audit(root)
    with screen.status("compiling what the judges run"):
        compiled.compile_for(rows, options, TRACED_RUNS)
    checked, conformed = _specs(screen, rows)
    with StressProgress(screen) as progress:
        explored = explore.explore(
            options=outcome_sets.BOUNDS, progress=progress.show, jobs=2, rows=rows
        )
        stressed = native.stress(
            options=options, allowed=outcome_sets.of_report(explored),
            announce=progress.announce, progress=progress.show, rows=rows,
            listed=compiled.LISTED,
        )  # fmt: skip
        ordered = orders.orders(progress=progress.show, jobs=2, rows=rows)
    with screen.status("traces: runs on real cores against the specs"):
        traced = tracing.traces(count=TRACED_RUNS, rows=rows)
    with screen.status("linear: histories of queues and biased lock"):
        linearized = linear.linear(slow=False, rows=rows)
    with screen.status("prove: quick proofs of this share"):
        proofs.again(root, rows)
        proved = proofs.known(root, rows)
    sites = claims.kernel_claims(root / "kernel")
    found = auditing.audit(
        root / "specs", sites, checked, stressed, explored, conformed, ordered, traced, linearized,
        rows,
    )  # fmt: skip
    if markdown is not None:
        locations.write_atomically(markdown, to_markdown(found))
    if as_json:
        print(report.to_json(summary(found)))
    else:
        show(screen, found)
    if store.is_fresh() and locations.is_checkout():
        _write_lock(screen, root, found, mode)
    with screen.status("the page"):
        data = _collected(found, root, proved)
        page = _write_page(html, data)
    if junit is not None:
        locations.write_atomically(junit, formats.to_junit(data))
    if sarif is not None:
        modules = (root / "specs").rglob("*.tla")
        found_text = report.to_json(formats.to_sarif(data, root, modules))
        locations.write_atomically(sarif, found_text + "\n")
    here = page.relative_to(Path.cwd()) if page.is_relative_to(Path.cwd()) else page
    screen.print(f"The page: {here}", markup=False, soft_wrap=True)
    is_open = any(row.status not in (*GOOD, VIOLATED) for row in found.rows)
    violated = bool(found.problems) or any(row.status == VIOLATED for row in found.rows)
    bad = violated or (strict and is_open)
    raise typer.Exit(errors.EXIT_VIOLATED if bad else errors.EXIT_HOLDS)


def _audit_own(
    screen: Console,
    folder: Path,
    options: StressOptions,
    html: Path | None,
    files: Iterable[tuple[Path | None, Callable[[Report], str]]],
    *,
    deadlock: bool,
    as_json: bool,
    strict: bool,
) -> NoReturn:
    """Judge a project of the user's own, write what is asked for, and end the command."""
    chosen = own.find(folder)
    with screen.status(f"{chosen.count} files") as status:
        found = own.audit(folder, chosen, options, status.update, deadlock=deadlock)
    for file, to_text in files:
        if file is not None:
            locations.write_atomically(file, to_text(found))
    page = _write_page(html or Path("wakeproof-audit.html"), found)
    if as_json:
        print(found.model_dump_json(indent=1))
    else:
        _show_own(screen, found)
    screen.print(f"The page: {page}", markup=False, soft_wrap=True)
    is_open = any(claim.status == NOT_JUDGED for claim in found.claims)
    violated = bool(found.problems) or any(claim.status == VIOLATED for claim in found.claims)
    bad = violated or (strict and is_open)
    raise typer.Exit(errors.EXIT_VIOLATED if bad else errors.EXIT_HOLDS)


def _show_own(screen: Console, found: Report) -> None:
    """Print a line for each claim, then what is wrong, then the rows that judge no claim."""
    rows = [
        (*cells, report.verdict(status, good=status == HOLDS))
        for *cells, status in own.table(found)
    ]
    screen.print(report.table("", own.COLUMNS, rows))
    for problem in found.problems:
        screen.print(problem, style="bold red", markup=False, soft_wrap=True)
    for row in found.rows:
        if row.judge == own.NO_JUDGE:
            screen.print(f"{row.name}: {row.verdict}", style="dim", markup=False, soft_wrap=True)
    screen.print(f"\n{found.verdict}", markup=False, soft_wrap=True)


def _collected(found: AuditReport, root: Path, proved: Mapping[str, str]) -> Report:
    """Return the report's data, with the state graphs of small configurations."""
    tables = models.tables(root / "specs")
    about = {name: model.about for table in tables for name, model in table.models.items()}
    with Children() as children:
        made = models.folder(root / "specs")
        small = graphs.of_results(made, found.check.results, about, children)
    return collected.collected(found, root, proved, tuple(small))


def _write_page(html: Path | None, data: Report) -> Path:
    """Write the page, its data and their schema; return the page's file."""
    page = html or locations.cache() / "audit" / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    locations.write_atomically(page.with_suffix(".json"), data.model_dump_json(indent=1) + "\n")
    locations.write_atomically(page.with_suffix(".schema.json"), report.to_json(schema()) + "\n")
    render.write_report(page, data)
    return page


def _write_lock(screen: Console, root: Path, found: AuditReport, mode: str) -> None:
    """Write the lock of a full audit that holds."""
    if mode != LOCKED_MODE:
        said = f"{lock.NAME} is left as it is: it has the mode {LOCKED_MODE}, not {mode}"
    elif not found.holds:
        said = f"{lock.NAME} is left as it is: not every claim holds"
    else:
        rows = [row for row in found.judged.all if row.holds]
        lock.write(root / lock.NAME, rows, store.now())
        said = f"{lock.NAME} has {len(rows)} rows"
    screen.print(said, markup=False, soft_wrap=True)


def _specs(screen: Console, rows: Rows) -> tuple[CheckReport, ConformReport]:
    """Check the specs and compare them with the code, side by side: comparing takes one CPU."""
    with Children() as children:
        compared = _aside(lambda: conform.conform(slow_twins=False, children=children, rows=rows))
        checked = specs.check(progress=ConfigProgress(screen).show, rows=rows)
        with screen.status("conform: spec against code"):
            return checked, compared.result()


def _aside(call: Callable[[], T]) -> Future[T]:
    """Make the call in a daemon thread; when the job ends, its child processes are killed."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # raised again where the caller takes the result
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _print_claims(found: list[Claim], *, as_json: bool) -> None:
    if as_json:
        print(report.to_json({"judge": "audit", "claims": found}))
        return
    columns = ("claim", "kind", "in words", "code", "scenarios", "compared (conform)")
    rows = [
        (one.name, one.kind, one.sentence, ", ".join(one.code), ", ".join(one.scenarios) or "-",
         ", ".join(one.compared) or "-") for one in found
    ]  # fmt: skip
    screen = report.console()
    screen.print(report.table("", columns, rows))
    screen.print(f"\n{len(found)} claims")


def _cells(row: ClaimRow) -> list[str]:
    return [
        row.claim,
        ", ".join(row.configs),
        f"{row.states:,}",
        str(row.depth),
        row.conforms or "-",
        ", ".join(row.scenarios) or "-",
        row.explored or "-",
        f"{row.samples:,}" if row.samples else "-",
        str(row.check_twins),
        *(str(killed) for killed in row.model_twins.values()),
        str(row.stress_twins),
        str(row.delayed_twins),
        row.judged,
        row.status,
    ]


def _legend(found: AuditReport) -> str:
    facts = found.stress
    good, total = found.orders.score
    return (
        LEGEND
        + _alone(found)
        + f"\ntraces: {found.traces.text}"
        + _observed(found)
        + f"\norders: {total} sites have a weaker order; {good} of these are killed in a scenario "
        f"by it or explained in their comment ({found.orders.count(EXPLAINED)}). "
        f"{found.orders.rests}."
        + _linear(found)
        + f"\nstress ran in mode {facts.mode} on {facts.machine}, {facts.cpus_allowed} CPUs "
        f"allowed, {facts.compiler}, seed {facts.seed}."
    )


def _alone(found: AuditReport) -> str:
    """Return a line for each reason why only TLC judges a claim."""
    claims: dict[str, list[str]] = {}
    for row in found.rows:
        if row.status == SPECIFICATION_ONLY:
            claims.setdefault(row.reason or "no reason is given", []).append(row.claim)
    lines = (f"\n  {', '.join(names)}: {reason}." for reason, names in claims.items())
    return "".join(lines) or " there is no such claim."


def _linear(found: AuditReport) -> str:
    """Return the specs against which the queues and the biased lock are linearizable."""
    results = found.linearized.results
    good = dict.fromkeys(
        f"{r.case.name} under {r.case.model.upper()} ({r.case.against})"
        for r in results if r.holds and not r.case.must_fail
    )  # fmt: skip
    fail = [r for r in results if r.case.must_fail]
    return (
        f"\nlinear: every history of stress/linear has points that explain it: {', '.join(good)}; "
        f"{sum(r.holds for r in fail)} of {len(fail)} twins and stronger specs have one that has "
        "none."
    )


def _observed(found: AuditReport) -> str:
    """Report whether each outcome seen on real cores is allowed by SC, by TSO or by RC11."""
    return "".join(f"\n{line}." for line in allowed.summary(found.allowed))


def show(screen: Console, found: AuditReport) -> None:
    """Print claim x judge, what is wrong, the legend and the time of each judge."""
    rows: list[list[object]] = []
    for row in sorted(
        found.rows, key=lambda row: GOOD.index(row.status) if row.status in GOOD else -1
    ):
        cells: list[object] = [*_cells(row)]
        cells[-1] = report.verdict(row.status, good=row.status in GOOD)
        rows.append(cells)
    screen.print()
    screen.print(report.table("claim x judge", COLUMNS, rows))
    for line in _problems(found):
        screen.print(line, style="bold red", markup=False, soft_wrap=True)
    screen.print(_legend(found), markup=False, soft_wrap=True)
    check, beside, *others = _shares(found).items()  # these two run side by side
    shares = [("check beside conform", max(check[1], beside[1])), *others]
    spent = ", ".join(f"{judge} {seconds:.0f}" for judge, seconds in shares)
    total = sum(seconds for _, seconds in shares)
    line = f"{counted(found)} ({total:.0f} s: {spent})"
    screen.print(f"\n{line}", markup=False, soft_wrap=True)
    for judge, (now, before, since) in found.judged.by_judge.items():
        of = f", {before} before, since {since}" if before else ""
        screen.print(f"  {judge}: {now} rows judged now{of}", markup=False, soft_wrap=True)
    screen.print(found.judged.summary, markup=False, soft_wrap=True)


def counted(found: AuditReport) -> str:
    """Return the number of claims by verdict: ``137 of 188 claims hold, 51 specification only``."""
    holding, alone = found.count(HOLDS), found.count(SPECIFICATION_ONLY)
    rest = len(found.rows) - holding - alone
    return (
        f"{holding} of {len(found.rows)} claims hold, {alone} {SPECIFICATION_ONLY}"
        + f", {rest} do not" * bool(rest)
    )


def _shares(found: AuditReport) -> dict[str, float]:
    """Return the seconds that each judge took."""
    return {
        "check": found.check.seconds, "conform": found.conform.seconds,
        "stress": found.stress.seconds, "explore": found.explore.seconds,
        "orders": found.orders.seconds, "traces": found.traces.seconds,
        "linear": found.linearized.seconds,
    }  # fmt: skip


def _problems(found: AuditReport) -> list[str]:
    own = [f"{row.claim}: {problem}" for row in found.rows for problem in row.problems]
    return [*own, *found.problems]


def to_markdown(found: AuditReport) -> str:
    """Return the table, what is wrong and the legend as Markdown."""
    heads = [column.lstrip(">") for column in COLUMNS]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in found.rows]
    lines += ["", *(f"- {problem}" for problem in _problems(found)), "", _legend(found)]
    lines += ["", f"{counted(found)}.", ""]
    return "\n".join(lines)


def summary(found: AuditReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "holds": found.holds,
        "count": {status: found.count(status) for status in (*GOOD, VIOLATED, NOT_JUDGED)},
        "problems": found.problems,
        "claims": list(found.rows),
        "stress": replace(found.stress, scenarios=(), twins=()),
        "allowed": found.allowed,
        "traces": recorded.summary(found.traces)["results"],
        "orders": {"good": found.orders.score[0], "of": found.orders.score[1]},
        "rows": [
            {
                "judge": row.judge,
                "name": row.name,
                "inputs": row.inputs,
                "verdict": row.verdict,
                "judged": row.date or NOW,
            }
            for row in found.judged.all
        ],
        "seconds": {judge: round(seconds, 1) for judge, seconds in _shares(found).items()},
    }
