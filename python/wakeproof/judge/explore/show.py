# SPDX-License-Identifier: Apache-2.0
"""Prints the results of `wakeproof explore`: executions, runs, outcomes, twins."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from wakeproof.judge import report
from wakeproof.judge.explore import classes as explore_classes
from wakeproof.judge.explore import trace as explore_trace
from wakeproof.judge.explore.kept import Counterexample
from wakeproof.judge.explore.options import Model
from wakeproof.judge.explore.report import Judged, Outcome, ScenarioReport, TwinReport
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.labels import Labels
from wakeproof.judge.stress.grading import HELD, NOT_JUDGED, VIOLATED

STYLES = {HELD: "green", VIOLATED: "bold red", NOT_JUDGED: "bold yellow"}
ORDER = {NOT_JUDGED: 0, HELD: 1, VIOLATED: 2}
DETAILED = 6  # scenarios; of more, only those that do not hold show their outcomes
RUN_COLUMNS = ("name", "model", "engine", ">ends", ">blocked", ">states", ">outcomes",
               ">seconds", "how much of it", "verdict")  # fmt: skip
BEYOND = "Load buffering lies outside RC11: what reads from a later store is not explored."


def show(screen: Console, found: ExploreReport, labels: Labels) -> None:
    """Print counterexamples, a table of runs, then a line per scenario and twin, worst last."""
    for warning in found.warnings:
        screen.print(warning, style="yellow", markup=False, soft_wrap=True)
    shown: set[str] = set()
    for one in found.counterexamples:
        if one.token.twin:
            continue
        if one.token.name not in shown:
            print_execution(screen, one, labels)
        print_token(screen, one)
        shown.add(one.token.name)
    screen.print()
    reports: list[ScenarioReport | TwinReport] = [*found.scenarios, *found.twins]
    rows = [_run_row(of, judged) for of in reports for judged in of.judged]
    screen.print(report.table("", RUN_COLUMNS, rows))
    screen.print()
    for scenario in sorted(found.scenarios, key=lambda s: ORDER[s.status]):
        is_detailed = len(found.scenarios) <= DETAILED or scenario.status != HELD
        _show_scenario(screen, scenario, is_detailed=is_detailed)
    if found.twins:
        columns = ("twin", "of", "shows", *(f"{m.label} must" for m in found.options.models),
                   "killed by", "already by", "how", "verdict")  # fmt: skip
        sorted_twins = sorted(found.twins, key=lambda t: ORDER[t.status])
        table = [_twin_row(twin, found.options.models) for twin in sorted_twins]
        screen.print(report.table("Twins: the same source with one defect", columns, table))
    for of in reports:
        for message in of.messages:
            screen.print(f"{of.name}: {message}", style=STYLES[of.status], markup=False,
                         soft_wrap=True)  # fmt: skip
    if found.counterexamples:
        saved = next((c.saved.parent for c in found.counterexamples if c.saved), None)
        screen.print(f"{len(found.counterexamples)} counterexamples saved in {saved}: wakeproof "
                     "replay FILE shows one", style="dim", markup=False)  # fmt: skip
    statuses = list(found.statuses.values())
    counts = ", ".join(f"{statuses.count(s)} {s}" for s in (HELD, VIOLATED, NOT_JUDGED))
    if found.in_part:
        counts += f"; of those that held, {len(found.in_part)} as far as explored"
    screen.print(
        f"\n{len(found.scenarios)} scenarios and programs, {len(found.twins)} twins in "
        f"{found.seconds:.0f} s: {counts}",
        style=STYLES[VIOLATED if found.violated else HELD], markup=False,
    )  # fmt: skip
    if Model.RC11 in found.options.models:
        screen.print(BEYOND, style="dim")


def print_execution(screen: Console, one: Counterexample, labels: Labels) -> None:
    """Print an execution step by step: a column per thread, the value, and its writer."""
    token, found = one.token, one.found
    twin = f" with the defect {token.twin}" if token.twin else ""
    broken = one.broken or explore_classes.classify(found)
    name = "" if broken.name == explore_classes.FORBIDDEN else broken.name
    kind = found.text if name in (found.text, "") else f"{found.text} ({name})"
    screen.print(
        f"{token.name}{twin}, {Model(token.model).label}: {kind}, "
        f"{len(found.example)} steps, engine {token.engine}",
        markup=False, style="bold",
    )  # fmt: skip
    for sentence in broken.evidence:
        screen.print(f"  {sentence}", markup=False, soft_wrap=True)
    table = explore_trace.rows(found, labels, Model(token.model))
    threads = len(table[0].cells) if table else 0
    names = (explore_classes.actor(found, thread) for thread in range(threads))
    columns = (">#", *names, ">value", "read from", "where")
    rows = [(r.number, *r.cells, r.value, r.read_from, r.place) for r in table]
    screen.print(report.table("", columns, rows))


def print_token(screen: Console, one: Counterexample) -> None:
    """Print the command that shows an execution again."""
    saved = f"  (saved: {one.saved})" if one.saved else ""
    screen.print(f"{Model(one.token.model).label}: wakeproof replay {one.token.text}{saved}",
                 markup=False, soft_wrap=True)  # fmt: skip


def _show_scenario(screen: Console, scenario: ScenarioReport, *, is_detailed: bool) -> None:
    style = _style(scenario)
    title = f"[bold]{escape(scenario.name)}[/] [{style}]{scenario.verdict}[/]"
    claim = f"  {escape(scenario.claim)}" if scenario.claim else ""
    upholds = f"  ({escape(scenario.upholds)})" if scenario.upholds else ""
    screen.print(f"{title}{claim}{upholds}")
    screen.print(f"  {scenario.line}", markup=False, style=style)
    for judged in scenario.judged if is_detailed else ():
        outcomes = ", ".join(
            f"{o.found.text} {o.grade.lower() or 'no grade'}{_kind(o)} x{o.found.count:,}"
            for o in judged.outcomes
        )
        screen.print(f"  {judged.model.label} {judged.result.engine}: {outcomes}", style="dim",
                     markup=False)  # fmt: skip


def _style(of: Judged | ScenarioReport) -> str:
    return STYLES[NOT_JUDGED if of.is_part else of.status]


def _kind(outcome: Outcome) -> str:
    """Return the class of a bad outcome, unless its text or its grade has the same words."""
    name = outcome.broken.name if outcome.broken else ""
    return "" if name in ("", outcome.found.text, explore_classes.FORBIDDEN) else f" ({name})"


def _run_row(of: ScenarioReport | TwinReport, judged: Judged) -> list[object]:
    result = judged.result
    verdict = Text(judged.verdict, style=_style(judged))
    if isinstance(of, TwinReport):  # a twin's defect is shown or it is not
        verdict = Text(judged.status, style=STYLES[judged.status])
    return [
        of.name, result.model.label, result.engine, f"{result.ends:,}", f"{result.blocked:,}",
        f"{result.states:,}", len(result.outcomes), f"{result.seconds:.2f}", judged.coverage,
        verdict,
    ]  # fmt: skip


def _twin_row(twin: TwinReport, models: tuple[Model, ...]) -> list[object]:
    words = {"must": "kill", "may": "may kill", "must not": "not kill"}
    expected = [words[twin.expected[m.value]] if m.value in twin.expected else "" for m in models]
    killers = ", ".join(m.label for m in models if twin.killed.get(m.value)) or "nobody"
    already = twin.first_killer.label if twin.first_killer else ""
    verdict = Text(twin.status, style=STYLES[twin.status])
    how = ", ".join(twin.classes)
    return [twin.name, twin.of, twin.shows, *expected, killers, already, how, verdict]
