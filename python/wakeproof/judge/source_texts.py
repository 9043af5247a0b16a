# SPDX-License-Identifier: Apache-2.0
"""The source files of a program, their texts, and a hash of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


_TWIN = re.compile(r"\bwp_twin\(\s*(\w+)\s*\)|\bWP_TWIN_(\w+)\b")

_UPCALLS = frozenset(("thread/hooks.h", "sched/carrier_tasks.h"))
"""Headers with functions that files of layers above define."""


class Sources:
    """The source files of programs.  A file is read again only when it has changed.

    Threads: any thread may call all methods.
    """

    def __init__(self, root: Path) -> None:
        self.kernel, self.stress = root / "kernel", root / "stress"
        self.harness = self.stress / "harness"
        self.folders = (self.kernel, self.stress)
        self._left_out = left_out(self.stress)
        self._files: dict[Path, tuple[tuple[int, int], str, list[Path]]] = {}

    def closure(self, source: Path) -> dict[str, str]:
        """Return the text of `source` and of every file it includes in quotes, by path."""
        texts: dict[Path, str] = {}
        pending = [source]
        while pending:
            path = pending.pop()
            if path not in texts:
                texts[path], included = self._file(path)
                pending += included
        return {str(path): text for path, text in texts.items()}

    def kernel_of(self, scenario: Path) -> list[Path]:
        """Return the kernel's files for a scenario: the sources of all headers that it reaches.

        If one of them is not explored, all such files are added, because files call them without
        their headers. The same is true of a file that calls a function of a layer above.
        """
        always = ("error", "futex", "lock", "membarrier")  # the engines' own, too
        found = {self.kernel / "base" / f"{name}.c" for name in always}
        todo, headers = [scenario, *found], set[Path]()
        while todo:
            included = {Path(name) for name in self.closure(todo.pop())}
            headers |= included
            files = {file.with_suffix(".c") for file in included}
            more = {f for f in files - found if self.kernel in f.parents and f.exists()}
            todo += more
            found |= more
        upcalls = {self.kernel / name for name in _UPCALLS}
        if not upcalls.isdisjoint(headers) or any(self.is_unexplored(path) for path in found):
            return sorted(self.kernel.rglob("*.[cS]"))
        return sorted(found)

    def is_unexplored(self, path: Path) -> bool:
        """Return whether a kernel file is included by no scenario, and left out by the explorer.

        Scenarios are linked with the file, because other files use it; it is compiled only once.
        """
        return self._left_out.get(self._name(path), "replaced") != "replaced"

    def is_explored(self, path: Path) -> bool:
        """Return whether the explorer runs a kernel file."""
        return self._name(path) not in self._left_out

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.kernel)) if self.kernel in path.parents else ""

    def explorer(self) -> list[Path]:
        """Return the explorer's sources, and the native engine's files that a scenario needs."""
        engine = [self.harness / "engine" / name for name in ("json.c", "registry.c", "tally.c")]
        return [*sorted((self.stress / "explorer").glob("*.c")), *engine]

    def _file(self, path: Path) -> tuple[str, list[Path]]:
        """Return the text of a file, and what it includes in quotes."""
        status = path.stat()
        version = status.st_mtime_ns, status.st_size
        if path not in self._files or self._files[path][0] != version:
            text = path.read_text(encoding="utf-8", errors="replace")
            self._files[path] = version, text, [*self._included(path, text)]
        return self._files[path][1:]

    def _included(self, path: Path, text: str) -> Iterator[Path]:
        for name in _INCLUDE.findall(text):
            candidates = (folder / name for folder in (path.parent, *self.folders))
            if found := next((file for file in candidates if file.is_file()), None):
                yield found.resolve()


def left_out(stress: Path) -> dict[str, str]:
    """Return the files of ``kernel/`` that the explorer leaves out, each with the reason.

    Source: ``stress/explorer/left_out.txt``.
    """
    text = (stress / "explorer" / "left_out.txt").read_text(encoding="utf-8")
    return dict(line.split(maxsplit=1) for line in text.splitlines() if not line.startswith("#"))


def uses_twin(text: str, twin: str) -> bool:
    """Return whether the code of `text` depends on the twin."""
    return twin in twins_in(text)


def twins_in(text: str) -> frozenset[str]:
    """Return the twins on which the code of `text` depends."""
    return frozenset(one or other for one, other in _TWIN.findall(text))


def digest(*parts: str) -> str:
    """Return a hash of the parts and of their ends."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode() + b"\0")
    return whole.hexdigest()[:20]
