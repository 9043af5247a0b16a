# SPDX-License-Identifier: Apache-2.0
"""A stress report as JUnit XML, for CI systems: a case per scenario and per twin."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from wakeproof import locations
from wakeproof.judge.stress.grading import NOT_JUDGED, VIOLATED
from wakeproof.judge.stress.run import StressReport


def to_xml(report: StressReport, strict: bool = False) -> str:
    """Return the document; what was not judged is "skipped", or with `strict` a failure."""
    cases = [
        (case.name, kind, case.status, case.messages, sum(run.seconds for run in case.runs))
        for kind, group in (("scenario", report.scenarios), ("twin", report.twins))
        for case in group
    ]
    failed = {VIOLATED, NOT_JUDGED} if strict else {VIOLATED}
    suite = ElementTree.Element(
        "testsuite",
        name="wakeproof.stress",
        tests=str(len(cases)),
        failures=str(sum(status in failed for _, _, status, _, _ in cases)),
        errors="0",
        skipped=str(sum(status == NOT_JUDGED and not strict for _, _, status, _, _ in cases)),
        time=f"{report.seconds:.3f}",
    )
    for name, kind, status, messages, seconds in cases:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=f"wakeproof.stress.{kind}",
            name=name,
            time=f"{seconds:.3f}",
        )
        if status in failed:
            ElementTree.SubElement(case, "failure", message="; ".join(messages))
        elif status == NOT_JUDGED:
            ElementTree.SubElement(case, "skipped", message="; ".join(messages))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def write(report: StressReport, path: Path, strict: bool = False) -> None:
    """Write the document to `path`, completely or not at all."""
    locations.write_atomically(path, to_xml(report, strict))
