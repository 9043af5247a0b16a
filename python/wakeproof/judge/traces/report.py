# SPDX-License-Identifier: Apache-2.0
"""The results of the judge of traces, and whether they are as expected."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from wakeproof.judge.results import Results
from wakeproof.judge.traces.concept import TraceConcept
from wakeproof.judge.traces.replay import Coverage
from wakeproof.judge.traces.tamper import DROPPED, FLIPPED, KINDS, MOVED, TWICE, Lies

TAMPERED = 10
"""Lies of each kind, in a scenario's runs."""
MAY_PASS = {DROPPED: 2, TWICE: 2, FLIPPED: 3, MOVED: 5}
"""The most of a kind that may still be behaviours; docs/judging/traces.md has what was seen."""
ASIDE = 0.1
"""Share of runs that may be set aside."""


@dataclass(frozen=True)
class Grade:
    """The lies of one kind."""

    kind: str
    told: int  # that TLC judged
    found: int  # rejected, by both judges
    unseen: int  # draws that changed nothing that is judged
    by_table: int  # draws that were found without the spec

    @property
    def is_short(self) -> bool:
        """Whether too few lies could be told, and the table did not find enough itself."""
        return self.told < TAMPERED and (self.told > 0 or self.by_table < TAMPERED)


@dataclass(frozen=True)
class TraceResult:
    """The runs of one concept, or of its twin, of which at least one must be rejected."""

    table: TraceConcept
    twin: str
    traces: int
    aside: int  # rounds that were not judged; see the table
    events: int
    rejected: tuple[int, ...]  # rounds
    stuck: tuple[str, ...]  # the first of them, in lines
    grades: tuple[Grade, ...]  # of a twin: none
    coverage: Coverage
    seconds: float

    @property
    def lies(self) -> int:
        """The number of tampered traces that TLC judged."""
        return sum(grade.told for grade in self.grades)

    @property
    def found(self) -> int:
        """The number of tampered traces that were rejected."""
        return sum(grade.found for grade in self.grades)

    @property
    def wrong(self) -> str:
        """Return what the runs and the lies about them show to be wrong, or ""."""
        if not self.traces:
            return "no run can be judged"
        if self.twin:
            return ""
        if self.rejected:
            return f"{len(self.rejected)} of {self.traces} runs are no behaviours of the spec"
        if self.aside > ASIDE * (self.traces + self.aside):
            return f"{self.aside} of {self.traces + self.aside} runs are set aside"
        for grade in self.grades:
            if grade.told - grade.found > MAY_PASS[grade.kind]:
                return f"{grade.told - grade.found} of {grade.told} lies pass ({grade.kind})"
        return ""

    @property
    def lacking(self) -> str:
        """Return what there is too little of for a verdict, or ""."""
        if self.twin:
            return "" if self.rejected else f"no run of the twin {self.twin} is rejected"
        for grade in self.grades:
            if grade.is_short:
                seen = f"{grade.by_table} found by the table"
                return f"{grade.told} lies of {TAMPERED} told, {seen} ({grade.kind})"
        return "" if self.lies >= TAMPERED else f"{self.lies} lies of {TAMPERED} came to TLC"

    @property
    def problem(self) -> str:
        """Return what is wrong with the result, or ""."""
        problem = self.wrong or self.lacking
        return f"{self.table.name}: {problem}" if problem else ""

    @property
    def holds(self) -> bool:
        """Return whether the result is as expected."""
        return not self.problem


@dataclass(frozen=True)
class TraceReport(Results[TraceResult]):
    """All concepts of a job."""

    seed: int

    @property
    def text(self) -> str:
        """Return the report in a sentence or two."""
        told = [result for result in self.results if not result.twin]
        rejected = sum(len(result.rejected) for result in told)
        return (
            f"{sum(r.traces for r in told):,} runs of {len(told)} scenarios on real cores, "
            f"{sum(r.events for r in told):,} events; {rejected} are no behaviour of their spec. "
            f"Of {sum(r.lies for r in told)} tampered ones {sum(r.found for r in told)} are "
            f"rejected, and of each of {len(self.results) - len(told)} twins at least one. They "
            f"cover {sum(r.coverage.edges for r in told):,} of "
            f"{sum(r.coverage.of_edges for r in told):,} edges of the specs' graphs."
        )


def grades(lies: Lies, found: Counter[str]) -> tuple[Grade, ...]:
    """Return the lies by kind; `found`: how many of each kind were rejected."""
    told = Counter(trace.lie for trace in lies.traces)
    return tuple(
        Grade(kind, told[kind], found[kind], lies.unseen[kind], lies.by_table[kind])
        for kind in KINDS if lies.traces
    )  # fmt: skip
