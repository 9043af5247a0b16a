# SPDX-License-Identifier: Apache-2.0
"""The audit: every claim against every judge, and the twins that each judge killed.

A claim is what a spec's header promises. It must be checked by a passing configuration and killed
by at least one twin; whatever names a claim must name a promised one. A twin must be seen by each
judge that it declares and by no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wakeproof.judge import grading
from wakeproof.judge.grading import ScenarioReport, TwinReport
from wakeproof.judge.native import StressReport
from wakeproof.judge.specs import CheckReport, ConfigResult

HOLDS, VIOLATED, NOT_JUDGED = "holds", "violated", "not judged"
LATER_JUDGES = ("sc", "tso", "rc11")
"""Declared in seen_by for the explorer, which this version does not have: not judged here."""

_PROMISES = re.compile(r"^\(\* Promises(.*?)^\(\*{5}", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Killed:
    """Twins of one claim that one judge had to see: those it saw, and those it missed."""

    seen: tuple[str, ...]
    missed: tuple[str, ...]

    def __str__(self) -> str:
        of = len(self.seen) + len(self.missed)
        return f"{len(self.seen)}/{of}" if of else "-"


@dataclass(frozen=True)
class ClaimRow:
    """One claim: what each judge says of it."""

    claim: str  # "Guard!NoLostWakeup"
    configs: tuple[str, ...]  # passing configurations that check it
    states: int  # distinct, over these
    depth: int  # the deepest of these
    scenarios: tuple[str, ...]  # that uphold it
    samples: int
    check_twins: Killed
    stress_twins: Killed
    delayed_twins: Killed
    status: str
    problems: tuple[str, ...]


@dataclass(frozen=True)
class AuditReport:
    """All claims, and what belongs to no single one."""

    rows: tuple[ClaimRow, ...]
    problems: tuple[str, ...]
    check: CheckReport
    stress: StressReport

    @property
    def holds(self) -> bool:
        """Say whether every claim holds and every twin was seen as declared."""
        return not self.problems and all(row.status == HOLDS for row in self.rows)


def promised(specs: Path) -> list[str]:
    """Return the claims that the headers of `specs`/*.tla promise, as "Module!Name"."""
    claims = []
    for module in sorted(specs.glob("*.tla")):
        header = _PROMISES.search(module.read_text(encoding="utf-8"))
        text = (
            re.sub(r"\([a-z][^)]*\)", "", header.group(1).replace("*)\n(*", "")) if header else ""
        )
        claims += [f"{module.stem}!{name}" for name in re.findall(r"\b[A-Z][A-Za-z]+\b", text)]
    return claims


def audit(
    specs: Path, sites: Iterable[tuple[str, str]], check: CheckReport, stress: StressReport
) -> AuditReport:
    """Join what the judges said.

    Args:
        specs: the folder of the specs.
        sites: (label, claim) of each atomic site of the kernel.
        check: a report over all short configurations.
        stress: a report over all scenarios and twins.
    """
    claims = promised(specs)
    rows = tuple(_row(claim, check, stress) for claim in claims)
    problems = [
        *_unpromised(set(claims), sites, check, stress),
        *_undeclared(check, stress),
        *(f"{r.entry.config}: {r.wrong}" for r in check.results if r.wrong and not r.entry.claims),
    ]
    return AuditReport(rows, tuple(dict.fromkeys(problems)), check, stress)


def spec_twin(result: ConfigResult) -> str:
    """Return the name that the same defect has in C: MCGuard_no_fence.cfg is guard_no_fence."""
    return result.entry.name.removeprefix("MC").lower()


def _row(claim: str, check: CheckReport, stress: StressReport) -> ClaimRow:
    passing = [r for r in check.results if claim in r.entry.claims]
    killing = [r for r in check.results if r.entry.claim == claim]
    scenarios = [s for s in stress.scenarios if s.upholds == claim]
    names = {s.name for s in scenarios}
    twins = [t for t in stress.twins if t.of in names]
    judged: list[ScenarioReport | TwinReport] = [*scenarios, *twins]
    problems = [f"{r.entry.config}: {r.wrong}" for r in (*passing, *killing) if r.wrong]
    problems += [f"{r.name}: {m}" for r in judged for m in r.messages]
    if not passing:
        problems.append("no passing configuration checks it")
    if not killing:
        problems.append("no twin in specs/ violates it: its check cannot fail")
    failed = [r for r in (*passing, *killing) if r.wrong] or not passing or not killing
    if failed or any(r.status == grading.VIOLATED for r in judged):
        status = VIOLATED
    else:
        open_ = any(r.status == grading.NOT_JUDGED for r in judged)
        status = NOT_JUDGED if open_ else HOLDS
    return ClaimRow(
        claim, tuple(r.entry.name for r in passing), sum(r.tlc.states for r in passing),
        max((r.tlc.depth for r in passing), default=0), tuple(sorted(names)),
        sum(s.samples for s in scenarios), _by_check(killing), _by_stress(twins, "stress"),
        _by_stress(twins, "delayed"), status, tuple(problems),
    )  # fmt: skip


def _by_check(killing: list[ConfigResult]) -> Killed:
    seen = tuple(spec_twin(r) for r in killing if r.holds)
    return Killed(seen, tuple(spec_twin(r) for r in killing if not r.holds))


def _by_stress(twins: list[TwinReport], judge: str) -> Killed:
    due = [t for t in twins if t.expected.get(judge) == "must"]
    seen = tuple(t.name for t in due if t.shown.get(judge))
    return Killed(seen, tuple(t.name for t in due if not t.shown.get(judge)))


def _unpromised(
    claims: set[str],
    sites: Iterable[tuple[str, str]],
    check: CheckReport,
    stress: StressReport,
) -> list[str]:
    """Say who names a claim that no spec promises: such a claim would have no row."""
    users = [(f"[{label}]", claim) for label, claim in sites]
    users += [(r.entry.config, claim) for r in check.results for claim in r.entry.about]
    users += [(s.name, s.upholds) for s in stress.scenarios]
    return [
        f"{user} names {claim}, which no spec promises"
        for user, claim in users
        if claim and claim not in claims
    ]


def _undeclared(check: CheckReport, stress: StressReport) -> list[str]:
    """Compare each C twin's seen_by with the spec twin of the same name, in both directions."""
    killed = {spec_twin(r): r for r in check.results if r.entry.expect == "violates"}
    problems = []
    for twin in stress.twins:
        spec = killed.get(twin.name)
        if "check" in twin.seen_by and spec is None:
            problems.append(f"{twin.name}: seen_by check, but specs/ has no configuration of it")
        elif "check" not in twin.seen_by and spec is not None:
            problems.append(f"{twin.name}: {spec.entry.config} is there, but not in its seen_by")
    return problems


__all__ = ["AuditReport", "ClaimRow", "Killed", "audit", "promised"]
