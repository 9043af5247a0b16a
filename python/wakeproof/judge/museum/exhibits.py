# SPDX-License-Identifier: Apache-2.0
"""The exhibits of the museum, and what their files say of them: ``stress/museum``.

A file begins with a comment that names the system, the public issue in which the mechanism was
read, its year, what users saw, the mechanism, the claim that it breaks, and the verdicts that it
shows under SC, x86-TSO and RC11.  It is the bug as shipped; with ``-DFIXED`` it is the fix.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.explore.options import Model
from wakeproof.judge.own.program import Program

FIXED: Final = ("-DFIXED",)
MODELS: Final = (Model.SC, Model.TSO, Model.RC11)
VERDICTS: Final = ("race", "crash", "assertion", "asleep", "stuck", "ended")
"""What an exhibit may show under a model, the worst first."""
KEYS: Final = ("System", "Issue", "Year", "Seen", "Mechanism", "Claim", "Shows")
_TITLE = re.compile(r"^ \* (\w+)\.c(?:pp)? - (.+?)\n \*\n", re.DOTALL | re.MULTILINE)
_PART = re.compile(r"^ \* ([A-Z][a-z]+) {2,}(.*(?:\n \* {12}.*)*)", re.MULTILINE)
_BREAK = re.compile(r"\s*\n \* +")


@dataclass(frozen=True)
class Exhibit:
    """A bug of another system, in our own words and code."""

    name: str
    file: Path
    title: str
    system: str
    issue: str  # where its mechanism was read
    year: int
    seen: str  # by users
    mechanism: str
    claim: str
    shows: tuple[str, ...]  # by model, as MODELS

    @property
    def shipped(self) -> Program:
        """Return the program with the bug."""
        return Program((self.file,))

    @property
    def fixed(self) -> Program:
        """Return the program with the fix."""
        return Program((self.file,), FIXED)


def read(folder: Path | None = None, names: Sequence[str] = ()) -> list[Exhibit]:
    """Return the exhibits with these names, or with these files; without names all, by name.

    Raises:
        UsageError: there is no such exhibit.
        JudgeError: a file does not say what it must.
    """
    place = folder or locations.sources() / "stress" / "museum"
    known = {file.stem: file for file in sorted(place.glob("*.c*"))}
    for name in map(_bare, names):
        if name not in known:
            near = difflib.get_close_matches(name, known, 5, 0.3) or list(known)[:5]
            raise UsageError(f"the museum has no {name}; it has {', '.join(near)}: `wakeproof "
                             "museum` lists all")  # fmt: skip
    return [_exhibit(known[name]) for name in map(_bare, names or known)]


def _bare(name: str) -> str:
    return Path(name).name.partition(".")[0]


def _exhibit(file: Path) -> Exhibit:
    comment = file.read_text("utf-8").partition("*/")[0].rstrip() + "\n"
    title = _TITLE.search(comment)
    parts = {key: _BREAK.sub(" ", text).strip() for key, text in _PART.findall(comment)}
    lacking = [key for key in KEYS if not parts.get(key)]
    if lacking or title is None or title[1] != file.stem:
        what = ", ".join(lacking) or f"a first line `{file.name} - what is wrong in a sentence`"
        raise JudgeError(f"{file}: its first comment lacks {what}")
    shows = tuple(parts["Shows"].split())
    if len(shows) != len(MODELS) or not set(shows) <= set(VERDICTS) or set(shows) == {"ended"}:
        raise JudgeError(f"{file}: Shows is {parts['Shows']!r}; it has a verdict for SC, TSO and "
                         f"RC11, of {', '.join(VERDICTS)}")  # fmt: skip
    if not parts["Issue"].startswith("https://") or not parts["Year"].isdigit():
        raise JudgeError(f"{file}: Issue is an address, and Year a number")
    return Exhibit(
        file.stem, file, _BREAK.sub(" ", title[2]), parts["System"], parts["Issue"],
        int(parts["Year"]), parts["Seen"], parts["Mechanism"], parts["Claim"], shows,
    )  # fmt: skip
