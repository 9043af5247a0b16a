# SPDX-License-Identifier: Apache-2.0
"""The report of the order audit: a verdict per labelled site.  Pure: no clock, no process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wakeproof.judge.explore.options import Model

KILLED, EXPLAINED, SURVIVED = "killed", "explained", "survived"
KEPT_YET_KILLED, RELAXED = "kept, yet killed", "relaxed"


EXTENTS = {"exhaustive": "whole", "bounded": "bounded", "sampled": "sampled"}
CUT_SHORT = "cut short"  # by a limit of time, memory or executions


def extent(coverage: str) -> str:
    """Return how much of a scenario an exploration with this coverage saw, in a word or two."""
    return EXTENTS.get(coverage.partition(":")[0], CUT_SHORT)


@dataclass(frozen=True)
class Kill:
    """The evidence that an order is needed: a scenario holds with it, and fails without it.

    `baseline`: how much of the scenario was explored with the order as it is, under the same model,
    bounds and limits.  If that is not all, the scenario might fail with the order as well.
    """

    scenario: str
    model: Model
    outcome: str
    verdict: str
    reason: str
    at: str  # the label where it shows best
    token: str
    saved: Path | None
    baseline: str


@dataclass(frozen=True)
class Run:
    """One scenario with a mutant under one model, which showed nothing bad or had no verdict."""

    scenario: str
    model: Model
    coverage: str
    executions: int
    seconds: float

    @property
    def judges(self) -> bool:
        """Return whether the whole scenario was explored."""
        return self.coverage == "exhaustive"


@dataclass(frozen=True)
class MutantReport:
    """One mutant: its first kill, or the runs that showed nothing."""

    weaker: str
    kill: Kill | None
    runs: tuple[Run, ...]

    @property
    def judged_by(self) -> int:
        """Return how many runs explored a scenario exhaustively and showed nothing."""
        return sum(run.judges for run in self.runs)


def plain_of(mutant: MutantReport) -> list[Any]:
    """Return a mutant's report as plain data, without the token of its kill."""
    kill = mutant.kill
    return [
        mutant.weaker,
        kill and [kill.scenario, kill.model.value, kill.outcome, kill.verdict, kill.reason,
                  kill.at, kill.baseline],
        [[r.scenario, r.model.value, r.coverage, r.executions, r.seconds] for r in mutant.runs],
    ]  # fmt: skip


def mutant_of(plain: list[Any]) -> MutantReport:
    """Return the report that `plain_of` has made plain."""
    weaker, kill, runs = plain
    if kill is not None:
        scenario, model, outcome, verdict, reason, at, baseline = kill
        kill = Kill(scenario, Model(model), outcome, verdict, reason, at, "", None, baseline)
    return MutantReport(
        weaker, kill, tuple(Run(name, Model(model), *rest) for name, model, *rest in runs)
    )


@dataclass(frozen=True)
class SiteReport:
    """One labelled site: the evidence that its order is needed, or the reason to keep it."""

    label: str
    file: str
    line: int
    order: str
    kept: str
    mutants: tuple[MutantReport, ...]

    @property
    def status(self) -> str:
        """Return the status of the site: its weaker orders are killed, explained, or neither."""
        if not self.mutants:
            return RELAXED
        if all(mutant.kill for mutant in self.mutants):
            return KEPT_YET_KILLED if self.kept else KILLED
        return EXPLAINED if self.kept else SURVIVED

    @property
    def doubt(self) -> str:
        """Return a note if no scenario explored a surviving order in full, else ""."""
        left = [mutant for mutant in self.mutants if not mutant.kill and not mutant.judged_by]
        weaker = " and ".join(mutant.weaker for mutant in left)
        return f"{weaker}: no scenario judges it exhaustively" if left else ""

    @property
    def message(self) -> str:
        """Return what is wrong with the site, in words, or ""."""
        if self.status == KEPT_YET_KILLED:
            kills = [mutant.kill for mutant in self.mutants if mutant.kill]
            return f"says kept:, and {kills[0].scenario} needs {self.order}: say so instead"
        if self.status != SURVIVED:
            return ""
        left = [mutant for mutant in self.mutants if not mutant.kill]
        weaker = " and ".join(mutant.weaker for mutant in left)
        if not any(mutant.runs for mutant in left):
            return f"{weaker} instead of {self.order}: no scenario comes to this site"
        judges = min(mutant.judged_by for mutant in left)
        how = f"{judges} exhaustive runs show" if judges else "no run is exhaustive; they show"
        return (
            f"{weaker} instead of {self.order}: {how} nothing bad; weaken it, give it a scenario, "
            "or explain it in its comment by kept:"
        )


@dataclass(frozen=True)
class OrdersReport:
    """All sites of one audit, and the scenarios that could not be used."""

    sites: tuple[SiteReport, ...]
    unusable: tuple[str, ...]
    runs: int
    seconds: float

    def count(self, status: str) -> int:
        """Return how many sites have `status`."""
        return sum(site.status == status for site in self.sites)

    @property
    def baselines(self) -> dict[str, int]:
        """Return the kills by how much of the scenario was seen to hold: whole, bounded, ..."""
        rest = [
            extent(mutant.kill.baseline)
            for site in self.sites for mutant in site.mutants if mutant.kill
        ]  # fmt: skip
        return {kind: rest.count(kind) for kind in (*EXTENTS.values(), CUT_SHORT) if kind in rest}

    @property
    def rests(self) -> str:
        """Return `baselines` in words."""
        counts = ", ".join(f"{count} {kind}" for kind, count in self.baselines.items())
        return (
            f"{sum(self.baselines.values())} weaker orders are killed; the scenario that kills "
            f"holds as it is, explored under the same model and bounds: {counts or 'none'}"
        )

    @property
    def score(self) -> tuple[int, int]:
        """Return the numbers of killed or explained sites, and of all sites with a weaker order."""
        good = self.count(KILLED) + self.count(EXPLAINED)
        return good, len(self.sites) - self.count(RELAXED)

    @property
    def ok(self) -> bool:
        """Return whether every site is killed or explained, and every scenario holds as it is."""
        good, total = self.score
        return good == total and not self.unusable
