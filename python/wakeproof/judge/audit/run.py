# SPDX-License-Identifier: Apache-2.0
"""The audit: every claim against every judge, and the twins that each judge killed.

A claim is a promise in a spec's header. A passing configuration must check the claim, and at least
one twin must violate it. A comment or scenario that names a claim must name a promised one. Each
judge that a twin declares must see it, and no other judge may.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from wakeproof.judge.check.run import CheckReport, ConfigResult
from wakeproof.judge.conform.run import ConformReport
from wakeproof.judge.explore import report as explore_reports
from wakeproof.judge.explore.options import MODELS
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.linear.run import LinearReport
from wakeproof.judge.orders.report import EXPLAINED, KILLED, RELAXED, OrdersReport
from wakeproof.judge.stress import grading
from wakeproof.judge.stress.allowed import Allowed
from wakeproof.judge.stress.grading import ScenarioReport, TwinReport
from wakeproof.judge.stress.run import StressReport
from wakeproof.judge.tlc.manifest import Entry
from wakeproof.judge.traces.report import TraceReport
from wakeproof.judge.verdicts import Rows

HOLDS, VIOLATED, NOT_JUDGED = "holds", "violated", "not judged"
SPECIFICATION_ONLY = "specification only"
"""TLC holds the claim of the specification, and no judge compares it with the code."""
GOOD = (HOLDS, SPECIFICATION_ONLY)
KINDS = ("safety", "liveness", "temporal")
NOW = "now"
WHOLE, IN_PART = "whole", "in part"
"""The part of a claim's scenarios that was explored: all executions, or those in the bounds."""

_Report = ScenarioReport | TwinReport | explore_reports.ScenarioReport | explore_reports.TwinReport
_PROMISES = re.compile(r"^\(\* Promises(.*?)^(?:\(\*{5}|\(\* TLC alone)", re.DOTALL | re.MULTILINE)
_PROMISED = re.compile(r"\(([a-z]+)[^)]*\)|\b([A-Z][A-Za-z]+)\b")
_TLC_ALONE = re.compile(r"^\(\* TLC alone(.*?)^\(\*{5}", re.DOTALL | re.MULTILINE)
_REASON = re.compile(r"\b([A-Z][A-Za-z]+(?:, [A-Z][A-Za-z]+)*): (.*?)(?=; [A-Z][A-Za-z]+[:,]|\.?$)")


@dataclass(frozen=True)
class Killed:
    """The twins of one claim that one judge had to see, and which of them it missed."""

    seen: tuple[str, ...]
    missed: tuple[str, ...]

    def __str__(self) -> str:
        of = len(self.seen) + len(self.missed)
        return f"{len(self.seen)}/{of}" if of else "-"


@dataclass(frozen=True)
class ClaimRow:
    """One claim, with the verdict of each judge."""

    claim: str  # "Guard!NoLostWakeup"
    configs: tuple[str, ...]  # passing configurations that check it
    states: int  # distinct, over these
    depth: int  # the deepest of these
    scenarios: tuple[str, ...]  # that uphold it
    conforms: str  # "equal", "differs", "" where the concept has no comparison
    explored: str  # how much of them, under all models: WHOLE, IN_PART, "" without a scenario
    samples: int
    check_twins: Killed
    model_twins: dict[str, Killed]  # by sc, tso, rc11
    stress_twins: Killed
    delayed_twins: Killed
    status: str
    problems: tuple[str, ...]
    reason: str = ""  # why TLC alone judges it, as the module's header says
    judged: str = NOW  # when its oldest part was judged


@dataclass(frozen=True)
class AuditReport:
    """All claims, and the results that belong to no single claim."""

    rows: tuple[ClaimRow, ...]
    problems: tuple[str, ...]
    check: CheckReport
    stress: StressReport
    explore: ExploreReport
    conform: ConformReport
    orders: OrdersReport
    traces: TraceReport
    linearized: LinearReport
    judged: Rows

    @property
    def allowed(self) -> dict[str, Allowed]:
        """Return by name whether the models allow the outcomes that real cores showed."""
        return self.stress.allowed

    @property
    def holds(self) -> bool:
        """Return whether every claim holds, at least of the spec, and every twin was seen."""
        return not self.problems and all(row.status in GOOD for row in self.rows)

    def count(self, status: str) -> int:
        """Return how many claims have this status."""
        return sum(row.status == status for row in self.rows)


