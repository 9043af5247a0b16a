# SPDX-License-Identifier: Apache-2.0
"""Draws the shortest execution of a bug, for the stories of the guide.

    python -m tools.traces liburing_541    of the museum: docs/guide/stories/liburing_541.svg
    python -m tools.traces glibc/unseen    of tests/wild: docs/guide/stories/glibc_unseen.svg

Time goes down.  Each thread has a lane, each step a box, and an arrow leads from a write to what
another thread reads from it.  Steps that sleep for ever, or end badly, are red; a read of an old
value is orange.  Of a long execution the last steps are drawn.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from tests.wild import declared
from tests.wild import run as wild
from tools.plots import STYLE

from wakeproof.errors import WakeproofError
from wakeproof.judge.explore import classes, trace
from wakeproof.judge.explore.kept import Counterexample
from wakeproof.judge.explore.options import Model
from wakeproof.judge.labels import Labels
from wakeproof.judge.museum import exhibits, run
from wakeproof.judge.own import run as own
from wakeproof.locations import write_atomically

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / "docs" / "guide" / "stories"
LANE, GAP, TOP, LINE, LETTERS = 270, 14, 34, 15, 38
"""In pixels: the width of a lane, a gap, the head, a line of text; and letters in a line."""
MOST: Final = 40
"""Steps that are drawn."""
COLOURS: Final = {"": "#3b7dd8", "old": "#d9822b", "bad": "#d1495b"}


@dataclass(frozen=True)
class Box:
    """A step: where it is drawn, what it says, and the number of the step that it reads from."""

    number: int
    lane: int
    y: int
    lines: tuple[str, ...]
    kind: str
    source: int

    @property
    def height(self) -> int:
        """Return its height in pixels."""
        return LINE * len(self.lines) + 8


def boxes(one: Counterexample) -> list[Box]:
    """Return the last steps of an execution."""
    rows = trace.rows(one.found, Labels(), Model(one.token.model))
    found: list[Box] = []
    y = TOP + (LINE if len(rows) > MOST else 0)
    for row in rows[-MOST:]:
        (lane,) = (at for at, cell in enumerate(row.cells) if cell)
        value = f" {row.value}" if row.value else ""
        is_old = row.read_from.endswith("buffer") or "old" in row.read_from
        text = row.cells[lane] + (f" →{value}" if value else "") + (" (old)" if is_old else "")
        kind = (
            "bad"
            if "for ever" in text or (row is rows[-1] and "asleep" not in one.found.text)
            else ""
        )
        source = row.read_from.partition(",")[0].partition(":")[0].lstrip("#")
        lines = tuple(textwrap.wrap(f"{row.number}. {text}", LETTERS, break_long_words=False))
        found.append(Box(
            int(row.number), lane, y, lines, "bad" if kind else "old" * is_old,
            int(source) if source.isdigit() else 0,
        ))  # fmt: skip
        y += found[-1].height + 6
    return found


def svg(one: Counterexample) -> str:
    """Return the picture of an execution."""
    steps = boxes(one)
    lanes = 1 + max(box.lane for box in steps)
    width, height = lanes * LANE + GAP, steps[-1].y + steps[-1].height + GAP
    names = [classes.actor(one.found, lane) for lane in range(lanes)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" font-family="sans-serif" font-size="12">',
        STYLE,
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{COLOURS[""]}"/></marker></defs>',
        f'<rect class="ground" width="{width}" height="{height}"/>',
        *_lanes(names, height), *_left_out(steps[0].number - 1, width), *_arrows(steps),
        *_drawn(steps), "</svg>", "",
    ])  # fmt: skip


def _lanes(names: Sequence[str], height: int) -> Iterator[str]:
    for lane, name in enumerate(names):
        middle = lane * LANE + GAP + (LANE - GAP) // 2
        yield (f'<text x="{middle}" y="20" text-anchor="middle" font-weight="bold">'
               f"{escape(name)}</text>")  # fmt: skip
        yield (f'<line x1="{middle}" y1="26" x2="{middle}" y2="{height - 6}" stroke="#8a8f98" '
               'stroke-dasharray="2 4"/>')  # fmt: skip


def _left_out(count: int, width: int) -> Iterator[str]:
    if count:
        yield (f'<text x="{width // 2}" y="{TOP + LINE // 2}" text-anchor="middle" '
               f'font-style="italic">{count} steps before these are left out</text>')  # fmt: skip


def _arrows(steps: Sequence[Box]) -> Iterator[str]:
    known = {box.number: box for box in steps}
    for box in steps:
        source = known.get(box.source)
        if source is None or source.lane == box.lane or source.lines[0].endswith("(plain)"):
            continue  # a plain write is an object's first value
        is_right = box.lane > source.lane
        x1 = source.lane * LANE + (LANE if is_right else GAP)
        x2 = box.lane * LANE + (GAP if is_right else LANE)
        y1, y2 = source.y + source.height // 2, box.y + box.height // 2
        yield (f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{COLOURS[""]}" '
               'marker-end="url(#tip)"/>')  # fmt: skip


def _drawn(steps: Sequence[Box]) -> Iterator[str]:
    for box in steps:
        x = box.lane * LANE + GAP
        yield (f'<rect class="ground" x="{x}" y="{box.y}" width="{LANE - GAP}" '
               f'height="{box.height}" rx="4" stroke="{COLOURS[box.kind]}" '
               f'stroke-width="{2 if box.kind else 1}"/>')  # fmt: skip
        for at, line in enumerate(box.lines):
            yield f'<text x="{x + 7}" y="{box.y + 15 + at * LINE}">{escape(line)}</text>'


def _shortest(name: str) -> Counterexample:
    """Return the shortest execution of a bug of the museum, or of the first bad run of a case."""
    if "/" not in name:
        (found,) = run.run(exhibits.read(names=[name]), run.options())
        return found.counterexamples[0]
    jobs = wild.jobs(declared.named(name, declared.read()))
    job = next(job for job in jobs if set(job.run.expected.values()) != {"ended"})
    return own.report([wild.program(job)], job.case.options(job.run)).counterexamples[0]


def main(names: Sequence[str]) -> int:
    """Draw the named bugs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        for name in names:
            file = FOLDER / f"{name.replace('/', '_')}.svg"
            write_atomically(file, svg(_shortest(name)))
            print(file)
    except WakeproofError as error:
        print(f"traces: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
