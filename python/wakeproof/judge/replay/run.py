# SPDX-License-Identifier: Apache-2.0
"""Finds the execution of a token again, or reports why it cannot; reads programs in text files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.builds import Builder
from wakeproof.judge.explore import explorer, tokens
from wakeproof.judge.explore.names import Namer
from wakeproof.judge.explore.results import Found, Result
from wakeproof.judge.explore.tokens import Token
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children

_CPP = "C++"
_KINDS = dict.fromkeys((".cpp", ".cc", ".cxx", ".c++", ".C", ".hpp", ".hh"), _CPP) | {
    ".h": "a C header", ".tla": "a TLA+ module", ".cfg": "a configuration of TLC", ".py": "Python",
    ".rs": "Rust", ".go": "Go", ".java": "Java", ".json": "JSON", ".o": "an object file",
    ".s": "assembly", ".S": "assembly", ".md": "Markdown",
}  # fmt: skip
"""Advice for files that explore does not take, by suffix."""


def replay(token: Token) -> Found:
    """Find the token's execution again and return it.

    Raises:
        UsageError: the token's file is gone, or the sources have changed since.
        JudgeError: the sources are the same, but the execution was not found identically.
    """
    if not token.path.is_file():
        raise UsageError(f"the token is of {token.path}, which does not exist")
    with Children() as children:
        builder = Builder(children)
        options = replace(token.explore_options(), replay=token.schedule)
        is_code = token.path.suffix == ".c"
        text = "" if is_code else _text_of(token)
        if sources_hash(builder, token.path if is_code else None, text) != token.sources:
            raise UsageError(
                f"the token was made from other sources of {token.file}, kernel or explorer: "
                "explore again for a new one"
            )
        if is_code:
            program = builder.explorer(token.path, token.twin or None)
            results = explorer.run_test(children, program, token.name, options)
            namer = Namer(children)
            results = [
                replace(r, outcomes=tuple(namer.named(program, r, one) for one in r.outcomes))
                for r in results
            ]
        else:
            results = explorer.run_programs(children, builder.explorer(), [text], options)
    return same(token, results)


def same(token: Token, results: Sequence[Result]) -> Found:
    """Return the execution of the token among the results.

    Raises:
        JudgeError: it is not there identically.
    """
    for found in (found for result in results for found in result.outcomes):
        if (found.text, found.verdict) == (token.outcome, token.verdict):
            if found.digest == token.events:
                return found
            raise JudgeError(f"{token.name}: {token.outcome} is reached by another execution now")
    errors = "; ".join(result.error for result in results if result.error)
    raise JudgeError(f"{token.name}: {token.outcome} was not found again{errors and ': '}{errors}")


def sources_hash(builder: Builder, scenario: Path | None, text: str = "") -> str:
    """Return a hash of everything that is compiled or read for a run."""
    return f"{builder.explorer_sources(scenario)}{tokens.short_hash(text) if text else ''}"


def check_kind(file: Path) -> None:
    """Refuse a file that is neither a scenario in C nor a program as text.

    Raises:
        UsageError: its name or its first bytes tell what it is instead.
    """
    what = _KINDS.get(file.suffix) or ("" if b"\0" not in _begin(file) else "no text")
    if not what:
        return
    use = {".tla": "; wakeproof check takes modules", ".cfg": "; wakeproof check takes modules"}
    raise UsageError(
        f"{file} is {what}: explore takes scenarios in C (.c, stress/stress.h) and programs as "
        f"text (stress/explorer/data.c){use.get(file.suffix, '')}"
    )


def _begin(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(512)


def programs_in(file: Path) -> dict[str, str]:
    """Return the programs of a text file by name: lines ``end`` stand between them.

    Raises:
        UsageError: two have one name, or there is none.
    """
    texts = re.split(r"^[ \t]*end[ \t\r]*$", file.read_text("utf-8", "replace"), flags=re.MULTILINE)
    programs: dict[str, str] = {}
    for text in filter(str.strip, texts):
        named = re.search(r"^[ \t]*program[ \t]+(\S+)", text, re.MULTILINE)
        name = named[1] if named else f"{file.stem}_{len(programs) + 1}"
        if name in programs:
            raise UsageError(f"{file}: two programs are called {name}")
        programs[name] = text.strip("\n")
    if not programs:
        raise UsageError(f"{file} holds no program; the language is in stress/explorer/data.c")
    return programs


def selected(programs: dict[str, str], regex: str | None) -> dict[str, str]:
    """Keep the programs with a name in which `regex` finds something.

    Raises:
        UsageError: not a regular expression, or no name matches.
    """
    is_named = finder(regex)
    kept = {name: text for name, text in programs.items() if is_named(name)}
    if not kept:
        raise UsageError(f"no program matches {regex!r}; there are {', '.join(programs)}")
    return kept


def _text_of(token: Token) -> str:
    programs = programs_in(token.path)
    if token.name not in programs:
        raise UsageError(f"{token.path} holds no program {token.name}")
    return programs[token.name]
