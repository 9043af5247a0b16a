# SPDX-License-Identifier: Apache-2.0
"""Builds the programs of fibers and their stacks, whole or as a twin; for one test each."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.compiling import BUILDS, TWIN, WARNINGS, program_file

from wakeproof import locations
from wakeproof._native import build as _build
from wakeproof.judge.twins import edits as twins

KERNEL = locations.sources() / "kernel"
SOURCES = ("thread/fiber.c", "thread/stack.c", "thread/overflow.c",
           "base/lock.c", "base/futex.c")  # fmt: skip
ASSEMBLY = ("thread/fiber_x86_64.S", "thread/fiber_aarch64.S")
CLANG = next((c for c in ("clang", "clang-19") if shutil.which(c)), "clang")
AARCH64 = "aarch64-linux-gnu-gcc -static"
TIMEOUT_S = 120


def needs(tool: str, package: str) -> None:
    if shutil.which(tool) is None:
        text = f"not run: install {package}"
        if os.environ.get("WAKEPROOF_CI") == "1":
            pytest.fail(text)
        pytest.skip(text)


def needs_aarch64() -> None:
    needs("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")
    needs("qemu-aarch64", "qemu-user")


@dataclass(frozen=True)
class Program:
    """A built program, and its command."""

    command: tuple[str, ...]

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*self.command, *arguments]
        environment = {**os.environ, "TSAN_OPTIONS": "atexit_sleep_ms=0"}  # otherwise a second each
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )


def cc(compiler: str, *arguments: str | Path, cwd: Path) -> None:
    command = [*compiler.split(), *map(str, arguments)]
    built = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    if "libclang_rt" in built.stderr:
        pytest.skip("not run: install libclang-rt-dev")
    assert built.returncode == 0, built.stderr


def build(
    folder: Path, name: str, kind: str = "plain", compiler: str = "cc", flags: Sequence[str] = (),
    kernel: Path = KERNEL,
) -> Program:  # fmt: skip
    """Compile the C files, once per folder; assemble and link. A flag may name a twin."""
    named = [flag.removeprefix(TWIN).split("=")[0] for flag in flags if flag.startswith(TWIN)]
    overlay = twins.overlay_of(*named) if named else None
    warnings = [] if named else WARNINGS  # a defect may leave something unused
    flags = [flag for flag in flags if not flag.startswith(TWIN)]
    common = ["-std=c11", "-g", *warnings, *BUILDS[kind], "-pthread", _build.PROBED,
              *(f"-I{place}" for place in (overlay, kernel) if place)]  # fmt: skip
    folder.mkdir(exist_ok=True)

    def source_of(name: str) -> Path:
        edited = overlay / name if overlay else None
        return edited if edited and edited.exists() else kernel / name

    if not (folder / "program.o").exists():
        program = program_file(name)
        objects = [*map(source_of, SOURCES)]
        cc(compiler, *common, *flags, "-c", *objects, cwd=folder)
        cc(compiler, *common, "-c", program, "-o", "program.o", cwd=folder)
    target = folder / f"{name}{overlay.name if overlay else ''}{''.join(flags)}"
    objects = [Path(f"{Path(source).stem}.o") for source in ("program", *SOURCES)]
    assembly = map(source_of, ASSEMBLY)
    cc(compiler, *common, *flags, *objects, *assembly, "-lm", "-o", target, cwd=folder)
    if "aarch64" in compiler:
        return Program(("qemu-aarch64", str(target)))
    no_aslr = kind == "thread" and shutil.which("setarch")  # ThreadSanitizer's map
    return Program(("setarch", "-R", str(target)) if no_aslr else (str(target),))


def broken(folder: Path, file: str, old: str, new: str) -> Path:
    """Return a copy of the kernel in which `old`, which occurs there once, is `new`."""
    kernel = shutil.copytree(KERNEL, folder / "kernel")
    [broken_file] = kernel.rglob(file)
    text = broken_file.read_text()
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
    broken_file.write_text(text.replace(old, new))
    return kernel
