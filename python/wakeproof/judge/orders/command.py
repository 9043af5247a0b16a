# SPDX-License-Identifier: Apache-2.0
"""`wakeproof orders`: weaken every memory order by one step; it must be needed, or explained."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from wakeproof import locations
from wakeproof.cli.panels import BOUNDS, OUTPUT, AsJson
from wakeproof.cli.progress import StressProgress
from wakeproof.judge import report
from wakeproof.judge.orders import report as reports
from wakeproof.judge.orders import run as judge
from wakeproof.judge.orders.report import MutantReport, OrdersReport, SiteReport

STYLES = {
    reports.KILLED: "green", reports.EXPLAINED: "yellow", reports.SURVIVED: "bold red",
    reports.KEPT_YET_KILLED: "bold red", reports.RELAXED: "dim",
}  # fmt: skip
COLUMNS = ("site", "where", "order", "weaker", "verdict", "killed by", "model", "as it is",
           "outcome", "at", "explored in full by")  # fmt: skip


def orders(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Judge the labelled sites of your own scenarios. Default: those of kernel/.",
            show_default=False,
        ),
    ] = None,
    pattern: Annotated[
        str | None, typer.Option("-t", metavar="REGEX", help="Judge the sites whose label matches.")
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(help="Stop each run after this processor time in seconds; 0: no limit."),
    ] = judge.SECONDS,
    as_json: AsJson = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Make this many runs at a time. Default: one per CPU.", rich_help_panel=BOUNDS
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the executions that show a failure to this folder. Default: build/orders.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Weaken every labelled memory order by one step, in every scenario that reaches its site.

    A weaker order is killed if a scenario fails with it: the order in the source is needed. If a
    weaker order survives, the site's comment must say "kept:" and a reason. Exit code 1: a site
    is neither killed nor explained.

    Examples:

      wakeproof orders                     every site of kernel/

      wakeproof orders -t '^guard'         one concept

      wakeproof orders path/to/race.c      labelled sites of your own file, in its scenarios
    """
    if save is not None:
        save.mkdir(
            parents=True, exist_ok=True
        )  # a folder that cannot be made fails now, not after minutes
    screen = report.console(stderr=as_json)
    with StressProgress(screen) as progress:
        found = judge.orders(
            files or None, pattern, seconds=seconds, progress=progress.show,
            jobs=len(os.sched_getaffinity(0)) if jobs is None else jobs,
            save=save or locations.cache() / "orders",
        )  # fmt: skip
    report.end(lambda: summary(found), lambda: show(screen, found), as_json=as_json, holds=found.ok)


def summary(found: OrdersReport) -> dict[str, Any]:
    """Return the report as plain data."""
    good, total = found.score
    return {
        "judge": "orders", "holds": found.ok, "score": good, "of": total,
        "seconds": round(found.seconds, 3), "runs": found.runs, "unusable": found.unusable,
        "baselines": found.baselines,
        "sites": [
            {"status": s.status, "message": s.message, "doubt": s.doubt, **s.__dict__}
            for s in found.sites
        ],
    }  # fmt: skip


def show(screen: Console, found: OrdersReport) -> None:
    """Print a row per weaker order, then what is wrong, then the score."""
    rows = [
        _row(site, mutant) for site in found.sites for mutant in site.mutants
    ]  # fmt: skip
    screen.print(report.table("", COLUMNS, rows))
    relaxed = [site.label for site in found.sites if site.status == reports.RELAXED]
    if relaxed:
        screen.print(f"relaxed, nothing is weaker: {', '.join(relaxed)}", style="dim")
    for site in found.sites:
        if site.status == reports.EXPLAINED:
            doubt = f" ({site.doubt})" if site.doubt else ""
            screen.print(f"[{site.label}] kept: {site.kept}{doubt}", style=STYLES[site.status],
                         markup=False, soft_wrap=True)  # fmt: skip
    for text in (*found.unusable, *(f"[{s.label}] {s.message}" for s in found.sites if s.message)):
        screen.print(text, style="bold red", markup=False, soft_wrap=True)
    saved = next((mutant.kill.saved for site in found.sites for mutant in site.mutants
                  if mutant.kill and mutant.kill.saved), None)  # fmt: skip
    if saved:
        screen.print(f"the executions that kill are in {saved.parent}: wakeproof replay FILE "
                     "shows one", style="dim", markup=False)  # fmt: skip
    good, total = found.score
    counts = ", ".join(
        f"{found.count(status)} {status}" for status in STYLES if found.count(status)
    )
    screen.print(f"\n{found.rests}", markup=False, soft_wrap=True)
    screen.print(
        f"{good} of {total} sites killed or explained ({counts}), {found.runs} runs in "
        f"{found.seconds:.0f} s",
        style="green" if found.ok else "bold red", markup=False,
    )  # fmt: skip


def _row(site: SiteReport, mutant: MutantReport) -> list[object]:
    kill = mutant.kill
    verdict = reports.KILLED if kill else site.status
    style = STYLES[site.status if kill and site.kept else verdict]
    judges = f"{mutant.judged_by} of {len(mutant.runs)} runs" if not kill else ""
    return [
        site.label, f"{site.file}:{site.line}", site.order, mutant.weaker,
        Text(verdict, style=style), kill.scenario if kill else "",
        kill.model.label if kill else "", reports.extent(kill.baseline) if kill else "",
        kill.outcome if kill else "", kill.at if kill else "", judges,
    ]  # fmt: skip
