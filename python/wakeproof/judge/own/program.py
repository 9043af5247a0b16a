# SPDX-License-Identifier: Apache-2.0
"""A program to explore: its files, the flags of its compiler, and its arguments."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wakeproof.errors import UsageError

_SCENARIO = re.compile(r"^\s*STRESS_TEST\s*\(", re.MULTILINE)
_MAIN = re.compile(r"\b(?:int|void|fn)\s+main\s*\(|^\s*main\s*\(", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
CXX = (".cpp", ".cc", ".cxx", ".c++", ".C")
RUST = ".rs"
CODE = (".c", *CXX, RUST)
_HARMLESS = re.compile(
    r"-(?:[DU]\w+(?:=.*)?|I.+|O\w*|g\w*|w|x|std=[\w+:]+|pedantic|ansi|pthread|W[\w-]*(?:=\w+)?"
    r"|m[\w-]+(?:=[\w.+-]+)?|f(?!plugin|pass-plugin|dump|profile|auto-profile)[\w-]+(?:=[\w,-]+)?"
    r"|l[\w+-]+|include|imacros|isystem|iquote|idirafter|I|D|U|-cfg(?:=.*)?|-edition(?:=\d+)?)"
)
"""Flags that let a compiler run no other program and write no other file."""
LINKED = (".o", ".a")
"""Suffixes of files that are linked as they are."""
TAKES_NEXT = ("-D", "-U", "-I", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-x")
"""Flags of compilers of which the next word is a part."""


@dataclass(frozen=True)
class Program:
    """The first file has `main`.  `flags`: for the compiler, for instance ``-DN=3``.

    `scenario`: the first file has no `main` but declares this scenario, or this twin of one.
    `test`: the first file is the ``Cargo.toml`` of a package in Rust that has this test.
    `called`: its name, if it was linked by ``wakeproof cc``.
    `may_leak`: memory that is never freed, and to which no pointer leads, is no defect.
    """

    files: tuple[Path, ...]
    flags: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    volatile_is_relaxed: bool = False
    scenario: str = ""
    test: str = ""
    called: str = ""
    may_leak: bool = False

    @property
    def name(self) -> str:
        """Return the name of the file with `main`, without its suffix; of the scenario or test."""
        return self.scenario or self.test or self.called or self.files[0].stem

    @property
    def sources(self) -> list[Path]:
        """Return the files of which a change is a change of the program."""
        if not self.test:
            return list(self.files)
        package = self.files[0].parent
        code = [
            file
            for file in package.rglob("*.rs")
            if "target" not in file.relative_to(package).parts
        ]
        return [*self.files, *package.glob("Cargo.lock"), *sorted(code)]

    @property
    def text(self) -> str:
        """Return everything but the first file, as `of_text` takes it."""
        return json.dumps([
            [str(file) for file in self.files[1:]], self.flags, self.arguments,
            self.volatile_is_relaxed, self.scenario, self.test, self.called, self.may_leak,
        ])  # fmt: skip


def of_text(first: Path, text: str) -> Program:
    """Return the program whose `Program.text` is `text`.

    Raises:
        UsageError: it is none.
    """
    try:
        files, flags, arguments, is_relaxed, scenario, test, called, may_leak = json.loads(text)
        others = [Path(file) for file in files]
        return Program(
            (first, *others),
            _harmless([str(flag) for flag in flags]),
            tuple(arguments),
            bool(is_relaxed),
            str(scenario),
            str(test),
            str(called),
            bool(may_leak),
        )
    except UsageError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the token does not say how {first} was compiled: explore again"
        ) from error


def _harmless(flags: list[str]) -> tuple[str, ...]:
    """Return the flags of a token, which may come from others.

    Raises:
        UsageError: with one of them the compiler could run a program, or write somewhere else.
    """
    last = ""
    for flag in flags:
        is_taken = last in (*TAKES_NEXT, "--cfg", "--edition") and not flag.startswith("-")
        if not is_taken and not _HARMLESS.fullmatch(flag):
            raise UsageError(
                f"the token asks for the compiler's flag {flag}, with which a compiler may run "
                "other programs or write files: explore the program again with that flag"
            )
        last = "" if is_taken else flag
    return tuple(flags)


def without_flags(words: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the files among the words of a command, and the flags for the compiler."""
    files: list[Path] = []
    flags: list[str] = []
    last = ""
    for word in words:
        if str(word).startswith("-") or last in TAKES_NEXT:
            flags.append(str(word))
        else:
            files.append(word)
        last = "" if last in TAKES_NEXT else str(word)
    return files, flags


def is_scenario(file: Path) -> bool:
    """Return whether a file of C declares scenarios with STRESS_TEST."""
    return bool(_SCENARIO.search(_bare(file)))


def has_main(file: Path) -> bool:
    """Return whether a file defines `main`: as source, or as object or archive."""
    if file.suffix in LINKED:
        command = [shutil.which("nm") or "nm", "--defined-only", str(file)]
        listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return bool(re.search(r" T main$", listed, re.MULTILINE))
    return bool(_MAIN.search(_bare(file)))


def of_files(
    files: Sequence[Path],
    flags: Sequence[str] = (),
    arguments: Sequence[str] = (),
    *,
    volatile_is_relaxed: bool = False,
) -> list[Program]:
    """Return the programs that the files are.

    Files without `main` belong to the program of the one file that has it, or that declares
    scenarios.  If each file has either, each is a program.

    Raises:
        UsageError: no file has `main`, or several have it and others have none.
    """
    mains = [
        file for file in files if file.suffix in CODE and (has_main(file) or is_scenario(file))
    ] or [file for file in files if file.suffix in LINKED and has_main(file)]  # fmt: skip
    others = [file for file in files if file not in mains]
    names = ", ".join(str(file) for file in files)
    if not mains:
        raise UsageError(
            f"{names}: no file declares a scenario (STRESS_TEST, stress/stress.h) or defines main"
        )
    if others and len(mains) > 1:
        raise UsageError(
            f"{names}: {' and '.join(file.name for file in mains)} define main or scenarios, and "
            f"{others[0].name} does not: give one program at a time"
        )
    return [
        Program((main, *others), tuple(flags), tuple(arguments), volatile_is_relaxed)
        for main in mains
    ]


def _bare(file: Path) -> str:
    """Return the text of a file without its comments."""
    return _COMMENT.sub(" ", file.read_text("utf-8", "replace"))
