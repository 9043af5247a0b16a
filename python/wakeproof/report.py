# SPDX-License-Identifier: Apache-2.0
"""How results are shown: tables and lines for people, JSON for programs."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

WIDE = 220  # columns of a table that goes to a file or a pipe
NARROW = 12  # columns that a cell keeps in any window, if it has so many
PADDING = 2  # columns between two cells


class Screen(Console):
    """A console that cuts nothing: a line that is too long goes on in the next, as terminals do."""

    def print(self, *objects: Any, crop: bool = False, **options: Any) -> None:
        """Print, as `rich.console.Console.print` does."""
        super().print(*objects, crop=crop, **options)


def console(*, stderr: bool = False) -> Console:
    """Return a console; without a terminal it is wide, so that tables have room."""
    stream = sys.stderr if stderr else sys.stdout
    return Screen(stderr=stderr, width=None if stream.isatty() else WIDE, highlight=False)


WHOLE = ("claim", "claims", "upholds")
"""Columns of names that somebody searches for: no line of theirs is ever folded."""


class _Roomy(Table):
    """A table that is never narrower than `least` columns."""

    least = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(options.max_width, self.least)
        yield from super().__rich_console__(console, options.update_width(width))


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """Return a table; columns whose name starts with ">" are right-aligned, rows may end early.

    In a narrow window these, verdicts and `WHOLE` stay as they are, and the other cells fold, but
    none to fewer than `NARROW` columns.
    """
    result = _Roomy(title=title or None, title_justify="left", box=None, pad_edge=False)
    cells = [[cell if isinstance(cell, Text) else Text(str(cell)) for cell in row] for row in rows]
    for at, column in enumerate(columns):
        right, name = column.startswith(">"), column.removeprefix(">")
        is_whole = right or name in (*WHOLE, "verdict")
        texts = [name, *(row[at].plain for row in cells if at < len(row))]
        widest = max(cell_len(line) for text in texts for line in text.split("\n"))
        result.least += (widest if is_whole else min(widest, NARROW)) + PADDING
        result.add_column(name, justify="right" if right else "left", overflow="fold",
                          no_wrap=is_whole)  # fmt: skip
    for row in cells:
        result.add_row(*row)
    return result


def verdict(text: str, *, good: bool) -> Text:
    """Return a cell in the colour of its meaning."""
    return Text(text, style="green" if good else "bold red")


def to_json(data: object) -> str:
    """Return dataclasses, enums and paths as indented JSON."""
    return json.dumps(data, indent=2, default=_plain)


def _plain(value: Any) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
