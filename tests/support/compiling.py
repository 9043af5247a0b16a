# SPDX-License-Identifier: Apache-2.0
"""Compiles C programs of tests with the kernel. An object that several tests need is made once."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.support.running import run

from wakeproof import locations
from wakeproof._native import build as _build
from wakeproof.judge import builds
from wakeproof.judge.explore.explored import instrument
from wakeproof.judge.source_texts import Sources, digest, uses_twin
from wakeproof.judge.twins import edits as twins

BUILDS = {
    "plain": ("-O2",),
    "whole": ("-O2",),  # and WHOLE, as `make lib` builds the library
    "delayed": ("-O2", "-DWP_STRESS_DELAYED", instrument("harness/engine")),
    "thread": ("-O1", "-fsanitize=thread"),
    "address": ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
}
WHOLE = ("-flto=auto", "-ffat-lto-objects")  # for files without a variable of the OS thread
WARNINGS = (*builds.WARNINGS, "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
TWIN = "-DWP_TWIN_"
OTHERS = "llhttp"  # a folder
PROGRAMS = Path(__file__).parents[1] / "programs"


def program_file(name: str) -> Path:
    """Return programs/LAYER/NAME.c. No two layers have a program of one name."""
    [file] = PROGRAMS.rglob(f"{name}.c")
    return file


def build(folder: Path, name: str, kind: str, *more: str) -> list[str]:
    """Compile programs/**/NAME.c and the kernel in a build, with flags; return the command.

    A twin's flag is for the files that have the twin, a definition or an optimisation for NAME.c.
    """
    return _command(link(folder, name, kind, [program_file(name)], *more), kind)


def _command(target: Path, kind: str) -> list[str]:
    no_aslr = ["setarch", "-R"] if shutil.which("setarch") else []  # ThreadSanitizer's map
    return [*no_aslr, str(target)] if kind == "thread" else [str(target)]


def link(
    folder: Path, name: str, kind: str, programs: list[Path], *more: str, kernel: bool = True
) -> Path:
    """Link these files in place of NAME.c in `folder`; files of other authors may have warnings.

    A file of a copy of the kernel takes the place of the kernel's own. Folders after `-I` come
    first for these files.
    """
    sources = Sources(locations.sources())
    compiler = os.environ.get("CC", "cc").split()
    flags = ["-std=c11", "-g", *BUILDS[kind], "-pthread", _build.PROBED]
    own_flags = ("-D", "-I", "-O", "-fno-")
    defined = [flag for flag in more if flag.startswith(own_flags) and TWIN not in flag]
    places = [flag for flag in defined if flag.startswith("-I")]
    to_link = [flag for flag in more if flag.startswith("-Wl,") or flag == "-rdynamic"]
    flags_of_twins = [flag for flag in more if flag.startswith(TWIN)]
    assert not {*more} - {*defined, *to_link, *flags_of_twins}, f"{more}: for whom?"
    named = [flag.removeprefix(TWIN).split("=")[0] for flag in flags_of_twins]
    [twin] = named or [""]
    found = twins.of_code(locations.sources()).get(twin)
    edits = twins.edited(found, locations.sources()) if found else {}
    is_used = not twin
    uring = _build.has_uring(*compiler)
    common = [*flags, *WARNINGS, f"-I{sources.kernel}", f"-I{sources.stress}"]
    objects = []
    of_kernel = [path for path in _build.SOURCES if sources.kernel in path.parents and kernel]
    of_kernel = [path for path in of_kernel if not _is_among(path, sources.kernel, programs)]
    for file in [*of_kernel, *programs]:
        texts = sources.closure(file)
        own = [f for f in flags_of_twins if uses_twin("".join(texts.values()), twin)]
        is_own = file in programs and file not in _build.SOURCES
        compiled, first = file, list[str]()
        if edited := twins.needed(edits, texts):
            overlay = twins.overlay(edited, locations.sources(), locations.cache() / "overlays")
            texts = texts | edited
            first = [f"-I{overlay}"]
            if str(file) in edited:
                compiled = overlay / twins.place(file, locations.sources())
                first += [f"-I{file.parent}"]  # for files that it includes from its own folder
        is_used |= bool(own or first)
        own += ["-Wno-error"] if own or first else []  # for names that a defect leaves unused
        own += [flag for flag in defined if is_own and flag not in places]
        own += ["-w"] if OTHERS in file.parts else []
        is_whole = kind == "whole" and file in of_kernel and file.suffix == ".c"
        own += WHOLE if is_whole and "_Thread_local" not in texts[str(file)] else ()
        own += _build.URING_COMPILED if uring and file.stem == "driver_uring" else ()
        before = [*first, *(places if is_own else ())]
        command = [*compiler, *before, *common, *own, "-c", str(compiled)]
        objects.append(_object(command, file.stem, digest(*command, *texts.values())))
    assert is_used, f"{twin}: no such twin"
    target = folder / f"{name}-{kind}"
    linked = _build.URING_LINKED if uring else ()
    _run([*compiler, *flags, *to_link, *map(str, objects), *linked, "-lm", "-o", str(target)])
    return target


def _is_among(path: Path, kernel: Path, programs: list[Path]) -> bool:
    """Return true if one of the programs is a copy of that file of the kernel."""
    end = f"/kernel/{path.relative_to(kernel)}"
    return any(str(program).endswith(end) for program in programs)


def broken(
    folder: Path, name: str, kind: str, file: str, old: str, new: str, *more: str
) -> list[str]:
    """Build NAME.c with a kernel in which `old`, once in one of its files, is replaced by `new`."""
    kernel = locations.sources() / "kernel"
    [whole] = kernel.rglob(file)
    text = whole.read_text()
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
    broken_file = folder / file
    broken_file.write_text(text.replace(old, new))
    others = [path for path in _build.SOURCES if kernel in path.parents and path != whole]
    programs = [*others, broken_file, program_file(name)]
    return _command(link(folder, name, kind, programs, *more, kernel=False), kind)


def _object(command: list[str], stem: str, key: str) -> Path:
    """Return the file that the command makes; it is made if it does not exist."""
    target = locations.cache() / "tests" / f"{stem}-{key}.o"
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        _run([*command, "-o", str(part)])
        part.replace(target)
    return target


def _run(command: list[str]) -> None:
    built = run(command)
    if "libclang_rt" in built.stderr:
        pytest.skip(f"not run: install the sanitizers of {command[0]} (libclang-rt-dev)")
    assert built.returncode == 0, built.stderr
