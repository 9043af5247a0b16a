# SPDX-License-Identifier: Apache-2.0
"""The part of the explorer that is linked to each program, and the compilers for programs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import JudgeError, MissingToolError
from wakeproof.judge.builds import JOBS, WARNINGS, compiler, prune
from wakeproof.judge.own.rust import Rust
from wakeproof.judge.process import Children
from wakeproof.judge.source_texts import Sources, digest

COMPILE_S = 300.0
TOOL_S = 120.0
NO_STACK = '    .section .note.GNU-stack, "", @progbits\n    .text\n'
"""With what a file of assembly begins."""
_LEFT_OUT = re.compile(r"main$|compiled|data|state|dump|dialog|tour|cycles$")
"""Files of the explorer that serve scenarios, programs as text, or the engine of states."""
_RUNTIME = (
    "-std=gnu11", "-O3", "-g1", "-fPIC", "-fexceptions", "-D_GNU_SOURCE=", *WARNINGS,
)  # fmt: skip
_ENGINE = "-fno-semantic-interposition"
"""Lets functions be inlined.  In the other files this would change the frames of the runtime on the
stacks of a program's threads, which belong to positions, and with them counts of executions."""
_PROGRAM = (
    "-g", "-O1", "-fsanitize=thread", "-U__SANITIZE_THREAD__", "-fno-builtin", "-fno-pie",
    "-fno-stack-protector", "-fcf-protection=none", "-U_FORTIFY_SOURCE", "-pthread",
)  # fmt: skip
_GCC = ("--param=tsan-distinguish-volatile=1", "-Wno-tsan")
SPLIT = "-D_GLIBCXX_TSAN=1"
"""libstdc++ then counts references one by one, and never reads two counts as one word."""
_CLANG = ("-mllvm", "-tsan-distinguish-volatile", "-mllvm", "-tsan-instrument-read-before-write")
_ENTRY = """    .globl {0}
    .type {0}, @function
{0}:
    call own_clean{1}
    jmp inner_{0}
"""


