# SPDX-License-Identifier: Apache-2.0
"""``pytest --wakeproof`` explores programs and scenarios as tests: ``queue_race.c``.

A file is collected if its name ends with ``_race`` and it is C, C++ or Rust.  It is explored as
``wakeproof explore FILE --strict`` does it, in its folder, with the arguments of a comment in it::

    // wakeproof: queue.c --model sc,tso -- -Iinclude -DSIZE=2

The test fails if an execution breaks a claim, and if not all were explored.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SUFFIXES = (".c", ".cpp", ".cc", ".cxx", ".rs")
_ARGUMENTS = re.compile(r"^\s*(?://+|/?\*+)?\s*wakeproof:(.*?)(?:\*/)?\s*$", re.MULTILINE)
_HOLDS, _VIOLATED = 0, 1  # exit codes


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--wakeproof``."""
    parser.getgroup("wakeproof").addoption(
        "--wakeproof", action="store_true",
        help="Explore the files *_race.c, .cpp and .rs in every interleaving and reordering.",
    )  # fmt: skip


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    """Return what collects a file, if the option is given and the file is one to explore."""
    is_race = file_path.stem.endswith("_race") and file_path.suffix in SUFFIXES
    if not is_race or not parent.config.getoption("--wakeproof"):
        return None
    collected: pytest.Collector = _File.from_parent(parent, path=file_path)
    return collected


class BrokenError(Exception):
    """What `wakeproof explore` has printed about a file whose claims do not hold."""


class _File(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield _Exploration.from_parent(self, name="explore")


class _Exploration(pytest.Item):
    """One file, under the models of its arguments."""

    def runtest(self) -> None:
        found = _ARGUMENTS.search(self.path.read_text("utf-8", "replace"))
        command = [sys.executable, "-m", "wakeproof", "explore", self.path.name]
        options, dashes, flags = (found[1] if found else "").partition(" -- ")
        command += [*shlex.split(options), "--strict"]
        command += ["--", *shlex.split(flags)] if dashes else []
        ended = subprocess.run(
            command, cwd=self.path.parent, capture_output=True, text=True, check=False
        )
        if ended.returncode == _HOLDS:
            self.add_report_section("call", "wakeproof", ended.stdout)
            return
        said = ended.stdout if ended.returncode == _VIOLATED else ended.stderr or ended.stdout
        raise BrokenError(f"{said.strip()}\n\n{shlex.join(['wakeproof', *command[3:]])}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, BrokenError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"wakeproof explore {self.path.name}"
