# SPDX-License-Identifier: Apache-2.0
"""The kept data: verdicts by a hash of their inputs, and the reasons of survivors."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.rules import RULES, Mutant

from wakeproof.errors import UsageError
from wakeproof.locations import write_atomically

LEAST_WORDS = 4  # of a reason


class Kept:
    """Verdicts of one defect by judge, in a file that is always complete."""

    def __init__(self, folder: Path, mutant: Mutant) -> None:
        self._file = folder / "verdicts" / f"{mutant.name}.json"
        self._found: dict[str, dict[str, object]] = {}
        with contextlib.suppress(FileNotFoundError, ValueError):
            self._found = json.loads(self._file.read_text(encoding="utf-8"))

    def get(self, judge: str, key: str) -> dict[str, object] | None:
        """Return the judge's verdict, unless one of its inputs has changed."""
        found = self._found.get(judge)
        return found if found and found["key"] == key else None

    def put(self, judge: str, key: str, verdict: dict[str, object]) -> None:
        """Keep a verdict."""
        self._found[judge] = {"key": key, **verdict}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._file, json.dumps(self._found, indent=1))


@dataclass(frozen=True)
class Explanation:
    """The reason why a defect is harmless, or why no cheap judge can see it."""

    file: str
    function: str
    rule: str
    code: str
    becomes: str
    why: str
    nth: int = 0

    @property
    def place(self) -> tuple[str, str, str, str, str, int]:
        """Return the values that an explanation and its defect must share."""
        return self.file, self.function, self.rule, self.code, self.becomes, self.nth


def explanations(file: Path, mutants: Iterable[Mutant]) -> dict[Mutant, str]:
    """Return the reasons in a file by defect; a missing file has none.

    Raises:
        UsageError: a defect has no reason, or no rule makes it any more.
    """
    if not file.exists():
        return {}
    by_place = {(m.file, m.function, m.rule, m.code, m.becomes, m.nth): m for m in mutants}
    found = {}
    try:
        entries = [Explanation(**entry) for entry in json.loads(file.read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        raise UsageError(f"{file}: {error}") from error
    for entry in entries:
        where = f"{file.name}: {entry.file} {entry.function}: {entry.code!r}"
        if entry.rule not in RULES:
            raise UsageError(f"{where}: no rule {entry.rule!r}; there are {', '.join(RULES)}")
        if len(entry.why.split()) < LEAST_WORDS:
            raise UsageError(f"{where}: does not say why")
        if entry.place not in by_place:
            raise UsageError(f"{where}: stale: no rule makes this defect any more")
        if by_place[entry.place] in found:
            raise UsageError(f"{where}: stands there twice")
        found[by_place[entry.place]] = entry.why
    return found
