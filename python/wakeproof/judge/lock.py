# SPDX-License-Identifier: Apache-2.0
"""``verdicts.lock``: the verdicts of the last full audit, row by row, tracked with the sources.

A line is a JSON list: judge, name, hash of the inputs, date, verdict, counts, detail, and a hash of
the line.  A line has no path.  The compiler is only in the hash of a row that depends on it, so
with another compiler such a row is not found.  A line that does not fit its own hash is ignored.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wakeproof import locations

NAME = "verdicts.lock"
SHARES = 8


@dataclass(frozen=True)
class Row:
    """One verdict of one judge.

    `counts` must be the same for the same inputs; empty counts are not compared.  `detail` may
    differ, as the outcomes that real cores show within some seconds do.  Both are plain data, from
    which a judge makes its report again.  `more`, which may be large, is shown in addition.
    """

    judge: str
    name: str  # of what was judged; no two rows of a judge share one
    inputs: str  # hash
    verdict: str
    counts: Any
    detail: Any
    more: Any = None
    date: str = ""  # when it was judged; "": now
    holds: bool = True

    @property
    def share(self) -> int:
        """Return which share of all rows it is in, whatever its inputs are."""
        return share(f"{self.judge} {self.name}")


@dataclass(frozen=True)
class Lock:
    """The rows of the file, and the number of its lines that are no rows."""

    rows: Mapping[tuple[str, str], Row] = field(default_factory=dict)
    damaged: int = 0

    def find(self, judge: str, name: str, inputs: str) -> Row | None:
        """Return the row of `name` if it was judged on `inputs`."""
        row = self.rows.get((judge, name))
        return row if row is not None and row.inputs == inputs else None

    def contradicts(self, row: Row) -> bool:
        """Return whether the file has another verdict, or other counts, for the same inputs."""
        known = self.find(row.judge, row.name, row.inputs)
        if known is None:
            return False
        counted = bool(known.counts and row.counts) and known.counts != row.counts
        return known.verdict != row.verdict or counted


def read(file: Path) -> Lock:
    """Return what is in the file; nothing if there is none."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return Lock()
    rows = [row for line in lines if (row := _row(line))]
    return Lock({(row.judge, row.name): row for row in rows}, len(lines) - len(rows))


def write(file: Path, rows: Iterable[Row], date: str) -> None:
    """Write the rows, in the order of judges and names; `date`: of what was judged now."""
    ordered = sorted(rows, key=lambda row: (row.judge, row.name))
    locations.write_atomically(file, "".join(_line(row, date) for row in ordered))


def replace_judge(file: Path, judge: str, rows: Iterable[Row], date: str) -> None:
    """Write the rows of one judge in place of those that it has, and leave the others."""
    others = [row for row in read(file).rows.values() if row.judge != judge]
    write(file, [*others, *rows], date)


def share(name: str) -> int:
    """Return the share of a name."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % SHARES


def share_of(root: Path) -> tuple[int, str] | None:
    """Return the share of the commit that is checked out at `root`, and its hash.

    None: no commit is checked out, so there is no share.
    """
    command = ["git", "-C", str(root), "rev-parse", "--verify", "HEAD"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return None
    commit = ended.stdout.strip()
    return None if ended.returncode or not commit else (share(commit), commit)


def _line(row: Row, date: str) -> str:
    text = json.dumps([
        row.judge, row.name, row.inputs, row.date or date, row.verdict, row.counts, row.detail,
    ], separators=(",", ":"))  # fmt: skip
    return f'{text[:-1]},"{_own(text)}"]\n'


def _row(line: str) -> Row | None:
    text, _, own = line.removesuffix('"]').rpartition(',"')
    text += "]"
    if own != _own(text):
        return None
    try:
        judge, name, inputs, date, verdict, counts, detail = json.loads(text)
    except (ValueError, TypeError):
        return None
    return Row(judge, name, inputs, verdict, counts, detail, date=date)


def _own(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
