# SPDX-License-Identifier: Apache-2.0
"""The sources that several sections of an inventory share; each is read once."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

from tools import pairs

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import scenarios
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.process import Children
from wakeproof.judge.scenarios import Scenario, Twin
from wakeproof.judge.tlc import manifest, models
from wakeproof.judge.tlc.manifest import Entry
from wakeproof.judge.twins import edits as twins

COLLECT_TIMEOUT_S = 300.0
_TWIN = re.compile(r"\bwp_twin\(\s*(\w+)\s*\)|\bWP_TWIN_(\w+)\b")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


class Tree:
    """The checkout to which this module belongs.

    Args:
        files: scenario files to read in place of all.
    """

    def __init__(self, files: Sequence[Path] | None = None) -> None:
        if not locations.is_checkout():
            raise UsageError("an inventory is taken of a checkout, and this is none")
        self.root = locations.sources()
        self.kernel, self.specs = self.root / "kernel", self.root / "specs"
        self._files = files

    @cached_property
    def concepts(self) -> set[str]:
        """The kernel's files, from its root and without suffix: ``guard``."""
        return {self.concept(file) for file in self.kernel.rglob("*.[chS]")}

    def concept(self, file: Path) -> str:
        """Return the concept of a file of the kernel; of any other file, its top-level folder."""
        if file.is_relative_to(self.kernel):
            return str(file.relative_to(self.kernel).with_suffix(""))
        return file.relative_to(self.root).parts[0]

    @cached_property
    def models(self) -> Path:
        """The folder of TLC's files, made from the tables of ``specs/``."""
        return models.folder(self.specs)

    @cached_property
    def entries(self) -> list[Entry]:
        """The configurations of TLC."""
        return list(manifest.load(self.models).values())

    @cached_property
    def links(self) -> pairs.Links:
        """The labelled sites of the kernel.

        Raises:
            UsageError: a link is broken, so a lost link could not be found.
        """
        found = pairs.read_links(self.root)
        if found.errors:
            raise UsageError(f"labels: {len(found.errors)} links are broken: {found.errors[0]}")
        return found

    @cached_property
    def declared(self) -> tuple[list[Scenario], list[Twin]]:
        """What the scenario files declare; they are compiled as `wakeproof audit` compiles them."""
        with Children() as children, ThreadPoolExecutor(4) as pool:
            builder = Builder(children)
            found = list(pool.map(
                lambda file: scenarios.declared(file, builder, children, Build()),
                scenarios.find(self._files),
            ))  # fmt: skip
        return [s for own, _ in found for s in own], [t for _, own in found for t in own]

    @cached_property
    def twins(self) -> dict[str, set[str]]:
        """Each twin that the sources name, with the concepts of the files that do."""
        found: dict[str, set[str]] = {}
        for folder in ("kernel", "stress", "examples"):
            for file in sorted((self.root / folder).rglob("*.[chS]")):
                if file.name in ("twin.h", "stress.h"):  # these define the macros of twins
                    continue
                for match in _TWIN.finditer(_COMMENT.sub("", file.read_text(encoding="utf-8"))):
                    found.setdefault(match[1] or match[2], set()).add(self.concept(file))
        for name, twin in twins.of_code(self.root).items():
            changed = {self.concept(self.kernel / edit.file) for edit in twin.code}
            found.setdefault(name, set()).update(changed)
        return found

    @cached_property
    def tests(self) -> list[str]:
        """The node ids of all tests, as pytest collects them.

        Raises:
            JudgeError: pytest failed, or counts other tests than it lists.
        """
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("PYTEST_", "WAKEPROOF_"))}  # fmt: skip
        with Children() as children:
            ended = children.run(command, cwd=self.root, env=clean, timeout_s=COLLECT_TIMEOUT_S)
        ids = [line for line in ended.output.splitlines() if re.match(r"\S+\.py::", line)]
        if ended.code or ended.timed_out or f"\n{len(ids)} tests collected" not in ended.output:
            raise JudgeError(f"pytest collects no tests: {ended.output.strip()[-400:]}")
        return ids

    @cached_property
    def targets(self) -> dict[str, str]:
        """The targets that `make help` lists, each with its description.

        Raises:
            JudgeError: make failed, or lists none.
        """
        with Children() as children:
            ended = children.run(["make", "--no-print-directory", "help"], cwd=self.root,
                                 timeout_s=60)  # fmt: skip
        found = dict(re.findall(r"^  make (\S+) +(.+)$", ended.output, re.MULTILINE))
        if ended.code or not found:
            raise JudgeError(f"make help: {ended.output.strip()[-400:]}")
        return found

    @cached_property
    def test_texts(self) -> dict[str, str]:
        """The texts of the test modules by stem; modules of two folders may share a stem."""
        found: dict[str, str] = {}
        for file in sorted((self.root / "tests").rglob("*.py")):
            found[file.stem] = found.get(file.stem, "") + file.read_text(encoding="utf-8")
        return found

    @cached_property
    def folders(self) -> dict[str, int]:
        """The top-level folders, with the lines of text that git tracks in each.

        Raises:
            JudgeError: git failed.
        """
        with Children() as children:
            ended = children.run(["git", "ls-files", "-z"], cwd=self.root, timeout_s=60)
        if ended.code:
            raise JudgeError(f"git ls-files: {ended.output.strip()}")
        found: dict[str, int] = {}
        for name in filter(None, ended.output.split("\0")):
            folder, is_below, _ = name.partition("/")
            data = (self.root / name).read_bytes() if (self.root / name).is_file() else b""
            if is_below and b"\0" not in data:
                found[folder] = found.get(folder, 0) + data.count(b"\n")
        return found
