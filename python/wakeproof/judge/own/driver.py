# SPDX-License-Identifier: Apache-2.0
"""Stands in for the compiler in the build of a project, so that its objects can be explored.

    make CC="wakeproof cc" CXX="wakeproof c++"      objects and archives with hooks
    wakeproof explore ./program                     explores what was linked

Next to each program, ``program.wakeproof`` lists what was linked.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.own.program import CODE, LINKED
from wakeproof.judge.own.runtime import SPLIT, Runtime
from wakeproof.judge.process import Children

_AS_IT_IS = ("-E", "-S", "-M", "-MM", "-r", "-fsyntax-only")
_SHARED = ("-fPIC", "-fpic", "-shared")
_TAKES_NEXT = (
    "-o", "-I", "-L", "-l", "-D", "-U", "-x", "-include", "-isystem", "-MF", "-MT", "-MQ",
    "-Xlinker", "-T", "-u", "-z",
)  # fmt: skip
COMPILE_S = 3600.0


def listing(built: Path) -> Path:
    """Return the file that lists what was linked to a program."""
    return built.with_name(f"{built.name}.wakeproof")


def linked(built: Path) -> list[Path]:
    """Return the objects and archives of a program that was linked by `run`.

    Raises:
        UsageError: the list cannot be read, or names a file that is gone.
    """
    try:
        files = [Path(name) for name in json.loads(listing(built).read_text("utf-8"))["files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{listing(built)} does not list what was linked: {error}") from error
    for file in files:
        if not file.is_file():
            raise UsageError(f"{built} was linked from {file}, which is gone: build it again")
    return files


def run(arguments: Sequence[str], *, is_cxx: bool) -> int:
    """Compile or link as the compiler would, with hooks; return its exit code."""
    with Children() as children:
        runtime = Runtime(children)
        compiler = [*runtime.cxx(), SPLIT] if is_cxx else runtime.compiler
        hooks = [
            hook for hook in runtime.hooks
            if hook != "-fno-pie" or not any(flag in arguments for flag in _SHARED)
        ]  # fmt: skip
        as_it_is = not _inputs(arguments) or any(flag in arguments for flag in _AS_IT_IS)
        if not as_it_is and "-c" not in arguments:
            return _link(children, compiler, arguments, hooks)
    # The compiler takes our place, so that it has our input and output: cc -E, cc --version.
    command = [*compiler, *arguments, *([] if as_it_is else hooks)]
    os.execvp(command[0], command)  # noqa: S606
    raise AssertionError(command)


def _call(children: Children, command: list[str]) -> int:
    ended = children.run(command, timeout_s=COMPILE_S)
    sys.stderr.write(ended.output)
    return ended.code


def _inputs(arguments: Sequence[str]) -> list[str]:
    """Return the files that are compiled or linked."""
    found: list[str] = []
    last = ""
    for given in arguments:
        if last not in _TAKES_NEXT and not given.startswith("-"):
            found.append(given)
        last = given
    return found


def _value(arguments: Sequence[str], option: str) -> list[str]:
    """Return the values of an option, which may stand in the same word."""
    found: list[str] = []
    for at, given in enumerate(arguments):
        if given == option:
            found += arguments[at + 1 : at + 2]
        elif given.startswith(option):
            found.append(given[len(option) :])
    return found


def _link(
    children: Children, compiler: Sequence[str], arguments: Sequence[str], hooks: Sequence[str]
) -> int:
    """Compile the sources among the inputs, link all, and list what was linked."""
    target = Path((_value(arguments, "-o") or ["a.out"])[-1])
    words, sources = list(arguments), list[tuple[str, Path]]()
    for name in _inputs(arguments):
        if Path(name).suffix in CODE:
            made = target.with_name(f"{target.name}-{Path(name).name}.o")
            sources.append((name, made))
            words[words.index(name)] = str(made)
    flags = [given for given in _without(words, ("-o", "-l", "-L")) if given.startswith("-")
             and given not in ("-shared", "-static") and not given.startswith("-Wl,")]  # fmt: skip
    pairs = [word for option in ("-I", "-D", "-U", "-include", "-isystem")
             for value in _value(arguments, option) for word in (option, value)]  # fmt: skip
    for name, made in sources:
        code = _call(children, [*compiler, *flags, *pairs, *hooks, "-c", name, "-o", str(made)])
        if code:
            return code
    is_shared = "-shared" in arguments
    code = _call(
        children, [*compiler, *words, "-fsanitize=thread", *([] if is_shared else ["-no-pie"])]
    )
    if code == 0:
        files = [str(file.resolve()) for file in _objects(words)]
        locations.write_atomically(listing(target), json.dumps({"files": files}) + "\n")
    return code


def _without(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the words that belong to none of the options."""
    found: list[str] = []
    last = ""
    for word in words:
        if (
            word not in _TAKES_NEXT
            and last not in _TAKES_NEXT
            and not word.startswith(tuple(options))
        ):
            found.append(word)
        last = word
    return found


def _objects(words: Sequence[str]) -> list[Path]:
    """Return the objects and archives that are linked, those of libraries of the project too."""
    found: list[Path] = []
    for name in _inputs(words):
        file = Path(name)
        if file.suffix in LINKED:
            found.append(file)
        elif listing(file).is_file():
            found += linked(file)
    for library in _value(words, "-l"):
        for folder in map(Path, _value(words, "-L")):
            static, shared = folder / f"lib{library}.a", folder / f"lib{library}.so"
            if listing(shared).is_file():
                found += linked(shared)
                break
            if static.is_file():
                found.append(static)
                break
    return list(dict.fromkeys(found))
