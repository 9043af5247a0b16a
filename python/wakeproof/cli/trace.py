# SPDX-License-Identifier: Apache-2.0
"""`wakeproof trace`: what the carrier groups of a script do, for Perfetto, and in numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wakeproof.cli import no_extra
from wakeproof.judge import report


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
    no_extra.trace(report.show, script, out, as_json=as_json)
