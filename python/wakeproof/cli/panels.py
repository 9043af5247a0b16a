# SPDX-License-Identifier: Apache-2.0
"""The groups in which ``--help`` lists options, and the option that every command has.

The options without a group are listed first, under "Options".  These are the options that people
need first, at most five for each command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

WHAT = "What to run"
MODEL = "Memory model"
BOUNDS = "Bounds and resources"
OUTPUT = "Output"

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
AsPage = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="Write an HTML page to this file, too.",
        rich_help_panel=OUTPUT,
    ),
]  # fmt: skip
AsDask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Share the work among the workers of a dask scheduler, such as tcp://10.0.0.1:8786; "
        "local:N starts N processes here. Needs the extra cluster.",
        rich_help_panel=BOUNDS,
    ),
]
InSandbox = Annotated[
    bool,
    typer.Option(
        "--sandbox",
        help="Run all of it in bubblewrap, for code that you did not write: no network, nothing "
        "can be written, limits on memory, processes and time.",
        rich_help_panel=BOUNDS,
    ),
]
"""`wakeproof.cli.sandbox` takes it out of the command line, so a command never sees it set."""
AsFormat = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Print the report (text), or the counterexamples alone as sequence diagrams that "
        "GitHub and GitLab draw (mermaid).",
        rich_help_panel=OUTPUT,
    ),
]
