# SPDX-License-Identifier: Apache-2.0
"""`wakeproof replay`: find a counterexample again, identically, and print it step by step."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wakeproof import locations
from wakeproof.cli.panels import AsFormat, AsJson, AsPage
from wakeproof.judge import labels as explore_labels
from wakeproof.judge import report
from wakeproof.judge.explore.kept import Counterexample
from wakeproof.judge.explore.show import print_execution
from wakeproof.judge.own import run as own
from wakeproof.judge.page import of_explore, output
from wakeproof.judge.replay import received
from wakeproof.judge.replay import run as explore_replay


def replay(
    token: Annotated[
        str,
        typer.Argument(
            metavar="TOKEN|FILE", help="Replay this token of explore, or a file that it saved."
        ),
    ],
    as_json: AsJson = False,
    html: AsPage = None,
    form: AsFormat = output.TEXT,
) -> None:
    """Find a counterexample of `explore` again and print it step by step.

    A token that was made from other sources is refused. Exit code 0: the same execution was found.

    Examples:

      wakeproof replay eNoVi0EKwjAQRa...

      wakeproof replay build/explore/guard_no_fence-tso-1f2e3d4c.json

      wakeproof replay eNoVi0EKwjAQRa... --html steps.html   in a viewer
    """
    out = output.checked(html, form, as_json=as_json)
    is_file = token.endswith(".json") or Path(token[:200]).is_file()
    wanted = received.load(Path(token)) if is_file else received.decode(token)
    again = own.replay if wanted.program else explore_replay.replay
    found = Counterexample(wanted, again(wanted))
    labels = explore_labels.read(locations.sources())
    printed = out.given(
        report.console(), f"wakeproof replay: {wanted.name}",
        lambda to: print_execution(to, found, labels),
        lambda: of_explore.with_sources([found], labels),
    )  # fmt: skip
    summary = {"identical": True, **asdict(wanted), "execution": asdict(found.found)}
    report.end(lambda: summary, printed, as_json=as_json, holds=True)
