# SPDX-License-Identifier: Apache-2.0
"""Compiles a program for the explorer, and refuses what the explorer would not see.

The compiler's hooks of ``-fsanitize=thread`` report each access.  Functions of the C library that
the runtime models are renamed in the objects (``malloc`` becomes ``own__malloc``), so a function
that is neither modelled nor known as harmless is found by its name before the program runs.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import MissingToolError, UsageError
from wakeproof.judge.builds import JOBS
from wakeproof.judge.explore import assembly
from wakeproof.judge.explore.explored import NotModelledError
from wakeproof.judge.own import scenarios
from wakeproof.judge.own.program import CXX, LINKED, RUST, Program
from wakeproof.judge.own.runtime import COMPILE_S, NO_STACK, SPLIT, TOOL_S, Runtime
from wakeproof.judge.own.symbols import inlined
from wakeproof.judge.process import Children
from wakeproof.judge.source_texts import digest

_HARMLESS = re.compile(
    r"(?:abs|labs|llabs|isal(?:pha|num)|isdigit|isspace|isupper|islower|toupper|tolower|strerror"
    r"|getenv|getpid|sysconf|get_nprocs|__errno_location|__ctype_\w+_loc|std(?:out|err|in)|environ"
    r"|pthread_(?:attr|mutexattr|condattr|rwlockattr|barrierattr)_\w+"
    r"|(?:sqrt|sin|cos|tan|exp|log|log2|pow|fabs|floor|ceil|fmin|fmax)f?"
    r"|_GLOBAL_OFFSET_TABLE_|__\w+[sdt]i[234]?|_Unwind_\w+|__dso_handle|__libc_single_threaded"
    r"|sig(?:empty|fill|add|del)set|sched_getaffinity|getauxval|dl_iterate_phdr|__tls_get_addr"
    r"|gnu_get_libc_version|__xpg_strerror_r|__gcc_personality_v0)$"
)
"""Functions of their arguments alone, and objects, that need no model."""
_OUTSIDE = re.compile(r"_ZN\w*(?:basic_(?:filebuf|[io]?fstream)|10filesystem|13random_device)")
"""Functions of the C++ library that open files or draw random numbers."""
_UNSEEN = re.compile(
    r"\block\b|\bxchg\w*\s+.*\(|\b[mls]fence\b|\bsyscall\b|\bsysenter\b|\bint\s+\$0x80"
)
"""Atomic instructions, fences and system calls, which code with hooks does not have."""
_NAMES = re.compile(r"<[^>]*>")
"""Where a jump or a call leads: a function may be called `lock`."""
_MARKER = re.compile(r'# \d+ "([^"]*)"')
"""The preprocessor's: the next line is of this file."""
_ASSEMBLY = re.compile(r"\b(?:__asm__|__asm|asm|__builtin_ia32_\w+|_mm_\w+)\b")
_OF_CLANG = (
    "clang leaves out hooks that gcc has: for parts of a function's own variables on the stack, so "
    "races on them may not be found; and it takes a weak compare-and-swap for a strong one"
)
_RUST_NAME = re.compile(r"_R|_ZN|rust_|__rust")
"""Functions of Rust, of which the compiler's objects of a program have some."""
_STD_CALL = re.compile(r"call .*<__tsan_atomic(?:8|32|64)_(compare_exchange_val|exchange|load)\b")
_STD_HOOKS = {"lock": "compare_exchange_val", "unlock": "exchange", "await": "load", "spin": "load"}
_STD = {
    "lock": re.compile(r"sys::sync::mutex::futex::Mutex>?::lock$"),
    "unlock": re.compile(r"sys::sync::mutex::futex::Mutex>?::unlock$"),
    "await": re.compile(r"std::sync::mpmc::(?:list|array|zero)::"),
    "spin": re.compile(r"sys::sync::rwlock::futex::RwLock>?::spin_until\b"),
}
"""Functions of Rust's standard library, which are inlined, and what the runtime calls them."""
_FUNCTION = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
_SCENARIO = ("-std=gnu11", '-DWP_INSTRUMENT="own/instrument.h"')
_STUB = """    .section .rodata
name_of_{0}: .asciz "{0}"
    .text
    .weak own__{0}
own__{0}:
    lea name_of_{0}(%rip), %rdi
    jmp own_not_modelled
"""


