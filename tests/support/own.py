# SPDX-License-Identifier: Apache-2.0
"""Explores programs in C with a `main` of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from wakeproof.judge.explore.explorer import run_program
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.own.build import Builder
from wakeproof.judge.own.program import Program
from wakeproof.judge.own.run import explore
from wakeproof.judge.own.runtime import Runtime
from wakeproof.judge.process import Children

CXX = pytest.mark.skipif(
    shutil.which("g++") is None and os.environ.get("WAKEPROOF_CI") != "1", reason="no g++"
)


def _has_rust() -> bool:
    """Return whether there is a compiler of Rust that comes with its linker, as rustup's does."""
    if shutil.which("rustc") is None:
        return False
    asked = ["rustc", "--print", "sysroot"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    return any(Path(said.stdout.strip()).glob("lib/rustlib/*/bin/rust-lld"))


RUST = pytest.mark.skipif(not _has_rust(), reason="no Rust compiler of rustup")
WORST = ("race", "crash", "assertion", "lost_wakeup", "asleep", "stuck", "ended")
OPTIONS = ExploreOptions(check_duplicates=True, seconds=30.0)


def of_program(program: Program, options: ExploreOptions = OPTIONS) -> dict[Model, Result]:
    """Explore a program under each model."""
    with Children() as children, tempfile.TemporaryDirectory() as folder:
        built = Builder(children, Runtime(children), Path(folder)).program(program)
        return {result.model: result for result in explore(children, built, program, options)}


def of_text(
    text: str,
    *flags: str,
    options: ExploreOptions = OPTIONS,
    volatile_is_relaxed: bool = False,
    suffix: str = ".c",
    change: Callable[[Program], Program] = lambda program: program,
) -> dict[Model, Result]:
    """Explore the program of one file, `text`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"program{suffix}"
        file.write_text(text, "utf-8")
        program = Program((file,), flags, volatile_is_relaxed=volatile_is_relaxed)
        return of_program(change(program), options)


def may_leak(program: Program) -> Program:
    """Return a program of which no leak is a defect."""
    return replace(program, may_leak=True)


def verdicts(results: dict[Model, Result]) -> str:
    """Return the worst verdict under each model: ``ended ended race``."""
    return " ".join(min(result.verdicts, key=WORST.index) for result in results.values())


class Several:
    """One program whose first argument names what its `main` does."""

    def __init__(self, children: Children, text: str, folder: Path) -> None:
        file = folder / "several.c"
        file.write_text(text, "utf-8")
        self._children = children
        self._built = Builder(children, Runtime(children), folder).program(Program((file,)))

    def explore(self, name: str, options: ExploreOptions) -> dict[Model, Result]:
        """Explore what `name` does."""
        results = run_program(
            self._children, [str(self._built), "--test", name], self._built,
            replace(options, engine="graphs"), ["--", name],
        )  # fmt: skip
        return {result.model: result for result in results}
