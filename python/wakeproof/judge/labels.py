# SPDX-License-Identifier: Apache-2.0
"""The labels of atomic sites, ``[guard.2]``, by line of kernel/.

Source: the comment right before each operation; ``tools/pairs.py`` lints the same links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.explore.explored import shown
from wakeproof.judge.twins import edits

_OPERATION = re.compile(
    r"\bwp_(?:(?:load|store|exchange|cas|fetch_add|fetch_or|fetch_and)_"
    r"(?:relaxed|acquire|release|acq_rel)|fence_(?:seq_cst|light|heavy))\("
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LABEL = re.compile(
    r"\[([a-z]\w*\.\d+)\]\s+(relaxed|acquire|release|acq_rel|seq_cst|light|heavy)\b"
)
TWIN = re.compile(r"/\* twin(?: (?:of )?((?:(?:reads|writes) )?[a-z]\w*\.\d+))? \*/")
"""A twin's line, and the site that it stands for: ``mpsc.7``, or a half, ``reads mpsc.7``."""
_KEPT = re.compile(r"\bkept:\s*(.*)$")
_VOCABULARY = {"order.h", "instrument.h"}


@dataclass(frozen=True)
class LabelledSite:
    """One atomic operation: its place, and the facts in the comment before it."""

    label: str
    file: str  # as explored.shown says
    first: int  # line
    last: int
    order: str
    comment: str

    @property
    def kept(self) -> str:
        """Return the reason to keep an order that no scenario needs, or ""."""
        found = _KEPT.search(self.comment)
        return found[1] if found else ""


@dataclass(frozen=True)
class Labels:
    """Labels by line, and lines by label; an operation of several lines has all of them."""

    by_line: dict[tuple[str, int], str] = field(default_factory=dict)

    def of(self, file: str, line: int) -> str:
        """Return ``[guard.2]``, or "" where the line of `file` has no label."""
        label = self.by_line.get((file, line))
        return f"[{label}]" if label else ""

    def lines(self, label: str) -> list[tuple[str, int]]:
        """Return the lines of `label`, written with or without brackets.

        Raises:
            UsageError: there is no such label.
        """
        wanted = label.strip("[]")
        found = [place for place, name in self.by_line.items() if name == wanted]
        if not found:
            known = ", ".join(sorted(set(self.by_line.values())))
            raise UsageError(f"no site has the label {label!r}; there are {known}")
        return found


def read(sources: Path, files: Iterable[Path] = ()) -> Labels:
    """Return the labels of every file in ``kernel/`` below `sources`, and of `files`."""
    every = [site for file in (*kernel_files(sources), *files) for site in sites(file)]
    return Labels(
        {(site.file, n): site.label for site in every for n in range(site.first, site.last + 1)}
    )


def kernel_files(sources: Path) -> list[Path]:
    """Return the files of ``kernel/`` below `sources` that hold labelled operations."""
    return [file for file in locations.kernel_files(root=sources) if file.name not in _VOCABULARY]


def sites(file: Path, edited: str | None = None) -> list[LabelledSite]:
    """Return the labelled operations of `file`, or of a twin's text of it, in their order."""
    text = file.read_text("utf-8") if edited is None else edited
    numbers = edits.numbered(text)
    code = _blank(text)
    comments = [(match.end(), match.group()) for match in _COMMENT.finditer(text)]
    found = []
    previous = 0
    for operation in _OPERATION.finditer(code):
        near = [c for end, c in comments if previous <= end <= operation.start()]
        labelled = [(comment, label) for comment in near if (label := _LABEL.search(comment))]
        previous = operation.end()
        if labelled:
            comment, label = labelled[-1]
            first = numbers[text.count("\n", 0, operation.start())]
            last = numbers[text.count("\n", 0, _closing(code, operation.end()))]
            plain = re.sub(r"\s+\*?\s*", " ", comment[2:-2]).strip()
            found.append(LabelledSite(label[1], shown(file), first, last, label[2], plain))
    return found


def _blank(text: str) -> str:
    """Turn comments and the lines of twins to spaces; offsets stay."""
    lines = [
        " " * (len(line) - 1) + "\n" if TWIN.search(line) else line
        for line in text.splitlines(keepends=True)
    ]
    return _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), "".join(lines))


def _closing(code: str, after: int) -> int:
    """Return the offset of the parenthesis that closes the one before `after`."""
    depth = 1
    for at in range(after, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if not depth:
            return at
    return after
