# SPDX-License-Identifier: Apache-2.0
"""Compiles C programs of tests with the kernel: an object that several tests need, once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from wakeproof import _build, paths
from wakeproof.judge.source_texts import Sources, digest, uses_twin

BUILDS = {
    "plain": ("-O2",),
    "delayed": ("-O2", "-DWP_STRESS_DELAYED"),
    "thread": ("-O1", "-fsanitize=thread"),
    "address": ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
}
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
TWIN = "-DWP_TWIN_"


def build(folder: Path, name: str, kind: str, *more: str) -> Path:
    """Compile programs/NAME.c and the kernel in a build, with more flags; link them in `folder`.

    A twin's flag is for the files that have the twin, a definition for NAME.c.
    """
    sources = Sources(paths.sources())
    compiler = os.environ.get("CC", "cc").split()
    program = Path(__file__).parent / "programs" / f"{name}.c"
    flags = ["-std=c11", "-g", *BUILDS[kind], "-pthread"]
    flags += [flag for flag in more if not flag.startswith(("-D", "-W"))]
    defined = [flag for flag in more if flag.startswith("-D") and not flag.startswith(TWIN)]
    twins = [flag for flag in more if flag.startswith(TWIN)]
    uring = _build.has_uring(*compiler)
    common = [*compiler, *flags, *WARNINGS, f"-I{sources.kernel}"]
    objects = []
    for file in [*(path for path in _build.SOURCES if path.parent == sources.kernel), program]:
        texts = sources.closure(file)
        own = [f for f in twins if uses_twin("".join(texts.values()), f[len(TWIN) :].split("=")[0])]
        own += ["-Wno-error"] if own else []  # of what a defect leaves unused
        own += _build.URING_COMPILED if uring and file.stem == "poller_uring" else ()
        command = [*common, *own, *(defined if file == program else ()), "-c", str(file)]
        objects.append(_object(command, file.stem, digest(*command, *texts.values())))
    target = folder / f"{name}-{kind}"
    wrapped = [flag for flag in more if flag.startswith("-Wl,")]
    linked = _build.URING_LINKED if uring else ()
    _run([*compiler, *flags, *wrapped, *map(str, objects), *linked, "-o", str(target)])
    return target


def _object(command: list[str], stem: str, key: str) -> Path:
    """Return what the command makes, made now if it does not exist."""
    target = paths.cache() / "tests" / f"{stem}-{key}.o"
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        _run([*command, "-o", str(part)])
        part.replace(target)
    return target


def _run(command: list[str]) -> None:
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if "libclang_rt" in built.stderr:
        pytest.skip(f"not run: install the sanitizers of {command[0]} (libclang-rt-dev)")
    assert built.returncode == 0, built.stderr
