# SPDX-License-Identifier: Apache-2.0
"""`wakeproof trace`: what the carrier groups of a script do, for Perfetto, and in numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wakeproof import errors, paths, report

if TYPE_CHECKING:
    from wakeproof.trace import Summary

DEMO = """
import time
from wakeproof import CarrierGroup

with CarrierGroup(4, work_stealing=True) as group:
    for burst in range(3):
        tasks = [group[burst].submit(time.sleep, 0.001 * (1 + n % 4)) for n in range(12)]
        for task in tasks:
            task.result()
        time.sleep(0.005)
"""
"""All work of a burst goes to one carrier; its siblings steal."""


def trace(
    script: Annotated[
        list[str] | None, typer.Argument(help="A Python script and its arguments; else a demo.")
    ] = None,
    out: Annotated[Path, typer.Option("-o", metavar="FILE", help="Where the trace goes.")] = Path(
        "trace.json"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a script, and write what the carriers of its groups did, and what threads waited for.

    The file opens in ui.perfetto.dev and chrome://tracing: a track for each carrier with its steps,
    sleeps, steals, and one for each virtual thread that waited: for which lock, descriptor, end. A
    group is traced when it is closed. If the script fails, the trace is written all the same, and
    then the exit code is 2.

    Examples:

      wakeproof trace                        a demo: one carrier has all the work, others steal

      wakeproof trace script.py              your own

      wakeproof trace -o run.json -- script.py --its-own option
    """
    from wakeproof import trace as events

    if not out.absolute().parent.is_dir():  # said before the script runs, not after
        raise errors.UsageError(f"-o {out}: there is no folder {out.parent}")
    command = [sys.executable, *(script or ["-c", DEMO])]
    with tempfile.TemporaryDirectory(prefix="wakeproof-trace-") as folder:
        ended = subprocess.run(command, env={**os.environ, events.FOLDER: folder}, check=False)
        groups = events.load(Path(folder))
    if groups:
        paths.write_atomically(out, json.dumps(events.chrome(groups)))
        _show(out, [events.summary(found) for found in groups], as_json=as_json)
    if ended.returncode:
        raise errors.UsageError(
            f"{' '.join(script or ['the demo'])} ended with exit code {ended.returncode}"
        )
    if not groups:
        raise errors.UsageError("no carrier group was closed, so there is nothing to show")


def _waits(found: Summary) -> list[tuple[str, str]]:
    """Return the longest first."""
    reasons = sorted(found.waits, key=lambda reason: -found.waited_s[reason])
    return [
        (f"waits of threads: {reason}", f"{found.waits[reason]:,}, "
         f"of {found.waited_s[reason]:.3f} s in all")
        for reason in reasons
    ]  # fmt: skip


def _show(out: Path, summaries: Sequence[Summary], *, as_json: bool) -> None:
    if as_json:
        print(report.to_json({"file": str(out), "groups": summaries}))
        return
    screen = report.console()
    for number, found in enumerate(summaries):
        rows = [
            ("time", f"{found.seconds:.3f} s"),
            ("submitted, run", f"{found.submits:,} tasks, {found.runs:,} steps"),
            ("drains", f"{found.drains:,}, of {found.batch:.1f} steps on average"),
            ("queue at a drain", f"{found.depth:.1f} on average, p99 {found.depth_p99:,}"),
            ("steals", ", ".join(f"{count:,} {kind}" for kind, count in found.steals.items())),
            ("sleeps", f"{found.parks:,}; {found.wakes_per_s:,.0f} wakes a second, "
                       f"{found.useless_wakes:,} for nothing"),
            ("pinned parks", f"{found.pinned_parks:,}, of {found.pinned_s:.3f} s in all"),
            *_waits(found),
            ("cost of tracing", f"about {found.overhead_ns / 1000:,.0f} us in all"),
        ]  # fmt: skip
        screen.print(report.table(f"carrier group {number}", ("", ""), rows))
    screen.print(f"\n{out}: open it in ui.perfetto.dev", markup=False)
