# SPDX-License-Identifier: Apache-2.0
"""`wakeproof watch`: why a running process does not go on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wakeproof.cli.panels import AsJson
from wakeproof.errors import UsageError
from wakeproof.judge import report, schema
from wakeproof.judge.watch import others, recorded, verdicts
from wakeproof.judge.watch.process import GoneError, Process
from wakeproof.judge.watch.verdicts import BAD, QUIET_S, Judged, Report, Verdict

_STYLES = {
    Verdict.STUCK: "bold yellow", Verdict.SUSPECT: "yellow", Verdict.STOPPED: "yellow",
    Verdict.STARVED: "yellow",
} | dict.fromkeys(BAD, "bold red")  # fmt: skip


def watch(
    target: Annotated[
        list[str],
        typer.Argument(
            metavar="PID",
            help="Look at this process; with --record, run this command.",
            show_default=False,
        ),
    ],
    seconds: Annotated[
        float,
        typer.Option("--for", help="Look for so many seconds. A wakeup counts as missed after 1."),
    ] = 2.0,
    every: Annotated[
        float, typer.Option(help="Look at all threads again after so many seconds.")
    ] = QUIET_S,
    once: Annotated[
        bool,
        typer.Option(
            "--once", help="Look once: where each thread sleeps, without a verdict on wakeups."
        ),
    ] = False,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask",
            help="Ask its runtime, too: jstack for Java, py-spy for Python. That stops it for a "
            "moment.",
        ),
    ] = False,
    end: Annotated[
        bool,
        typer.Option(
            "--end", help="End a Go program by SIGQUIT: it writes its goroutines to its stderr."
        ),
    ] = False,
    faulthandler: Annotated[
        str,
        typer.Option(
            metavar="SIGNAL",
            help="Ask a Python program by the signal for which it has registered faulthandler.",
        ),
    ] = "",
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Become the command that follows, with a recorder of waits and wakes in it. A "
            "later look at that process adds hints.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say why a running process does not go on: where its threads sleep, and what for.

    The process is neither stopped nor changed (but by --ask and --end). Exit code 1: a deadlock,
    or a missed wakeup.

    Examples:

      wakeproof watch 4711             two seconds, then a verdict on each thread

      wakeproof watch 4711 --for 60    a wakeup that is only late goes away meanwhile

      wakeproof watch 4711 --once      where each thread sleeps now

      wakeproof watch $(pidof java) --ask --json

      wakeproof watch --record -- ./server --port 80 &
    """
    if record:
        recorded.run(target)
    try:
        (pid,) = map(int, target)
    except ValueError:
        said = " ".join(target)
        raise UsageError(f"watch takes the number of one process, not {said!r}") from None
    if not (seconds >= 0 and every > 0):  # not a number is neither
        raise UsageError(f"--for is {seconds}, --every is {every}; allowed: 0 or more seconds, and "
                         "more than 0")  # fmt: skip
    try:
        with Process(pid) as process:
            found = verdicts.watch(process, 0.0 if once else seconds, every)
            if ask:
                found = others.ask(process, found)
            elif more := others.advice(process):
                found = replace(found, unknown=(*found.unknown, more))
            if faulthandler:
                said = others.dump(process, faulthandler)
                found = replace(found, evidence={**found.evidence, "faulthandler": said})
            if end:
                found = replace(found, evidence={"SIGQUIT": f"to {others.end(process)}"})
    except GoneError:
        raise UsageError(f"process {pid} has ended during the look") from None
    report.end(
        lambda: schema.of(Report).dump_python(found, mode="json"),
        lambda: _print(report.console(), found), as_json=as_json, holds=found.holds,
    )  # fmt: skip


def _print(screen: Console, found: Report) -> None:
    screen.print(f"process {found.pid}: {found.command}", style="bold", markup=False)
    rows = [_row(one) for one in found.threads]
    columns = (">thread", "name", "verdict", "waits for", "object", "owner", ">since", "called by",
               "why")  # fmt: skip
    screen.print(report.table("", columns, rows))
    for group in found.groups:
        screen.print(
            f"{group.carriers} carriers of wakeproof, {group.parked} parked; {group.tasks} tasks, "
            f"{group.parked_tasks} parked" + "".join(f"; {why}" for why in group.signs),
            markup=False, soft_wrap=True,
        )  # fmt: skip
    for hint in found.hints:
        screen.print(f"hint: {hint.who}: {hint.why}", markup=False, soft_wrap=True)
    for what in found.unknown:
        screen.print(f"note: {what}", markup=False, soft_wrap=True)
    for tool, text in found.evidence.items():
        screen.print(f"\n{tool}:", style="bold")
        screen.print(others.shown(text), markup=False, soft_wrap=True)
    counts = Counter(one.verdict for one in found.threads)
    told = ", ".join(f"{counts[one]} {one.value}" for one in Verdict if counts[one])
    screen.print(
        f"\n{len(found.threads)} threads in {found.seconds:.1f} s, {found.sweeps} sweeps, of which "
        f"{found.quiet_sweeps} quiet: {told}",
        style=_STYLES.get(found.verdict, "green"), soft_wrap=True,
    )  # fmt: skip


def _row(one: Judged) -> list[object]:
    since = "" if one.since_s is None else f"{one.since_s:,.1f} s"
    return [
        one.tid, one.name, Text(one.verdict.value, style=_STYLES.get(one.verdict, "")),
        one.waits_for + (" (timed)" if one.is_timed else ""), one.object, one.owner or "", since,
        one.called_by, one.why,
    ]  # fmt: skip
