# SPDX-License-Identifier: Apache-2.0
"""Rows of servers, from samples to medians, and the goals as rows of a bench.

Source: docs/inside/bench-http.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median, quantiles

from wakeproof.bench.grading import MET, SHORT, TIE, Result, Samples, grade
from wakeproof.bench.rows import KOPS, Row
from wakeproof.bench.web.placement import FLOATING, PINNED, SPARE, Placement
from wakeproof.bench.web.sample import FIXED, MOST, Load, Sample
from wakeproof.bench.web.servers import (
    GO,
    GROUPS,
    JDK,
    OURS,
    PEERS,
    REACTIVE,
    SPLIT,
    STRATEGY,
    UNIFIED,
    UVLOOP,
    Setup,
)

LOADS = (Load(1, 100, 100), Load(30, 10_000, 4_000))
ONE = tuple(Setup(side) for side in (*OURS, *PEERS))
"""The servers on one CPU, which take turns with one another."""

MATRIX = (
    *(Setup(side, stealing, pin, 2) for side in GROUPS for stealing in (False, True)
      for pin in (FLOATING, PINNED, SPARE)),
    *(Setup(side, False, pin, 2) for side in (REACTIVE, STRATEGY)
      for pin in (FLOATING, PINNED, SPARE)),
    Setup(GO, False, FLOATING, 2), Setup(JDK, False, FLOATING, 2),
)  # fmt: skip
"""The servers with two carriers, if the machine has enough CPUs."""

SWITCHES, WRITES = "switches", "writes"
REQUESTS, SLEEPS, WAKEUPS, LOOKS, EVENTS, DEPTH = (
    "requests", "sleeps", "wakeups", "looks", "events", "depth_most",
)  # fmt: skip
"""The counters of wakeproof's servers."""

NEVER = 1e-6  # of a count that another is divided by
BEHIND = "not measurable: not both kept up with the rate"


@dataclass
class Line:
    """A server under a load: its samples by phase, or why there are none (it may have failed)."""

    setup: Setup
    load: Load
    place: Placement
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    not_run: str = ""
    has_failed: bool = False

    def of(self, phase: str) -> list[Sample]:
        """Return the phase's samples, one per round."""
        return self.samples.get(phase, [])

    def percentiles_ms(self, phase: str = FIXED) -> list[float]:
        """Return the median of each percentile; []: there are none."""
        found = [sample.percentiles_ms for sample in self.of(phase) if sample.percentiles_ms]
        return [median(column) for column in zip(*found, strict=True)]


@dataclass(frozen=True)
class WebReport:
    """Every line, the goals, the machine that measured them, and the peers' versions."""

    lines: tuple[Line, ...]
    goals: tuple[tuple[Load, Result], ...]
    rate: float
    rounds: int
    seconds: float
    cpus: tuple[int, ...]
    machine: str
    peers: dict[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """Return the last line of the report."""
        verdicts = [result.verdict for _, result in self.goals]
        met, tie, short = (verdicts.count(verdict) for verdict in (MET, TIE, SHORT))
        skipped = sum(bool(result.not_run) for _, result in self.goals)
        tail = f"; {skipped} rows not run" if skipped else ""
        return (
            f"{met + tie + short} goals: {met} met, {tie} tie (the goal lies within the "
            f"quartiles), {short} short{tail}"
        )


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return first quartile, median, third quartile."""
    low, middle, high = (
        quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    )
    return low, middle, high


def goals(lines: list[Line]) -> list[tuple[Load, Result]]:
    """Judge each goal under each load that was measured."""
    found = []
    for load in dict.fromkeys(line.load for line in lines):
        one = {line.setup.side: line for line in lines
               if line.load == load and line.setup in ONE}  # fmt: skip
        if UNIFIED in one:
            found += [(load, judge(row, one)) for row in ROWS if {row.ours, row.peer} <= {*one}]
    return found


def judge(row: Row, one: dict[str, Line]) -> Result:
    """Return the grade of a row, or the reason why it was not run.

    Switches are compared in rounds in which both servers kept up with the rate.
    """
    sides = list(dict.fromkeys((row.ours, row.peer)))
    for side in sides:
        if one[side].not_run:
            return Result(row, not_run=one[side].not_run)
    rounds = [of for of in zip(*(one[side].of(row.program) for side in sides), strict=True)
              if row.unit != SWITCHES or all(sample.keeps_up for sample in of)]  # fmt: skip
    if not rounds:
        return Result(row, not_run=BEHIND)
    return grade(row, _samples(row, sides, list(zip(*rounds, strict=True))))


def _samples(row: Row, sides: list[str], found: list[tuple[Sample, ...]]) -> Samples:
    if row.count:
        writes = [[_writes(row, sample) for sample in of] for of in found]
        return Samples({}, {row.count: dict(zip(sides, writes, strict=True))})
    each = _switches_each if row.unit == SWITCHES else _cpu_ns_each
    values = [[max(each(sample), NEVER) for sample in of] for of in found]
    return Samples(dict(zip(sides, values, strict=True)))


def _cpu_ns_each(sample: Sample) -> float:
    return sample.each(sample.used.cpu_s) * 1e9


def _switches_each(sample: Sample) -> float:
    return sample.each(sample.used.switches)


def _writes(row: Row, sample: Sample) -> float:
    """Return the writes per sleep, or how many more writes than sleeps there were."""
    writes, sleeps = sample.stats.get(WAKEUPS, 0), sample.stats.get(SLEEPS, 0)
    return writes / max(sleeps, 1) if row.program == FIXED else float(max(writes - sleeps, 0))


def _most(against: str, at_least: float | None = 1.0, why: str = "") -> Row:
    return Row("requests per CPU second", MOST, UNIFIED, against, against, KOPS, at_least=at_least,
               why=why)  # fmt: skip


def _calm(against: str) -> Row:
    return Row("switches per request", FIXED, UNIFIED, against, against, SWITCHES, at_most=1.0)


def _written(side: str) -> list[Row]:
    """Return the rows of writes to eventfds, by which one carrier wakes another.

    Unified on one carrier wakes none; in split mode a request goes from one to the other twice.
    """
    return [
        Row(f"eventfd writes per sleep, {side}", FIXED, side, side, "", WRITES, 1.0, count=WRITES),
        Row("- beyond one per sleep, no time to sleep", MOST, side, side, "", WRITES, 0.0,
            count=WRITES),
    ]  # fmt: skip


ROWS = (
    _most(REACTIVE, 0.9), *(_most(peer, 1.15 if peer == UVLOOP else 1.0) for peer in PEERS),
    _most(SPLIT), _most(STRATEGY, None),
    *map(_calm, (GO, SPLIT)),
    *_written(UNIFIED), *_written(SPLIT),
)  # fmt: skip
"""The goals, of the servers on one CPU; `program` is the phase."""
