# SPDX-License-Identifier: Apache-2.0
"""`wakeproof doctor`: show what this machine offers, what it lacks, and how to install that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import typer

from wakeproof.cli import no_extra
from wakeproof.cli.panels import AsJson
from wakeproof.judge import report


def doctor(
    as_json: AsJson = False,
) -> None:
    """Show what this machine offers, and what is missing; exit 3 if a needed part is missing.

    Examples:

      wakeproof doctor          a table

      wakeproof doctor --json   for a bug report
    """
    raise typer.Exit(no_extra.doctor(_show, as_json=as_json))


def _show(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    report.show(title, columns, ([part, _coloured(state), value] for part, state, value in rows))


def _coloured(state: str) -> object:
    if state == no_extra.OPTIONAL:
        return state
    return report.verdict(state, good=state == no_extra.PRESENT)
