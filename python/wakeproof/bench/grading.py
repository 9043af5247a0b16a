# SPDX-License-Identifier: Apache-2.0
"""From samples to a verdict: medians, ratios round by round, their quartiles."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median, quantiles

from wakeproof.bench.rows import KOPS, US, Row

MET, TIE, SHORT, SHOWN = "met", "tie", "short", "shown"
PER_UNIT = {US: 1e3}  # ns in a unit of time


@dataclass(frozen=True)
class Samples:
    """The output of the program for one row.

    `ns`: nanoseconds per operation, by side, one for each round.  `counts`: the same for counts, by
    the name of the count.  `disturbed`: samples that were preempted at every attempt.  `missing`:
    the sides that were not run, each with the reason.
    """

    ns: dict[str, list[float]]
    counts: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    disturbed: int = 0
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """One line of the table.

    `not_run`: what to install, or how a side has failed; no number is set
    then.  `ratio`: ours/peer; of a counted row, our count alone.
    """

    row: Row
    not_run: str = ""
    has_failed: bool = False
    ours: float = 0.0
    peer: float = 0.0
    ratio: float = 0.0
    low: float = 0.0
    high: float = 0.0
    rounds: int = 0
    disturbed: int = 0
    verdict: str = ""


def grade(row: Row, samples: Samples) -> Result:
    """Return the medians in the row's unit, the median ratio with its quartiles, the verdict.

    A counted row is judged by its own number.  If the goal lies between the quartiles, the verdict
    is a tie: this run cannot decide.
    """
    measured = samples.counts[row.count] if row.count else samples.ns
    ours, peer = measured[row.ours], measured[row.peer]
    ratios = ours if row.count else [
        peer / ours if row.is_rate else ours / peer for ours, peer in zip(ours, peer, strict=True)
    ]  # fmt: skip
    low, middle, high = (
        quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    )
    return Result(
        row, ours=_in_unit(row, median(ours)), peer=_in_unit(row, median(peer)), ratio=middle,
        low=low, high=high, rounds=len(ratios), disturbed=samples.disturbed,
        verdict=_verdict(row, low, middle, high),
    )  # fmt: skip


def _verdict(row: Row, low: float, middle: float, high: float) -> str:
    if row.at_most is not None:
        return MET if middle <= row.at_most else TIE if low <= row.at_most else SHORT
    if row.at_least is not None:
        return MET if middle >= row.at_least else TIE if high >= row.at_least else SHORT
    return SHOWN


def _in_unit(row: Row, ns: float) -> float:
    if row.count:
        return ns
    if row.unit == KOPS:
        return 1e6 / ns
    return 1e3 / ns if row.is_rate else ns / PER_UNIT.get(row.unit, 1)