def promised(specs: Path) -> list[str]:
    """Return the claims that the headers of `specs` promise, as "Module!Name"."""
    modules = sorted(specs.rglob("*.tla"))
    return [
        f"{module.stem}!{name}" for module in modules for name in kinds(module.read_text("utf-8"))
    ]


def kinds(module: str) -> dict[str, str]:
    """Return the claims that the header of a module's text promises, each with its kind.

    ``Promises   NoLostWakeup, WakeIsClaimed (safety); Served (liveness)``; where no kind is said,
    it is safety.
    """
    header = _PROMISES.search(module)
    found: dict[str, str] = {}
    names: list[str] = []
    for said, name in _PROMISED.findall(header[1].replace("*)\n(*", "") if header else ""):
        names += [name] * bool(name)
        if said in KINDS:
            found |= dict.fromkeys(names, said)
            names = []
    return found | dict.fromkeys(names, KINDS[0])


def tlc_alone(specs: Path) -> dict[str, str]:
    """Return, by "Module!Name", the reasons in the headers of `specs` why only TLC judges a claim.

    The field is the last one in a header: ``TLC alone  Served, Ends: reason; Bounded: another.``
    """
    reasons: dict[str, str] = {}
    for module in sorted(specs.rglob("*.tla")):
        header = _TLC_ALONE.search(module.read_text(encoding="utf-8"))
        text = " ".join(re.sub(r"\(\*|\*\)", "", header.group(1)).split()) if header else ""
        for names, reason in _REASON.findall(text):
            reasons |= {f"{module.stem}!{name}": reason for name in names.split(", ")}
    return reasons


def audit(
    specs: Path,
    sites: Iterable[tuple[str, str]],
    check: CheckReport,
    stress: StressReport,
    explore: ExploreReport,
    conform: ConformReport,
    orders: OrdersReport,
    traces: TraceReport,
    linearized: LinearReport,
    judged: Rows,
) -> AuditReport:
    """Join the reports of the judges.

    Args:
        specs: the folder of the specs.
        sites: (label, claim) of each atomic site of the kernel.
        check: a report over all short configurations.
        stress: a report over all scenarios and twins, on real cores.
        explore: a report over the same scenarios and twins, by the explorer.
        conform: the comparisons of spec and code, for every concept and its twins.
        orders: a report over every memory order, made one step weaker.
        traces: a report over recorded runs on real cores, twins included.
        linearized: a report over histories of queues and biased lock.
        judged: the rows of all these judges.
    """
    claims = promised(specs)
    reasons = tlc_alone(specs)
    rows = tuple(
        replace(_row(claim, check, stress, explore, conform, judged), reason=reasons.get(claim, ""))
        for claim in claims
    )
    problems = [
        *_unpromised(set(claims), sites, check, stress),
        *_reasons(rows, reasons),
        *_undeclared(check, stress),
        *(f"{r.entry.config}: {r.wrong}" for r in check.results if r.wrong and not r.entry.claims),
        *(f"conform: {r.problem}" for r in conform.results if not r.holds),
        *(f"[{s.label}]: {s.message}" for s in orders.sites
          if s.status not in (KILLED, EXPLAINED, RELAXED)),
        *(f"traces: {r.problem}" for r in traces.results if not r.holds),
        *(f"orders: {reason}" for reason in orders.unusable),
        *linearized.problems,
        *judged.contradictions,
    ]  # fmt: skip
    return AuditReport(
        rows, tuple(dict.fromkeys(problems)), check, stress, explore, conform, orders, traces,
        linearized, judged,
    )  # fmt: skip


def spec_twin(result: ConfigResult) -> str:
    """Return the name that the same defect has in C."""
    return twin_of(result.entry)