class Runtime:
    """The part of the explorer that is linked to each program, compiled once."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._root = locations.sources() / "stress"
        self._compiler = compiler()
        self._version = children.output([*self._compiler, "--version"], timeout_s=60)
        self._folder = locations.cache() / "own"
        prune(self._folder)

    @property
    def compiler(self) -> list[str]:
        """Return the compiler's command."""
        return self._compiler

    def cxx(self) -> list[str]:
        """Return the C++ compiler's command, $CXX or the one that belongs to the C compiler.

        Raises:
            MissingToolError: there is none.
        """
        other = "clang++" if "clang" in self._version else "g++"
        command = shlex.split(os.environ.get("CXX", "")) or [other]
        if shutil.which(command[0]) is None:
            raise MissingToolError(
                f"no C++ compiler {command[0]}: install one (Debian: apt install g++), or set CXX"
            )
        return command

    def rust(self) -> Rust:
        """Return the compiler of Rust."""
        return Rust(self._children, self._folder)

    def libstdcxx(self, renamed: str) -> Path:
        """Return a copy of the static C++ library that calls what the runtime models.

        It is linked into the program, so its data is reset as well.

        Raises:
            MissingToolError: there is no static C++ library.
        """
        asked = [*self.cxx(), "-print-file-name=libstdc++.a"]
        original = Path(self._children.output(asked, timeout_s=60).strip())
        if not original.is_absolute() or not original.is_file():
            raise MissingToolError("no libstdc++.a: install the static C++ library of the compiler")
        size = str(original.stat().st_size)
        target = self._folder / f"libstdcxx-{digest(str(original), size, renamed)}.a"
        if not target.exists():
            part = target.with_name(f".{target.name}.{os.getpid()}")
            names = part.with_suffix(".txt")
            names.write_text(renamed, "utf-8")
            self._run(["objcopy", f"--redefine-syms={names}", str(original), str(part)])
            names.unlink()
            part.replace(target)
        os.utime(target)
        return target

    @property
    def hooks(self) -> tuple[str, ...]:
        """Return the flags that make the compiler report each access."""
        return (*_PROGRAM, *(_CLANG if "clang" in self._version else _GCC))

    @property
    def hooked(self) -> list[str]:
        """Return the flags with which code calls hooks, whatever its optimisation."""
        return ["-fsanitize=thread", "-U__SANITIZE_THREAD__", "-Wno-tsan"][: 2 + self.is_gcc]

    @property
    def is_gcc(self) -> bool:
        """Return whether the compiler is gcc."""
        return "clang" not in self._version

    @property
    def version(self) -> str:
        """Return what the compiler says of itself."""
        return self._version

    @property
    def sources(self) -> list[Path]:
        """Return the files that are compiled into the runtime."""
        explorer = sorted((self._root / "explorer").glob("*.c"))
        own = sorted((self._root / "own").glob("own_*.c"))
        return [
            *(file for file in explorer if not _LEFT_OUT.match(file.stem)),
            *(file for file in own if file.stem not in ("own_start", "own_stress")),
            self._root / "harness" / "engine" / "json.c",
        ]

    def identity(self) -> str:
        """Return a hash of every text that is compiled into the runtime, and of the compiler."""
        texts: dict[str, str] = {}
        closure = Sources(locations.sources()).closure
        for file in [*self.sources, *(self._root / "own").glob("own_st*.c")]:
            texts |= closure(file)
        named = (f"{Path(name).name}\0{text}" for name, text in texts.items())
        exported = (self._root / "own" / "exported.map").read_text("utf-8")
        return digest(self._version, *_RUNTIME, _ENGINE, _ENTRY, exported, *sorted(named))

    def library(self) -> Path:
        """Return the runtime as a shared library, so that only the program's own data is reset.

        Raises:
            JudgeError: it does not compile, for instance on a machine that is not x86-64.
        """
        target = self._folder / f"libwakeproof_own-{self.identity()}.so"
        if target.exists():
            os.utime(target)
            return target
        part = self._folder / f".{target.name}.{os.getpid()}"
        part.mkdir(parents=True, exist_ok=True)
        try:
            with ThreadPoolExecutor(JOBS) as pool:
                objects = list(pool.map(lambda file: self._compiled(file, part), self.sources))
            objects.append(self._entries(objects, part))
            library = part / target.name
            exported = self._root / "own" / "exported.map"
            self._run([
                *self._compiler, "-shared", "-o", str(library), *objects, "-Wl,-Bsymbolic",
                f"-Wl,--version-script={exported}", "-Wl,-z,defs", "-Wl,-z,now", "-lm",
            ])  # fmt: skip
            library.replace(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return target

    def _entries(self, objects: list[str], folder: Path) -> str:
        """Let each function that a program calls begin on a clean stack (own_fibers.c)."""
        listed = self._children.output(["nm", "--defined-only", *objects], timeout_s=TOOL_S)
        names = re.findall(r" T (own__\S+|__tsan_\S+)$", listed, re.MULTILINE)
        as_they_are = ("__tsan_func_", "__tsan_init", "own__wp__explored_asm_fence")
        names = [name for name in names if not name.startswith(as_they_are)]
        renamed, entries = folder / "entries.txt", folder / "entries.s"
        renamed.write_text("".join(f"{name} inner_{name}\n" for name in names), "utf-8")
        for made in objects:
            self._run(["objcopy", f"--redefine-syms={renamed}", made])
        text = "".join(
            _ENTRY.format(name, "_little" if name.startswith("__tsan_") else "") for name in names
        )
        entries.write_text(NO_STACK + text, "utf-8")
        self._run([*self._compiler, "-c", str(entries), "-o", str(folder / "entries.o")])
        return str(folder / "entries.o")

    def _compiled(self, file: Path, folder: Path) -> str:
        target = folder / f"{file.stem}.o"
        kernel = self._root.parent / "kernel"
        flags = [*_RUNTIME, *(f"-I{of}" for of in (self._root, self._root / "explorer", kernel))]
        flags += [_ENGINE] * (file.parent.name == "explorer")
        flags += ["-Werror"] * (os.environ.get("WAKEPROOF_CI") == "1")
        self._run([*self._compiler, *flags, "-c", str(file), "-o", str(target)])
        return str(target)

    def _run(self, command: list[str]) -> None:
        ended = self._children.run(command, timeout_s=COMPILE_S)
        if ended.code or ended.timed_out:
            raise JudgeError(f"the explorer's runtime does not compile:\n{ended.output.strip()}")