class Builder:
    """Builds programs in `folder`."""

    def __init__(self, children: Children, runtime: Runtime, folder: Path) -> None:
        self._children, self._runtime, self._folder = children, runtime, folder
        self._library = runtime.library()
        listed = self._tool("nm", "-D", "--defined-only", str(self._library))
        exported = set(re.findall(r" T (\S+)$", listed, re.MULTILINE))
        self._modelled = {name[5:] for name in exported if name.startswith("own__")}
        self._hooks = {name for name in exported if name.startswith("__tsan_")}
        self.warnings: list[str] = [] if runtime.is_gcc else [_OF_CLANG]

    def program(self, program: Program) -> Path:
        """Compile and link a program.

        Raises:
            UsageError: it does not compile.
            NotModelledError: it needs what the explorer does not model, or has machine code that
                the explorer would not see.
            MissingToolError: no binutils.
        """
        place = self._folder / f"{program.name}-{digest(str(program))[:8]}"
        place.mkdir(parents=True, exist_ok=True)
        objects: list[Path] = []
        libraries: list[Path] = []
        files = list(program.files)
        lenient: set[Path] = set()
        if program.scenario:
            program = replace(program, flags=(*program.flags, *_SCENARIO, *scenarios.folders()))
            files += scenarios.support(program.files[0])
        for at, file in enumerate(files):
            if file.suffix == RUST or program.test:
                of_rust, library = self._of_rust(program, file, place)
                objects += of_rust
                lenient.update(of_rust)
                libraries.append(library)
            else:
                objects.append(self._object(program, at, file, place))
                lenient.update(objects[-1:] if at >= len(program.files) else ())
        if any(file.suffix in CXX for file in program.files):
            libraries.append(self._runtime.libstdcxx(self._renamed()))
        stubbed = self._check_names(objects, libraries, lenient)
        for made in objects:
            self._check_instructions(made)
        renamed = place / "renamed.txt"
        renamed.write_text(self._renamed(*stubbed), "utf-8")
        for made in objects:
            self._tool("objcopy", f"--redefine-syms={renamed}", str(made))
        if stubbed:
            objects.append(self._stubs(stubbed, place))
        start = locations.sources() / "stress" / "own" / "own_start.c"
        target = place / program.name
        self._compile([
            # The runtime first: the C++ library has functions of its own for new and guards.
            "-no-pie", "-g", str(start), *map(str, [*objects, self._library, *libraries]),
            f"-Wl,-rpath,{self._library.parent}", "-Wl,-z,now", "-lm", "-o", str(target),
        ], program.files[0])  # fmt: skip
        if program.test or any(file.suffix == RUST for file in program.files):
            self._list_calls(target)
        return target

    def _list_calls(self, built: Path) -> None:
        """List the calls by which the standard library of Rust locks, unlocks and waits."""
        called: dict[int, str] = {}
        hook = ""
        for line in self._tool("objdump", "-d", "--no-show-raw-insn", str(built)).splitlines():
            at, _, text = line.partition(":")
            if hook:  # what a hook sees is the address after its call
                called[int(at, 16)] = hook
            found = _STD_CALL.search(text)
            hook = found[1] if found else ""
        frames = inlined(self._children, built, [at - 1 for at in called])
        kinds = ((kind, at) for at, name in called.items() for kind, pattern in _STD.items()
                 if _STD_HOOKS[kind] == name
                 and any(pattern.search(of) for of, _, _ in frames.get(at - 1, ())))  # fmt: skip
        built.with_name(f"{built.name}.calls").write_text(
            "".join(f"{kind} {at:x}\n" for kind, at in kinds), "utf-8"
        )

    def _renamed(self, *others: str) -> str:
        """Return the names that are changed in objects, as objcopy takes them."""
        names = [*sorted(self._modelled), "main", *others]
        return "".join(f"{name} own__{name}\n" for name in names)

    def _of_rust(self, program: Program, file: Path, place: Path) -> tuple[list[Path], Path]:
        """Return the objects of a program in Rust, and its standard library."""
        rust = self._runtime.rust()
        if program.test:
            tests = rust.tests(file.parent, place)
            named = [
                name for name in tests
                if name == program.test or name.endswith(f"::{program.test}")
            ]  # fmt: skip
            if len(named) != 1:
                what = "no" if not named else "more than one"
                known = ", ".join(sorted(named or tests)) or "none"
                raise UsageError(f"{file.parent} has {what} test {program.test}; there is {known}")
            linked, said = tests[named[0]](), ""
        else:
            linked, said = rust.compile(file, program.flags, place)
        if said:
            self.warnings.append(f"{file} compiles with warnings:\n{said}")
        objects = []
        for at, made in enumerate(linked.objects):
            objects.append(made.rename(place / f"{at}-{made.stem}.rs.o"))
        key = self._renamed() + _STUB + _HARMLESS.pattern + _RUST_NAME.pattern
        return objects, rust.hooked(linked.libraries, self._finish, key)

    def _finish(self, objects: list[Path], folder: Path) -> None:
        """Rename what the standard library of Rust calls; refuse the rest when it is called."""
        with ThreadPoolExecutor(JOBS) as pool:
            listed = list(pool.map(lambda made: self._tool("nm", str(made)), objects))
        defined = {name for text in listed for name in _names(text, "[A-TV-Za-tx-z]")}
        known = defined | self._modelled | self._hooks
        needed = sorted(
            name for name in {name for text in listed for name in _names(text, "U")} - known
            if not _HARMLESS.match(name) and not _RUST_NAME.match(name)
        )  # fmt: skip
        maybe = {name for text in listed for name in _names(text, "w")} - known - {"__dso_handle"}
        renamed = folder / "renamed.txt"
        renamed.write_text(self._renamed(*needed, *sorted(maybe - set(needed))), "utf-8")
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(self._check_instructions, objects))
            rename = f"--redefine-syms={renamed}"
            list(pool.map(lambda made: self._tool("objcopy", rename, str(made)), objects))
        self._stubs(needed, folder)

    def _stubs(self, names: Sequence[str], folder: Path) -> Path:
        """Return an object of functions that say, when they are called, that they are not there."""
        text, made = folder / "stubs.s", folder / "stubs.o"
        text.write_text(NO_STACK + "".join(map(_STUB.format, names)), "utf-8")
        self._tool(*self._runtime.compiler, "-c", str(text), "-o", str(made))
        return made

    def _object(self, program: Program, at: int, file: Path, place: Path) -> Path:
        if file.suffix in LINKED:
            target = place / f"{at}-{file.name}"
            shutil.copy(file, target)
            return target
        target = place / f"{at}-{file.name}.o"
        flags = [*program.flags, *self._runtime.hooks, "-c", str(file)]
        command = [*self._compiler_of(file), *flags]
        if not self._has_assembly(command, file, target.with_suffix(".i")):
            self._compile([*flags, "-o", str(target)], file)
            return target
        command += [assembly.NO_RED_ZONE, *["-fno-var-tracking"] * self._runtime.is_gcc]
        if said := assembly.compile_modelled(file, command, target, self._children):
            self.warnings.append(f"{file} compiles with warnings:\n{said}")
        return target

    def _compile(self, arguments: list[str], file: Path) -> None:
        compiler = self._compiler_of(file) if "-c" in arguments else self._runtime.compiler
        if said := self._compiled([*compiler, *arguments], file).strip():
            self.warnings.append(f"{file} compiles with warnings:\n{said}")

    def _compiled(self, command: list[str], file: Path) -> str:
        ended = self._children.run(command, timeout_s=COMPILE_S)
        if ended.code or ended.timed_out:
            raise UsageError(f"{file} does not compile:\n{ended.output.strip()}")
        return ended.output

    def _tool(self, *command: str) -> str:
        if not shutil.which(command[0]):
            raise MissingToolError(
                f"no {command[0]}: install binutils, which the compiler needs as well"
            )
        ended = self._children.run(list(command), timeout_s=TOOL_S)
        if ended.code or ended.timed_out:
            raise UsageError(f"{' '.join(command[:2])}: {ended.output.strip()}")
        return ended.output

    def _has_assembly(self, command: list[str], file: Path, text: Path) -> bool:
        """Return whether a file, or one of the program's that it includes, may have assembly."""
        asked = ["-E" if word == "-c" else word for word in command]
        self._compiled([*asked, "-o", str(text)], file)
        name = str(file)
        for line in text.read_text("utf-8", "replace").splitlines():
            if marker := _MARKER.match(line):
                name = marker[1]
            elif not name.startswith(("/usr/", "<")) and _ASSEMBLY.search(line):
                return True
        return False

    def _compiler_of(self, file: Path) -> list[str]:
        is_cxx = file.suffix in CXX
        return [*self._runtime.cxx(), SPLIT] if is_cxx else self._runtime.compiler

    def _check_names(
        self, objects: Sequence[Path], libraries: Sequence[Path], lenient: set[Path]
    ) -> list[str]:
        """Refuse a program that needs a function which is neither modelled nor harmless.

        Objects in Rust, and those of our kernel, have such names in code that may never run: these
        names are returned, to be refused when they are called.
        """
        later: set[str] = set()
        defined: set[str] = set()
        for made in [*objects, *libraries]:
            listed = self._tool("nm", "--defined-only", str(made))
            defined |= set(re.findall(r"^\S+ [A-Za-z] (\S+)$", listed, re.MULTILINE))
        known = defined | self._modelled | self._hooks
        for made in objects:
            listed = self._tool("nm", "-u", "-l", str(made))
            needed = re.findall(r"^ *[Uwv] (\S+)(?:\t(\S+))?", listed, re.MULTILINE)
            if "__tsan_init" not in {name for name, _ in needed} and not _is_shim(needed):
                raise NotModelledError(
                    f"{_shown(made)} was not compiled for the explorer, which would see none of "
                    "its accesses: give its sources"
                )
            for name, where in needed:
                if (name in known and not _OUTSIDE.match(name)) or _HARMLESS.match(name):
                    continue
                if made in lenient:
                    later.add(name)
                    continue
                place = f"{Path(where).name}" if where else _shown(made)
                shown = self._tool("c++filt", name).strip()
                raise NotModelledError(f"{place}: {_why_not(shown)}")
        return sorted(later)

    def _check_instructions(self, made: Path) -> None:
        """Refuse atomic instructions and system calls in machine code, which have no hooks."""
        function = ""
        for line in self._tool("objdump", "-d", "--no-show-raw-insn", str(made)).splitlines():
            if start := _FUNCTION.match(line):
                function = start[1]
                continue
            instruction = _NAMES.sub("", line.rpartition("\t")[2].partition("#")[0]).strip()
            if function and _UNSEEN.search(instruction):
                raise NotModelledError(
                    f"{_shown(made)}: {function} has the instruction `{instruction}`, of inline "
                    "assembly: the explorer does not see it; write it with <stdatomic.h>, or call "
                    "syscall"
                )


def _names(listed: str, kind: str) -> list[str]:
    """Return the names of a kind that nm has listed."""
    return re.findall(rf"^(?:[0-9a-f]+)? +{kind} (\S+)$", listed, re.MULTILINE)


def _is_shim(needed: Sequence[tuple[str, str]]) -> bool:
    """Return whether an object is the one with which rustc chooses the allocator."""
    return bool(needed) and all("___rdl_" in name for name, _ in needed)


def _shown(made: Path) -> str:
    """Return the name of the file that was compiled into an object of ours."""
    name = made.name.partition("-")[2]
    return name.removesuffix(".o") if name.endswith((".c.o", ".rs.o")) else name


def _why_not(name: str) -> str:
    if name.startswith("__tsan_atomic128"):
        return "an atomic object of 16 bytes: the explorer has 1, 2, 4 and 8 bytes"
    if name.startswith(("__atomic_", "__sync_")):
        return f"calls {name}, an atomic operation of a size that the explorer does not have"
    return f"calls {name}, which the explorer does not model"
