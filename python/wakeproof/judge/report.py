# SPDX-License-Identifier: Apache-2.0
"""How results are shown: tables and lines for people, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import typer
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from wakeproof import errors
from wakeproof.judge.results import Results
from wakeproof.plain import to_json as to_json

WIDE = 220  # columns of a table that goes to a file or a pipe
NARROW = 12  # columns that a longer cell keeps in any window
PADDING = 2  # columns between two cells


class Screen(Console):
    """A console that cuts nothing: a line that is too long continues in the next line."""

    def print(self, *objects: Any, crop: bool = False, **options: Any) -> None:
        """Print, as `rich.console.Console.print` does."""
        super().print(*objects, crop=crop, **options)


def console(*, stderr: bool = False) -> Console:
    """Return a console; without a terminal it is wide, so that tables have room."""
    stream = sys.stderr if stderr else sys.stdout
    return Screen(stderr=stderr, width=None if stream.isatty() else WIDE, highlight=False)


WHOLE = ("claim", "claims", "upholds")
"""Columns of names that people search for: their lines are never folded."""


class _Roomy(Table):
    """A table that is never narrower than `least` columns."""

    least = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(options.max_width, self.least)
        yield from super().__rich_console__(console, options.update_width(width))


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """Return a table; a column named ">..." is right-aligned, and rows may end early.

    In a narrow window the right-aligned columns, the verdicts and `WHOLE` keep their width.  The
    other cells fold, but none to fewer than `NARROW` columns.
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


def show(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table."""
    console().print(table(title, columns, rows))


def verdict(text: str, *, good: bool) -> Text:
    """Return a cell in the colour of its meaning."""
    return Text(text, style="green" if good else "bold red")


def line(screen: Console, text: str, *, good: bool) -> None:
    """Print the line of one result, as soon as the result is there."""
    screen.print(text, markup=False, soft_wrap=True, style="" if good else "bold red")


def total(screen: Console, text: str, found: Results[Any]) -> None:
    """Print the last line of a report: what was judged, the seconds, and the verdict."""
    screen.print(f"\n{text}, in {found.seconds:.0f} s: {found.verdict}",
                 style="green" if found.holds else "bold red", soft_wrap=True)  # fmt: skip


def end(
    summary: Callable[[], Any], show: Callable[[], None], *, as_json: bool, holds: bool
) -> NoReturn:
    """Print a report as JSON or as text, and end the command."""
    if as_json:
        print(to_json(summary()))
    else:
        show()
    raise typer.Exit(errors.EXIT_HOLDS if holds else errors.EXIT_VIOLATED)
