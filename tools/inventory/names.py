# SPDX-License-Identifier: Apache-2.0
"""The table that maps the names of one inventory to those of another, as TOML.

    [labels.names]                    # exact: the whole name of an item
    "guard.2" = "event_count.2"

    [[code_twins.rules]]              # regular expressions, each on what the earlier ones left
    find = '^body_'
    put = 'vthread_stackful_'

    [[tests.gone]]                    # left out on purpose; `match`: a regular expression instead
    name = "tests/judge/test_twins.py::test_the_product_is_built_without_any_twin"
    why = "the product's text holds no twin any more"

    [[configurations.changed]]        # `name` is the old name; no `was`: there was no such fact
    name = "MCGuard"
    field = "states"
    was = 12400
    now = 12380
    why = "the model has one counter less"

An exact name wins over rules.  A row that explains nothing is stale, and an error.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.inventory.sections import SECTIONS

from wakeproof.errors import UsageError

ABSENT = object()
"""The value of a fact that is not there."""


@dataclass(frozen=True)
class Rule:
    """Replaces a pattern in every name of a section."""

    find: re.Pattern[str]
    put: str

    def __str__(self) -> str:
        return f"rule {self.find.pattern!r} -> {self.put!r}"


@dataclass(frozen=True)
class Row:
    """Explains why an item is gone, or, if `field` is not empty, why the fact has changed."""

    pattern: re.Pattern[str]  # matches the whole name before
    text: str  # as it stands in the table
    field: str = ""
    was: Any = ABSENT
    now: Any = ABSENT

    def explains(self, name: str, field: str = "", was: Any = ABSENT, now: Any = ABSENT) -> bool:
        """Return whether the row explains this difference."""
        same = all(a is b or (a is not ABSENT and b is not ABSENT and a == b)
                   for a, b in ((self.was, was), (self.now, now)))  # fmt: skip
        return self.field == field and same and self.pattern.fullmatch(name) is not None

    def __str__(self) -> str:
        kind = f"changed {self.field}" if self.field else "gone"
        return f"{kind} {self.text!r}"


@dataclass
class Names:
    """The rows of the table for one section."""

    exact: dict[str, str] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    gone: list[Row] = field(default_factory=list)
    changed: list[Row] = field(default_factory=list)


def read(path: Path | None) -> dict[str, Names]:
    """Read a table; None stands for a table without rows.

    Raises:
        UsageError: there is no such file, it is no TOML, or a row is malformed.
    """
    table = {section: Names() for section in SECTIONS}
    if path is None:
        return table
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    for section, parts in raw.items():
        if section not in SECTIONS:
            raise UsageError(
                f"{path}: unknown section {section!r}; there are {', '.join(SECTIONS)}"
            )
        try:
            table[section] = _names(parts)
        except (KeyError, TypeError, ValueError, re.error) as error:
            raise UsageError(f"{path}: section {section}: {error}") from None
    return table


def _names(parts: Any) -> Names:
    _known("a section", parts, {"names", "rules", "gone", "changed"}, set())
    exact = parts.get("names", {})
    if not isinstance(exact, dict) or not all(isinstance(new, str) for new in exact.values()):
        raise ValueError("names is a table of old name = new name")
    for rule in parts.get("rules", []):
        _known("a rule", rule, {"find", "put"}, {"find", "put"})
    return Names(
        exact,
        [Rule(re.compile(rule["find"]), rule["put"]) for rule in parts.get("rules", [])],
        [_row(row, set()) for row in parts.get("gone", [])],
        [_row(row, {"field", "was", "now"}) for row in parts.get("changed", [])],
    )


def _row(row: Any, more: set[str]) -> Row:
    _known("a row", row, {"name", "match", "why", *more}, {"why", *(more & {"field"})})
    if ("name" in row) == ("match" in row):
        raise ValueError("a row has a name, or a match that names items by a regular expression")
    if not str(row["why"]).strip():
        raise ValueError("a row says why")
    text = row.get("name", row.get("match"))
    pattern = re.compile(row["match"] if "match" in row else re.escape(text))
    found = Row(pattern, text, row.get("field", ""), row.get("was", ABSENT), row.get("now", ABSENT))
    if more and found.was is ABSENT and found.now is ABSENT:
        raise ValueError(f"the row of {text!r} says neither what was nor what is now")
    return found


def _known(what: str, parts: Any, allowed: set[str], needed: set[str]) -> None:
    if not isinstance(parts, dict):
        raise TypeError(f"{what} is a table")
    if unknown := sorted(parts.keys() - allowed):
        raise ValueError(f"{what} has no {unknown[0]!r}; there are {', '.join(sorted(allowed))}")
    if missing := sorted(needed - parts.keys()):
        raise ValueError(f"{what} has no {missing[0]!r}, which it needs")
