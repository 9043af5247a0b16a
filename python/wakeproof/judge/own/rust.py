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
from functools import partial
from pathlib import Path

from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.builds import JOBS
from wakeproof.judge.process import Children
from wakeproof.judge.source_texts import digest

COMPILE_S = 600.0
_FLAGS = (
    "-Copt-level=1", "-Cdebuginfo=2", "-Cstrip=none", "-Ccodegen-units=1",
    "-Crelocation-model=static", "-Zsanitizer=thread", "-Cunsafe-allow-abi-mismatch=sanitizer",
    "-Zexternal-clangrt",
)  # fmt: skip
"""Debug information is needed: calls of the standard library are known by their place."""
_HOOKED = (
    "--lto-newpm-passes=forceattrs,tsan-module,function(tsan)", "-mllvm",
    "--force-attribute=sanitize_thread", "-mllvm", "-tsan-instrument-read-before-write",
    "--lto-O1",
)  # fmt: skip
"""Flags of the linker: hooks for each access of a module, atomic or not."""
_LINKER = """#!/bin/sh
# Keeps what rustc would link, in a folder beside this file that has the name of the program.
out=program last=
for given in "$@"; do
    if [ "$last" = -o ]; then out=$given; fi
    last=$given
done
kept=$(dirname "$0")/$(basename "$out")
rm -rf "$kept"
mkdir -p "$kept"
at=0
for given in "$@"; do
    case $given in
        */symbols.o) ;;
        *.o) cp "$given" "$kept/$at.o" && echo "$at.o" >> "$kept/linked.txt"; at=$((at + 1)) ;;
        *.rlib) echo "$given" >> "$kept/linked.txt" ;;
        *) : ;;
    esac
done
: > "$out"
"""
_RUN_TEST = """
extern "Rust" {
    fn own_rust_test() -> Result<(), String>;
}

fn main() {
    if let Err(why) = unsafe { own_rust_test() } {
        eprintln!("{why}");
        std::process::exit(1);
    }
}
"""
"""A program that runs one test, as Rust's own runner does, but in the main thread."""
_TEST = re.compile(
    r"^[0-9a-f]+ t <(\S+)::\{closure#0\} as core::ops::function::FnOnce<\(\)>>::call_once$",
    re.MULTILINE,
)


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
        self._target = target[1] if target else ""
        self._sysroot = Path(self._ask("--print", "sysroot").strip())
        self._linker = self._sysroot / "lib/rustlib" / self._target / "bin/rust-lld"
        if not self._linker.is_file():
            raise MissingToolError(
                f"{self._linker} is not there: the standard library gets its hooks from it; "
                "install the compiler with rustup"
            )

    def _ask(self, *arguments: str) -> str:
        return self._children.output([*self._command, *arguments], timeout_s=60)

    def compile(self, file: Path, flags: Iterable[str], place: Path) -> tuple[Linked, str]:
        """Compile a program, and return what its compiler would link, and what it said.

        Raises:
            UsageError: it does not compile.
        """
        given = list(flags)
        if not any(flag.startswith("--edition") for flag in given):
            given.insert(0, "--edition=2021")
        linker = self._linker_in(place / "linked")
        made = place / f"{file.stem}.exe"
        command = [
            "env", "RUSTC_BOOTSTRAP=1", *self._command, *given, *_FLAGS, f"-Clinker={linker}",
            str(file), "-o", str(made),
        ]  # fmt: skip
        ended = self._children.run(command, timeout_s=COMPILE_S)
        if ended.code or ended.timed_out:
            raise UsageError(f"{file} does not compile:\n{ended.output.strip()}")
        return self._linked(linker.with_name(made.name), place), ended.output.strip()

    def _linker_in(self, folder: Path) -> Path:
        """Return a linker that keeps what it is given, in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        linker = folder / "linker"
        linker.write_text(_LINKER, "utf-8")
        linker.chmod(0o755)
        return linker

    def _linked(self, kept: Path, place: Path) -> Linked:
        """Return what the linker has kept in `kept`, copied to `place`."""
        names = (kept / "linked.txt").read_text("utf-8").splitlines()
        objects = [
            Path(shutil.copy(kept / name, place / f"{kept.name}-{name}"))
            for name in names if name.endswith(".o")
        ]  # fmt: skip
        libraries = [Path(name) for name in names if name.endswith(".rlib")]
        for library in libraries:
            if not library.is_relative_to(self._sysroot):
                objects += self._members(library, place / library.name)
        ours = tuple(library for library in libraries if library.is_relative_to(self._sysroot))
        return Linked(tuple(objects), ours)

    def tests(self, package: Path, place: Path) -> dict[str, Callable[[], Linked]]:
        """Build the tests of a package, and return how to link each, by name.

        Raises:
            MissingToolError: no cargo.
            UsageError: the package does not build.
        """
        cargo = shlex.split(os.environ.get("CARGO", "")) or ["cargo"]
        if shutil.which(cargo[0]) is None:
            raise MissingToolError(f"no {cargo[0]}: install it with rustup, or set CARGO")
        home = self._cache.parent / "cargo" / digest(self._version, *_FLAGS, str(package))
        linker = self._linker_in(home / "linked")
        # As flags, which cargo keeps from build scripts and macros: these are linked and run.
        variables = {
            "RUSTC_BOOTSTRAP": "1",
            "CARGO_ENCODED_RUSTFLAGS": "\x1f".join((*_FLAGS, f"-Clinker={linker}")),
        }
        command = [
            "env", *(f"{name}={value}" for name, value in variables.items()), *cargo, "test",
            "--no-run", "--quiet", "--manifest-path", str(package / "Cargo.toml"),
            "--target", self._target, "--target-dir", str(home / "target"),
            "--message-format=json-render-diagnostics",
        ]  # fmt: skip
        ended = self._children.run(command, timeout_s=COMPILE_S)
        if ended.code or ended.timed_out:
            said = [line for line in ended.output.splitlines() if not line.startswith("{")]
            raise UsageError(f"{package} does not build:\n" + "\n".join(said).strip())
        found: dict[str, Callable[[], Linked]] = {}
        for name in re.findall(r'"executable":"([^"]+)"', ended.output):
            kept = linker.with_name(Path(name).name)
            for made in sorted(kept.glob("*.o")):
                listed = self._children.output(["nm", "-C", str(made)], timeout_s=60)
                mangled = self._children.output(["nm", str(made)], timeout_s=60)
                symbols = dict(zip(listed.splitlines(), mangled.splitlines(), strict=True))
                for test in _TEST.finditer(listed):
                    symbol = symbols[test[0]].split()[-1]
                    found[test[1]] = partial(self._test, kept, made.name, symbol, place)
        return found

    def _test(self, kept: Path, holding: str, symbol: str, place: Path) -> Linked:
        """Return a program that runs the test whose function is `symbol`."""
        runner = place / "run_test.rs"
        runner.write_text(_RUN_TEST, "utf-8")
        program, _ = self.compile(runner, (), place)
        of_test = self._linked(kept, place)
        (here,) = [made for made in of_test.objects if made.name == f"{kept.name}-{holding}"]
        self._run("objcopy", f"--globalize-symbol={symbol}", str(here))
        self._run(
            "objcopy", f"--redefine-sym={symbol}=own_rust_test", "--redefine-sym=main=no_main",
            str(here),
        )  # fmt: skip
        main = [made for made in program.objects if b"own_rust_test" in made.read_bytes()]
        return Linked((*main, *of_test.objects), of_test.libraries)

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