def twin_of(entry: Entry) -> str:
    """Return the name of a twin's configuration in C.

    MCGuard_no_fence.cfg is guard_no_fence,
    MCLocalQueueCarrier_slot_waits.cfg local_queue_carrier_slot_waits.
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", entry.name.removeprefix("MC")).lower()


def _row(
    claim: str,
    check: CheckReport,
    stress: StressReport,
    explore: ExploreReport,
    conform: ConformReport,
    judged_rows: Rows,
) -> ClaimRow:
    passing = [r for r in check.results if claim in r.entry.claims]
    killing = [r for r in check.results if r.entry.claim == claim]
    scenarios = [s for s in stress.scenarios if s.upholds == claim]
    names = {s.name for s in scenarios}
    twins = [t for t in stress.twins if t.of in names]
    explored = [s for s in explore.scenarios if s.upholds == claim]
    explored_twins = [t for t in explore.twins if t.of in {s.name for s in explored}]
    judged: list[_Report] = [*scenarios, *twins, *explored, *explored_twins]
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
        by_code = scenarios or explored or _conforms(claim, conform)
        status = NOT_JUDGED if open_ else HOLDS if by_code else SPECIFICATION_ONLY
    return ClaimRow(
        claim, tuple(r.entry.name for r in passing), sum(r.tlc.states for r in passing),
        max((r.tlc.depth for r in passing), default=0), tuple(sorted(names)),
        _conforms(claim, conform), _extent(explored), sum(s.samples for s in scenarios),
        _by_check(killing),
        {model.value: _by_model(explored_twins, model.value) for model in MODELS},
        _by_stress(twins, "stress"), _by_stress(twins, "delayed"), status, tuple(problems),
        judged=judged_rows.since(
            {r.entry.name for r in (*passing, *killing)} | {report.name for report in judged}
        ) or NOW,
    )  # fmt: skip


def _conforms(claim: str, conform: ConformReport) -> str:
    module, _, name = claim.partition("!")
    found = [
        r for r in conform.results if r.concept.module == module and name not in r.concept.blind
    ]
    if not found:
        return ""
    return "equal" if all(r.holds for r in found) else "differs"


def _extent(explored: list[explore_reports.ScenarioReport]) -> str:
    judged = [judged for scenario in explored for judged in scenario.judged]
    if not judged:
        return ""
    return WHOLE if all(one.result.exhaustive for one in judged) else IN_PART


def _by_check(killing: list[ConfigResult]) -> Killed:
    seen = tuple(spec_twin(r) for r in killing if r.holds)
    return Killed(seen, tuple(spec_twin(r) for r in killing if not r.holds))


def _by_model(twins: list[explore_reports.TwinReport], model: str) -> Killed:
    due = [t for t in twins if t.expected.get(model) == "must"]
    seen = tuple(t.name for t in due if t.killed.get(model))
    return Killed(seen, tuple(t.name for t in due if not t.killed.get(model)))


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
    """Return a line for each name of a claim that no header promises, and each missing name."""
    users = [(f"[{label}]", claim) for label, claim in sites]
    users += [(r.entry.config, claim) for r in check.results for claim in r.entry.about]
    users += [(s.name, s.upholds) for s in stress.scenarios]
    return [
        *(f"{user} names {claim}, which no spec promises"
          for user, claim in users if claim and claim not in claims),
        *(f"{s.name} upholds no claim" for s in stress.scenarios if not s.upholds),
    ]  # fmt: skip


def _reasons(rows: Iterable[ClaimRow], reasons: Mapping[str, str]) -> list[str]:
    """Compare the claims that TLC alone judges with the reasons in the headers, both ways."""
    status = {row.claim: row.status for row in rows}
    return [
        *(f"{claim}: TLC alone judges it, and the header of its module does not say why"
          for claim, how in status.items() if how == SPECIFICATION_ONLY and claim not in reasons),
        *(f"{claim}: the header of its module says why TLC alone judges it, but the code is judged"
          for claim in reasons if status.get(claim) == HOLDS),
        *(f"{claim}: the header of its module says why TLC alone judges it, but not that it holds"
          for claim in reasons if claim not in status),
    ]  # fmt: skip


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
