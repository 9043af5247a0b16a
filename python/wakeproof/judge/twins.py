# SPDX-License-Identifier: Apache-2.0
"""Twins as data: edits of the kernel's text, which make one named defect when a judge builds it.

Source: ``stress/twins/<layer>/<concept>.toml``; the section ``[defect]`` is twin
``<concept>_<defect>``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.source_texts import digest


@dataclass(frozen=True)
class Edit:
    """One change: `find`, which occurs once in `function` of `file`, becomes `replace`."""

    file: str  # from kernel/ on
    function: str
    find: str
    replace: str


@dataclass(frozen=True)
class Twin:
    """One defect, and the table that has it."""

    name: str  # <concept>_<defect>
    table: Path
    edits: tuple[Edit, ...]


def read(root: Path) -> dict[str, Twin]:
    """Return the twins in the tables below `root`, by name.

    Raises:
        UsageError: a table is malformed.
    """
    found: dict[str, Twin] = {}
    for table in sorted((root / "stress" / "twins").rglob("*.toml")):
        try:
            for defect, section in tomllib.loads(table.read_text(encoding="utf-8")).items():
                rows = tuple(
                    Edit(row["file"], row["in"], row["find"], row["replace"])
                    for row in section["edits"]
                )
                name = f"{table.stem}_{defect}"
                found[name] = Twin(name, table, rows)
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            raise UsageError(f"{table}: not a table of twins: {error}") from None
    return found


def edited(twin: Twin, root: Path) -> dict[Path, str]:
    """Return the texts of the kernel's files that the twin changes, by the product's path.

    ``#line`` keeps the product's names and line numbers.

    Raises:
        UsageError: an edit does not apply; the message names the twin and the file.
    """
    changes: dict[Path, list[tuple[int, int, str]]] = {}
    texts: dict[Path, str] = {}
    for edit in twin.edits:
        path = root / "kernel" / edit.file
        wrong = f"{twin.table}: twin {twin.name}: {edit.file}"
        if not path.is_file():
            raise UsageError(f"{wrong}: no such file in kernel/")
        text = texts.setdefault(path, path.read_text(encoding="utf-8"))
        begin, end = _body(text, edit.function, wrong)
        if (times := text.count(edit.find, begin, end)) != 1:
            raise UsageError(
                f"{wrong}: {edit.find!r} is {times} times in {edit.function}, not once"
            )
        at = text.index(edit.find, begin)
        changes.setdefault(path, []).append((at, at + len(edit.find), edit.replace))
    return {path: _changed(path, texts[path], sorted(rows)) for path, rows in changes.items()}


def overlay(texts: dict[Path, str], root: Path, into: Path) -> Path:
    """Write the texts to a folder below `into`, named by what it holds; return it.

    The folder comes first in the include path: a name from ``kernel/`` on is then found in it.
    """
    rows = sorted((str(path.relative_to(root / "kernel")), text) for path, text in texts.items())
    folder = into / digest(*(part for row in rows for part in row))
    for name, text in rows:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        locations.write_atomically(folder / name, text)
    return folder


def _body(text: str, function: str, wrong: str) -> tuple[int, int]:
    """Return where the definition of a C function begins and ends."""
    found = re.search(rf"^\w[^\n;{{}}]*\b{function}\([^;{{}}]*\)\n{{.*?^}}$", text, re.M | re.S)
    if found is None:
        raise UsageError(f"{wrong}: no function {function}")
    return found.span()


def _changed(path: Path, text: str, rows: list[tuple[int, int, str]]) -> str:
    """Replace [begin, end) by text in each row; number what follows as in the product."""
    parts, last = [f'#line 1 "{path}"\n'], 0
    for begin, end, replacement in rows:
        parts += [text[last:begin], replacement]
        last = end
        if replacement.count("\n") != text.count("\n", begin, end):
            line_end = text.index("\n", end) + 1
            number = text.count("\n", 0, line_end) + 1
            parts += [text[end:line_end], f'#line {number} "{path}"\n']
            last = line_end
    return "".join([*parts, text[last:]])
