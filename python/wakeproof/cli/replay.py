# SPDX-License-Identifier: Apache-2.0
"""`wakeproof replay`: find a counterexample again, identically, and print it step by step."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wakeproof import errors, locations
from wakeproof.cli.explore_print import print_execution
from wakeproof.judge import explore_labels, explore_replay, explore_tokens, report
from wakeproof.judge.explore_kept import Counterexample


def replay(
    token: Annotated[
        str, typer.Argument(metavar="TOKEN|FILE", help="What explore printed, or saved.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find a counterexample of `explore` again and print it step by step.

    A token of other sources is refused. Exit code 0: found again, identically.

    Examples:

      wakeproof replay eNoVi0EKwjAQRa...

      wakeproof replay build/explore/guard_no_fence-tso-1f2e3d4c.json
    """
    is_file = token.endswith(".json") or Path(token[:200]).is_file()
    wanted = explore_tokens.load(Path(token)) if is_file else explore_tokens.decode(token)
    found = explore_replay.replay(wanted)
    if as_json:
        print(report.to_json({"identical": True, **asdict(wanted), "execution": asdict(found)}))
    else:
        labels = explore_labels.read(locations.sources())
        print_execution(report.console(), Counterexample(wanted, found), labels)
    raise typer.Exit(errors.EXIT_HOLDS)
