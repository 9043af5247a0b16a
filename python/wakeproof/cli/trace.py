# SPDX-License-Identifier: Apache-2.0
"""`wakeproof trace`: show what the carrier groups of a script do, in Perfetto and in numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wakeproof.cli import no_extra
from wakeproof.cli.panels import AsJson
from wakeproof.judge import report


def trace(
    script: Annotated[
        list[str] | None,
        typer.Argument(
            help="Run this Python script with its arguments. Default: a demo.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option("-o", metavar="FILE", help="Write this file, .json or .pftrace."),
    ] = Path("trace.json"),
    as_json: AsJson = False,
) -> None:
    """Run a script, and write what the carriers of its groups did, and what threads waited for.

    The file opens in ui.perfetto.dev and chrome://tracing. It has a track for each carrier, with
    its steps, sleeps and steals, and a track for each virtual thread that waited, with the lock,
    descriptor or thread that it waited for. A file that ends in .pftrace also has an arrow from
    each wakeup to the run that follows it, and the depth of each queue as a curve; it needs
    wakeproof[trace]. A group is traced when it is closed. If the script fails, the trace is written
    all the same, and the exit code is 2.

    Examples:

      wakeproof trace                        a demo: one carrier has all the work, the others steal

      wakeproof trace script.py              your own script

      wakeproof trace -o run.pftrace script.py

      wakeproof trace -o run.json -- script.py --its-own option
    """
    no_extra.trace(report.show, script, out, as_json=as_json)
