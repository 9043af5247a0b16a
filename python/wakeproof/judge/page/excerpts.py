# SPDX-License-Identifier: Apache-2.0
"""The lines of sources that a report shows: a site of the code, a definition of a module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from wakeproof import locations
from wakeproof.judge.explore.explored import shown
from wakeproof.judge.page.data import Counterexample, Source

AROUND = 4
"""The lines above and below a site."""
_HEAD = re.compile(
    r"^(?:(?P<name>[A-Za-z_]\w*)(?:\([^)]*\)|\[[^]]*\])?\s*==|[A-Z]+\b|\(\*|-{4}|={4})",
    re.MULTILINE,
)
_COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)|\"[^\"]*\"", re.DOTALL)
_USED = re.compile(r"\b[A-Z]\w*")
_WHOLE = {"Init", "Next", "Spec", "Fairness"}
"""What a module defines as a whole; a claim's page does not repeat it."""
_LABEL = re.compile(r"\[([a-z]\w*\.\d+)\]")
_RANGE = re.compile(r"\[([a-z]\w*)\.(\d+)\]\.\.\[\1\.(\d+)\]")


class Excerpts:
    """Collects the sources that a report shows, each once, under a key."""

    def __init__(self) -> None:
        self.all: dict[str, Source] = {}

    def of_line(self, file: str, line: int, folders: Iterable[Path] = (), last: int = 0) -> str:
        """Return the key of the lines around `line` to `last`; "" if the file is not found.

        Args:
            file: as sites name it (`explored.shown`), or a name in one of the `folders`.
            line: the first line that matters.
            folders: the folders of the user's own files.
            last: the last line that matters; 0: `line`.
        """
        key = f"{file}:{line}"
        if key in self.all:
            return key
        path = _kernel().get(file) or next(
            (found for folder in folders if (found := folder / Path(file).name).is_file()), None
        )
        lines = path.read_text("utf-8", "replace").splitlines() if path else []
        if not 1 <= line <= len(lines):
            return ""
        last = max(line, last)
        first, end = _comment_above(lines, line), min(last + AROUND, len(lines))
        text = "\n".join(lines[first - 1 : end])
        self.all[key] = Source(name=file, first=first, text=text, mark=(line, last))
        return key

    def of_definition(self, modules: Mapping[str, str], name: str, twin: str = "") -> str:
        """Return the key of a definition in one of the texts of modules; "" if none has it."""
        for module, text in modules.items():
            found = definition(text, name)
            if found is None:
                continue
            first, lines = found
            key = f"{module}!{name}"
            source = Source(name=module, first=first, text=lines)
            if self.all.setdefault(key, source).text != lines:
                key = f"{key} with {twin}"
                self.all[key] = Source(name=f"{module} with {twin}", first=first, text=lines)
            return key
        return ""

    def of_claim(self, module: str, text: str, name: str) -> tuple[str, ...]:
        """Return the keys of a claim's definition and of those of its module that it uses."""
        keys: dict[str, None] = {}
        todo = [name]
        while todo:
            key = self.of_definition({module: text}, todo.pop(0))
            if key and key not in keys:
                keys[key] = None
                todo += sorted({*_USED.findall(_COMMENT.sub("", self.all[key].text))} - _WHOLE)
        return tuple(keys)

    def with_sources(self, one: Counterexample) -> Counterexample:
        """Return the counterexample with the sources that its steps show."""
        keys = {key for step in one.steps for key in step.sources}
        return one.model_copy(update={"sources": {key: self.all[key] for key in sorted(keys)}})


def definition(text: str, name: str) -> tuple[int, str] | None:
    """Return a definition of TLA+ with the comment above it, and the number of its first line."""
    heads = list(_HEAD.finditer(text))
    for at, head in enumerate(heads):
        if head["name"] != name:
            continue
        after = heads[at + 1].start() if at + 1 < len(heads) else len(text)
        begin = head.start()
        while (
            (above := text[:begin].rsplit("\n", 2))
            and len(above) > 1
            and (above[-2].startswith("\\*"))
        ):
            begin -= len(above[-2]) + 1
        lines = text[begin:after].rstrip().splitlines()
        while lines and lines[-1].startswith("\\*"):
            lines.pop()  # the comment of the next definition
        return text.count("\n", 0, begin) + 1, "\n".join(lines).rstrip()
    return None


def labels_in(text: str) -> tuple[str, ...]:
    """Return the labels of sites that a text names: ``[guard.1]``, ``[guard.1]..[guard.3]``."""
    found = [
        f"{stem}.{number}"
        for stem, first, last in _RANGE.findall(text)
        for number in range(int(first), int(last) + 1)
    ]
    return tuple(dict.fromkeys([*found, *_LABEL.findall(text)]))


def _comment_above(lines: list[str], line: int) -> int:
    """Return the first line of the comment that ends right above `line`, or some lines above."""
    at = line - 1  # the line above, counted from 1
    if at >= 1 and lines[at - 1].rstrip().endswith("*/"):
        while at > 1 and "/*" not in lines[at - 1]:
            at -= 1
        return max(1, min(at - 1, line - AROUND))
    return max(1, line - AROUND)


@cache
def _kernel() -> dict[str, Path]:
    """Return the kernel's and the scenarios' files by the names that sites have."""
    root = locations.sources()
    files = [*locations.kernel_files("chS"), *sorted((root / "stress").rglob("*.[ch]"))]
    return {shown(file): file for file in files}
