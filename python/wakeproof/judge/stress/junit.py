# SPDX-License-Identifier: Apache-2.0
"""A stress report as JUnit XML: a case for each scenario and each twin."""

from __future__ import annotations

from pathlib import Path

from wakeproof import locations
from wakeproof.judge.junit import Case, document
from wakeproof.judge.stress.grading import NOT_JUDGED, VIOLATED
from wakeproof.judge.stress.run import StressReport


def write(report: StressReport, path: Path, strict: bool = False) -> None:
    """Write the document to `path`, completely or not at all.

    Args:
        report: what was judged.
        path: the file.
        strict: what was not judged is a failure; otherwise it is skipped.
    """
    failed = {VIOLATED, NOT_JUDGED} if strict else {VIOLATED}
    cases = [
        Case(
            f"wakeproof.stress.{kind}", case.name,
            "failure" if case.status in failed else "skipped" if case.status == NOT_JUDGED else "",
            "; ".join(case.messages), sum(run.seconds for run in case.runs),
        )
        for kind, group in (("scenario", report.scenarios), ("twin", report.twins))
        for case in group
    ]  # fmt: skip
    locations.write_atomically(path, document("wakeproof.stress", cases, report.seconds))
