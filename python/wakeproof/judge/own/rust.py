# SPDX-License-Identifier: Apache-2.0
"""Compiles a program in Rust, and gives hooks to the standard library that comes compiled.

The objects of the standard library hold the bitcode from which they were made, for optimization at
link time.  The linker that comes with the compiler reads it and can run any pass of LLVM, so the
same pass gives hooks to the library as to the program: no access of it is hidden.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.builds import JOBS
from wakeproof.judge.process import Children
from wakeproof.judge.source_texts import digest

COMPILE_S = 600.0
_FLAGS = (
    "-Copt-level=1", "-g", "-Ccodegen-units=1", "-Crelocation-model=static",
    "-Zsanitizer=thread", "-Cunsafe-allow-abi-mismatch=sanitizer", "-Zexternal-clangrt",
)  # fmt: skip
_HOOKED = (
    "--lto-newpm-passes=forceattrs,tsan-module,function(tsan)", "-mllvm",
    "--force-attribute=sanitize_thread", "-mllvm", "-tsan-instrument-read-before-write",
    "--lto-O1",
)  # fmt: skip
"""Flags of the linker: hooks for each access of a module, atomic or not."""
_LINKER = """#!/bin/sh
# Keeps what rustc would link.
cd "$(dirname "$0")" || exit 1
here=$PWD
cd "$OLDPWD" || exit 1
at=0
for given in "$@"; do
    case $given in
        */symbols.o) ;;
        *.o) cp "$given" "$here/$at.o" && echo "$at.o" >> "$here/linked.txt"; at=$((at + 1)) ;;
        *.rlib) echo "$given" >> "$here/linked.txt" ;;
        *) : ;;
    esac
done
"""


@dataclass(frozen=True)
class Linked:
    """What rustc would link: objects of the program, and libraries of the toolchain."""

    objects: tuple[Path, ...]
    libraries: tuple[Path, ...]


class Rust:
    """The compiler of Rust, $RUSTC or ``rustc``.

    Raises:
        MissingToolError: there is none, or it comes without its linker.
    """

    def __init__(self, children: Children, cache: Path) -> None:
        self._children, self._cache = children, cache
        self._command = shlex.split(os.environ.get("RUSTC", "")) or ["rustc"]
        if shutil.which(self._command[0]) is None:
            raise MissingToolError(
                f"no Rust compiler {self._command[0]}: install one (https://rustup.rs), or set "
                "RUSTC"
            )
        self._version = self._ask("--version", "--verbose")
        target = re.search(r"^host: (\S+)$", self._version, re.MULTILINE)
        self._sysroot = Path(self._ask("--print", "sysroot").strip())
        self._linker = self._sysroot / "lib/rustlib" / (target[1] if target else "") / (
            "bin/rust-lld"
        )  # fmt: skip
        if not self._linker.is_file():
            raise MissingToolError(
                f"{self._linker} is not there: the standard library gets its hooks from it; "
                "install the compiler with rustup"
            )

    def _ask(self, *arguments: str) -> str:
        return self._children.run([*self._command, *arguments], timeout_s=60).output

    def compile(self, file: Path, flags: Iterable[str], place: Path) -> tuple[Linked, str]:
        """Compile a program, and return what its compiler would link, and what it said.

        Raises:
            UsageError: it does not compile.
        """
        kept = place / f"{file.name}-linked"
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "linked.txt").unlink(missing_ok=True)
        linker = kept / "linker"
        linker.write_text(_LINKER, "utf-8")
        linker.chmod(0o755)
        given = list(flags)
        if not any(flag.startswith("--edition") for flag in given):
            given.insert(0, "--edition=2021")
        command = [
            "env", "RUSTC_BOOTSTRAP=1", *self._command, *_FLAGS, f"-Clinker={linker}", *given,
            str(file), "-o", str(kept / "program"),
        ]  # fmt: skip
        ended = self._children.run(command, timeout_s=COMPILE_S)
        if ended.code or ended.timed_out:
            raise UsageError(f"{file} does not compile:\n{ended.output.strip()}")
        names = (kept / "linked.txt").read_text("utf-8").splitlines()
        objects = [kept / name for name in names if name.endswith(".o")]
        libraries = [Path(name) for name in names if name.endswith(".rlib")]
        for library in libraries:
            if not library.is_relative_to(self._sysroot):
                objects += self._members(library, kept / library.name)
        ours = tuple(library for library in libraries if library.is_relative_to(self._sysroot))
        return Linked(tuple(objects), ours), ended.output.strip()

    def _members(self, library: Path, place: Path) -> list[Path]:
        place.mkdir(parents=True, exist_ok=True)
        self._run("ar", "x", "--output", str(place), str(library.resolve()))
        return sorted(place.glob("*.o"))

    def hooked(self, libraries: Iterable[Path], finish: Callable[[list[Path], Path], None],
               key: str) -> Path:  # fmt: skip
        """Return an archive of these libraries of the toolchain, with hooks.

        `finish` changes the objects in place and may add objects to their folder; `key` names what
        it does.

        Raises:
            UsageError: a library holds no bitcode.
        """
        given = sorted(libraries)
        names = [str(library) for library in given]
        target = self._cache / f"rust-{digest(self._version, *_HOOKED, *names, key)}.a"
        if target.exists():
            os.utime(target)
            return target
        part = self._cache / f".{target.name}.{os.getpid()}"
        try:
            with ThreadPoolExecutor(JOBS) as pool:
                members = pool.map(
                    lambda library: self._members(library, part / library.name), given
                )
                list(pool.map(self._add_hooks, [one for of in members for one in of]))
            objects = sorted(part.glob("*/*.o"))
            finish(objects, part)
            self._run("ar", "qcsD", str(part / target.name), *map(str, objects),
                      *map(str, sorted(part.glob("*.o"))))  # fmt: skip
            (part / target.name).replace(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return target

    def _add_hooks(self, member: Path) -> None:
        """Compile an object again, from the bitcode in it.

        Arithmetic of the compiler, which touches no shared memory, comes without any.
        """
        code = member.with_suffix(".bc")
        self._run("objcopy", "-O", "binary", "--only-section=.llvmbc",
                  "--set-section-flags", ".llvmbc=alloc", str(member), str(code))  # fmt: skip
        if not code.exists() or not code.stat().st_size:
            if member.parent.name.startswith("libcompiler_builtins-"):
                return
            raise UsageError(
                f"{member.parent.name}: {member.name} holds no bitcode, so the standard library "
                "cannot get its hooks: install the compiler with rustup"
            )
        self._run(str(self._linker), "-flavor", "gnu", "-r", str(code), "-o", str(member), *_HOOKED)

    def _run(self, *command: str) -> None:
        ended = self._children.run(list(command), timeout_s=COMPILE_S)
        if ended.code or ended.timed_out:
            raise UsageError(f"{command[0]}: {ended.output.strip()}")
