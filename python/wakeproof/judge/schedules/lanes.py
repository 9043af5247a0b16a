# SPDX-License-Identifier: Apache-2.0
"""A schedule as a reader sees it: a lane for each thread, a row for each line of source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import FrameType

from wakeproof.judge.schedules import awaits, waits
from wakeproof.judge.schedules.execution import Run, Task
from wakeproof.judge.schedules.given import Given
from wakeproof.judge.schedules.loop import LoopTask
from wakeproof.judge.schedules.operation import NAMES, POLL

_WIDTH = 36
_MOST = 60  # rows that are printed


@dataclass(frozen=True)
class Row:
    """Steps that one thread made at one line of source."""

    name: str
    where: str
    source: str
    did: tuple[str, ...]
    file: str = ""  # with its folder


class Recorder(Given):
    """Gives the choices of a schedule, and notes what the threads did."""

    def __init__(
        self, choices: Sequence[int], limit: int, noted: awaits.Noted, *, begins_late: bool
    ) -> None:
        super().__init__(choices, limit, begins_late=begins_late)
        self._noted = noted
        self.rows: list[Row] = []

    def pick(self, me: Task | None) -> int:
        """Return the next choice."""
        choice = super().pick(me)
        if choice >= 0 and self._run.tasks[choice >> 1].kind != POLL:
            task = self._run.tasks[choice >> 1]
            frame, _ = waits.place(task, self._run)
            did = "time is up" if choice & 1 else NAMES[task.kind]
            self._note(_row(_name(task, self._run), frame, did))
        return choice

    def begin(self, run: Run) -> None:
        """Start at the beginning."""
        super().begin(run)
        run.watch = self

    def goes_on(self, task: LoopTask) -> None:
        """Note that a task of asyncio goes on."""
        frame, _ = awaits.place(task.get_coro())
        if frame is not None:
            self._note(_row(task.get_name(), frame, "run"))

    def cancels(self, task: LoopTask) -> None:
        """Note that a task of asyncio is cancelled."""
        self._noted.cancels(task)
        self._note(Row(task.get_name(), "", "", ("cancelled",)))

    def _note(self, row: Row) -> None:
        last = self.rows[-1] if self.rows else None
        if last is not None and (last.name, last.where) == (row.name, row.where):
            self.rows[-1] = replace(row, did=last.did + row.did)
        else:
            self.rows.append(row)


def _row(name: str, frame: FrameType | None, did: str) -> Row:
    file = "" if frame is None else frame.f_code.co_filename
    return Row(name, waits.where(frame), waits.source(frame), (did,), file)


def _name(task: Task, run: Run) -> str:
    """Return the name of the thread, or of the task of asyncio that it runs."""
    active = (loop.active for loop in run.loops if loop.thread is task)
    return next((one.get_name() for one in active if one is not None), task.name)


def names_of(rows: Sequence[Row], run: Run) -> list[str]:
    """Return the names of the lanes: threads, and tasks of asyncio."""
    return list(dict.fromkeys([*(task.name for task in run.tasks), *(row.name for row in rows)]))


def to_text(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return the lanes as text; the middle of very many rows, as of a livelock, is left out."""
    width = max(12, min(_WIDTH, 108 // max(1, len(names))))
    lines = [" | ".join(name[:width].ljust(width) for name in names).rstrip()]
    lines.append("-+-".join("-" * width for _ in names))
    left_out = max(0, len(rows) - _MOST)
    begins = (len(rows) - left_out) // 2
    for at, row in enumerate(rows):
        if left_out and at == begins:
            lines.append(f"... {left_out:,} rows ...")
        if begins <= at < begins + left_out:
            continue
        number = row.where.rpartition(":")[2]
        text = f"{number:>4} {row.source}" if row.source else f"     ({', '.join(row.did)})"
        cells = [(text if name == row.name else "")[:width].ljust(width) for name in names]
        lines.append(" | ".join(cells).rstrip())
    return "\n".join(lines)
