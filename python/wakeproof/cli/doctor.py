# SPDX-License-Identifier: Apache-2.0
"""`wakeproof doctor`: what this machine offers, what is missing, and what would provide it."""

from __future__ import annotations

from typing import Annotated

import typer

from wakeproof import errors, machine, report
from wakeproof.machine import Finding


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what the judges find on this machine; exit 3 if a needed part is missing.

    Examples:

      wakeproof doctor          a table

      wakeproof doctor --json   for a bug report
    """
    findings = machine.examine()
    lacking = any(finding.needed and not finding.present for finding in findings)
    if as_json:
        print(report.to_json({"complete": not lacking, "findings": findings}))
    else:
        rows = [(finding.part, _state(finding), finding.value) for finding in findings]
        report.console().print(report.table("", ("part", "", "found"), rows))
    raise typer.Exit(errors.EXIT_ENVIRONMENT if lacking else errors.EXIT_HOLDS)


def _state(finding: Finding) -> object:
    if finding.present:
        return report.verdict("ok", good=True)
    return report.verdict("MISSING", good=False) if finding.needed else "optional"
