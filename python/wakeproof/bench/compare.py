# SPDX-License-Identifier: Apache-2.0
"""Two stored runs of the bench, row by row: what has become faster, slower, met or short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wakeproof.bench.grading import MET, SHORT, Result
from wakeproof.bench.measure import BenchReport
from wakeproof.bench.rows import Row
from wakeproof.errors import UsageError
from wakeproof.judge import schema
from wakeproof.judge.schema import SchemaError

FASTER, SLOWER = "faster", "slower"


@dataclass(frozen=True)
class Change:
    """A row that both runs measured."""

    old: Result
    new: Result

    @property
    def factor(self) -> float:
        """Return new/old of the ratio, or of the count; 0 if the old one is 0."""
        return self.new.ratio / self.old.ratio if self.old.ratio else 0.0

    @property
    def way(self) -> str:
        """Return "faster" or "slower" if the quartiles of the two do not overlap, else ""."""
        if self.new.high < self.old.low:
            return SLOWER if self.new.row.is_rate else FASTER
        if self.new.low > self.old.high:
            return FASTER if self.new.row.is_rate else SLOWER
        return ""

    @property
    def is_lost(self) -> bool:
        """Return whether the goal was met and is short now."""
        return (self.old.verdict, self.new.verdict) == (MET, SHORT)


@dataclass(frozen=True)
class Comparison:
    """The rows that both runs measured, in the new one's order, and those that only one did."""

    changes: tuple[Change, ...]
    only_old: tuple[Result, ...]
    only_new: tuple[Result, ...]

    @property
    def lost(self) -> tuple[Change, ...]:
        """Return the rows whose goal was met and is short now."""
        return tuple(change for change in self.changes if change.is_lost)

    @property
    def summary(self) -> str:
        """Return the last line of the table."""
        ways = [change.way for change in self.changes]
        line = (
            f"{len(ways)} rows: {ways.count(FASTER)} faster, {ways.count(SLOWER)} slower, "
            f"{ways.count('')} within the quartiles; {len(self.lost)} goals lost"
        )
        for name, alone in (("old", self.only_old), ("new", self.only_new)):
            if alone:
                line += f"; {len(alone)} rows in the {name} run alone"
        return line


def read(file: Path) -> BenchReport:
    """Read a run: what ``wakeproof bench --json`` has printed, or the ``bench.json`` it has stored.

    Raises:
        UsageError: there is no such file, or it is no run of the bench.
    """
    try:
        return schema.from_json(BenchReport, file.read_text("utf-8", errors="replace"))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except SchemaError as error:
        raise UsageError(
            f"{file} is no run that `wakeproof bench --json` printed: {error}"
        ) from None


def compare(
    old: BenchReport, new: BenchReport, wanted: Callable[[Row], bool] = lambda _: True
) -> Comparison:
    """Join the `wanted` rows of two runs by name, sides and count; what was not run is absent."""
    before, after = _measured(old, wanted), _measured(new, wanted)
    return Comparison(
        tuple(Change(before[key], found) for key, found in after.items() if key in before),
        tuple(found for key, found in before.items() if key not in after),
        tuple(found for key, found in after.items() if key not in before),
    )


def _measured(run: BenchReport, wanted: Callable[[Row], bool]) -> dict[tuple[str, ...], Result]:
    return {
        (found.row.name, found.row.program, found.row.ours, found.row.peer, found.row.count): found
        for found in run.results if wanted(found.row) and not found.not_run
    }  # fmt: skip
