# SPDX-License-Identifier: Apache-2.0
"""An audit for other programs: JUnit XML for CI systems, SARIF for code review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from wakeproof.judge import junit, sarif
from wakeproof.judge.audit.run import GOOD, SPECIFICATION_ONLY, VIOLATED
from wakeproof.judge.junit import Case
from wakeproof.judge.page import data

GENERAL: Final = "audit"
"""The rule of what is wrong with no single claim."""


def to_junit(report: data.Report) -> str:
    """Return a case for each claim, and for each problem that belongs to none.

    What the specification alone is known to keep, and what was not judged, is skipped.
    """
    by_claim, general = _problems(report)
    cases = []
    for claim in report.claims:
        problems = by_claim[claim.name]
        status, message = "", ""
        if problems or claim.status == VIOLATED:
            status, message = "failure", "\n".join(problems) or claim.status
        elif claim.status not in GOOD or claim.status == SPECIFICATION_ONLY:
            status, message = "skipped", " ".join((f"{claim.status}.", *claim.open[:1]))
        cases.append(Case(f"wakeproof.{claim.module}", claim.name, status, message))  # type: ignore[arg-type]
    cases += [Case(f"wakeproof.{GENERAL}", one, "failure", one) for one in general]
    return junit.document("wakeproof.audit", cases, 0)


def to_sarif(report: data.Report, root: Path, specs: Iterable[Path]) -> dict[str, Any]:
    """Return a rule for each claim, and a result for each problem.

    Args:
        report: what was judged.
        root: the folder of the sources.
        specs: the modules.
    """
    places = {file.stem: file.relative_to(root).as_posix() for file in specs}
    by_claim, general = _problems(report)
    rules = [
        sarif.rule(claim.name, claim.sentence, kind=claim.kind, status=claim.status,
                   strength=claim.strength)
        for claim in report.claims
    ]  # fmt: skip
    rules.append(sarif.rule(GENERAL, "The audit is whole."))
    results = [
        sarif.result(number, claim.name, text, list(_locations(claim, report, root, places)))
        for number, claim in enumerate(report.claims) for text in by_claim[claim.name]
    ]  # fmt: skip
    results += [sarif.result(len(rules) - 1, GENERAL, text, []) for text in general]
    return sarif.document(rules, results)


def _problems(report: data.Report) -> tuple[dict[str, list[str]], list[str]]:
    """Return the problems of each claim, and those of none."""
    by_claim: dict[str, list[str]] = {claim.name: [] for claim in report.claims}
    general = []
    for text in report.problems:
        name, colon, problem = text.partition(": ")
        if colon and name in by_claim:
            by_claim[name].append(problem)
        else:
            general.append(text)
    for claim in report.claims:
        if claim.status == VIOLATED and not by_claim[claim.name]:
            by_claim[claim.name].append(VIOLATED)
    return by_claim, general


def _locations(
    claim: data.Claim, report: data.Report, root: Path, places: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield where the claim is defined, and then the operations of C that uphold it."""
    for key in claim.spec[:1]:
        source = report.sources[key]
        if source.name in places:
            yield sarif.place(places[source.name], max(source.mark[0], source.first))
    for name in claim.files:
        if (root / name).is_file():  # of a user's scenario; ours are relative to kernel
            yield sarif.place(name, 1)
    for site in claim.sites:
        file, _, line = site.place.rpartition(":")
        yield sarif.place(f"kernel/{file}", int(line))
