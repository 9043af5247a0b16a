# SPDX-License-Identifier: Apache-2.0
"""A schedule as a reader sees it: a lane for each thread, a row for each line of source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wakeproof.judge.schedules import waits
from wakeproof.judge.schedules.execution import Run, Task
from wakeproof.judge.schedules.given import Given
from wakeproof.judge.schedules.operation import NAMES

_WIDTH = 36


@dataclass(frozen=True)
class Row:
    """Steps that one thread made at one line of source."""

    name: str
    where: str
    source: str
    did: tuple[str, ...]


class Recorder(Given):
    """Gives the choices of a schedule, and notes what the threads did."""

    def __init__(self, choices: Sequence[int], limit: int) -> None:
        super().__init__(choices, limit)
        self.rows: list[Row] = []

    def pick(self, me: Task | None) -> int:
        """Return the next choice."""
        choice = super().pick(me)
        if choice >= 0:
            task = self._run.tasks[choice >> 1]
            frame, _ = waits.place(task, self._run)
            did = "time is up" if choice & 1 else NAMES[task.kind]
            self._note(Row(task.name, waits.where(frame), waits.source(frame), (did,)))
        return choice

    def _note(self, row: Row) -> None:
        last = self.rows[-1] if self.rows else None
        if last is not None and (last.name, last.where) == (row.name, row.where):
            self.rows[-1] = Row(row.name, row.where, row.source, last.did + row.did)
        else:
            self.rows.append(row)


def to_text(rows: Sequence[Row], run: Run) -> str:
    """Return the lanes as text."""
    names = [task.name for task in run.tasks]
    width = max(12, min(_WIDTH, 108 // max(1, len(names))))
    lines = [" | ".join(name[:width].ljust(width) for name in names).rstrip()]
    lines.append("-+-".join("-" * width for _ in names))
    for row in rows:
        number = row.where.rpartition(":")[2]
        text = f"{number:>4} {row.source}" if row.source else f"     ({', '.join(row.did)})"
        cells = [(text if name == row.name else "")[:width].ljust(width) for name in names]
        lines.append(" | ".join(cells).rstrip())
    return "\n".join(lines)
