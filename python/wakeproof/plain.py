# SPDX-License-Identifier: Apache-2.0
"""Print results without any other package: columns of text, and JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

Show = Callable[[str, Sequence[str], Iterable[Sequence[str]]], None]
"""Prints a table, given its title, its columns' names, and its rows."""


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return lines: the title and the names, unless they are empty, and the rows.

    Example:
        >>> print(table("", ["name", "n"], [["guard", "2"]]))
        name   n
        guard  2
    """
    shown = [row for row in (columns, *rows) if any(row)]
    widths = [max(map(len, cells)) for cells in zip(*shown, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]
    return "\n".join([*filter(None, [title]), *lines])


def to_json(data: object) -> str:
    """Return dataclasses, enums and paths as indented JSON.

    Example:
        >>> print(to_json({"folder": Path("specs")}))
        {
          "folder": "specs"
        }
    """
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
