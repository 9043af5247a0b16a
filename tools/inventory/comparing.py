# SPDX-License-Identifier: Apache-2.0
"""Compares two inventories: what was lost, what is new, what changed, and what a table explains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.inventory.names import ABSENT, Names, Row, Rule
from tools.inventory.sections import NAME, SECTIONS, Facts, Inventory, Items, Section

_WORD = re.compile(r"\w+(?:[!.:=]\w+)*|\w+")


@dataclass
class Difference:
    """The differences in one section, as lines in the order of the old names."""

    section: str
    before: int
    after: int
    lost: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)  # changed, and not judged
    renamed: int = 0
    explained: int = 0  # gone or changed, as a row says

    @property
    def is_same(self) -> bool:
        """Return whether the table explains all that is lost or changed, and no row is stale."""
        return not (self.lost or self.changed or self.stale)

    @property
    def lines(self) -> list[str]:
        """Return all lines; the first line has the numbers."""
        numbers = [
            f"{len(found)} {what}"
            for what, found in (("lost", self.lost), ("changed", self.changed),
                                ("stale", self.stale), ("new", self.new))
            if found
        ]  # fmt: skip
        numbers += [f"{self.renamed} renamed"] if self.renamed else []
        numbers += [f"{self.explained} explained"] if self.explained else []
        head = f"{self.section}: {self.before} before, {self.after} after"
        lines = [f"{head}; {', '.join(numbers)}" if numbers else head]
        for kind, found in (("lost", self.lost), ("changed", self.changed), ("stale", self.stale),
                            ("new", self.new), ("shown", self.shown)):  # fmt: skip
            lines += [f"  {kind:8} {line}" for line in found]
        return lines


def compare(before: Inventory, after: Inventory, table: Mapping[str, Names]) -> list[Difference]:
    """Compare the sections one by one, with the names of `table`."""
    return [_Comparison(section, before, after, table).difference()
            for section in SECTIONS.values()
            if section.name in before or section.name in after]  # fmt: skip


class Renaming:
    """Maps the names of `before` to those of now, by the table, for every section."""

    def __init__(self, before: Inventory, table: Mapping[str, Names]) -> None:
        self._before, self._table = before, table
        self._known: dict[tuple[str, str], str] = {}

    def name(self, section: str, name: str) -> str:
        """Return the name of an item of `section` now."""
        if (section, name) not in self._known:
            self._known[section, name] = self._renamed(section, name)
        return self._known[section, name]

    def text(self, text: str, sections: tuple[str, ...]) -> str:
        """Return a text with the names of now in place of old names of these sections."""
        for section in sections:
            if text in self._before.get(section, {}):
                return self.name(section, text)
        return _WORD.sub(lambda match: self._word(match[0], sections), text)

    def value(self, value: Any, sections: tuple[str, ...]) -> Any:
        """Return a fact (a text, or texts in lists and objects) with the names of now."""
        if isinstance(value, str):
            return self.text(value, sections)
        if isinstance(value, list):
            return [self.value(one, sections) for one in value]
        if isinstance(value, dict):
            return {self.text(key, sections): self.value(one, sections)
                    for key, one in value.items()}  # fmt: skip
        return value

    def used(self, section: str, name: str) -> Iterator[str | Rule]:
        """Yield the rows that rename the item: its exact name, or rules that change it."""
        names = self._table[section]
        if name in names.exact:
            yield name
            return
        text = self._without_rules(section, name)
        for rule in names.rules:
            changed = rule.find.sub(rule.put, text)
            if changed != text:
                yield rule
            text = changed

    def _renamed(self, section: str, name: str) -> str:
        names = self._table[section]
        if name in names.exact:
            return names.exact[name]
        text = self._without_rules(section, name)
        for rule in names.rules:
            text = rule.find.sub(rule.put, text)
        return text

    def _without_rules(self, section: str, name: str) -> str:
        others = SECTIONS[section].names.get(NAME, ())
        return self.text(name, others) if others else name

    def _word(self, word: str, sections: tuple[str, ...]) -> str:
        for section in sections:
            if word in self._before.get(section, {}):
                return self.name(section, word)
        if re.search(r"\W", word):  # a part of it may be one
            return re.sub(r"\w+", lambda match: self._word(match[0], sections), word)
        return word


class _Comparison:
    """One section."""

    def __init__(
        self, section: Section, before: Inventory, after: Inventory, table: Mapping[str, Names]
    ) -> None:
        self._section, self._names = section, table[section.name]
        self._before: Items = before.get(section.name, {})
        self._after: Items = after.get(section.name, {})
        self._renaming = Renaming(before, table)
        self._now = {name: self._renaming.name(section.name, name) for name in self._before}
        self._used: set[int] = set()  # rows, by identity
        self._found = Difference(section.name, len(self._before), len(self._after))

    def difference(self) -> Difference:
        """Compare."""
        of: dict[str, list[str]] = {}
        for old, new in self._now.items():
            of.setdefault(new, []).append(old)
        for old, new in sorted(self._now.items()):
            self._item(old, new, of[new])
        self._found.new = sorted(self._after.keys() - of.keys())
        self._stale()
        return self._found

    def _item(self, old: str, new: str, joined: list[str]) -> None:
        if new not in self._after:
            if not self._is_explained(self._names.gone, old):
                said = "" if new == old else f": the table says {new}, which is not there"
                self._found.lost.append(old + said)
            return
        self._found.renamed += new != old
        if len(joined) > 1 and not self._section.may_join:
            others = ", ".join(name for name in joined if name != old)
            self._found.lost.append(f"{old}: it would be {new}, and so would {others}")
            return
        if len(joined) == 1:
            self._facts(old, self._before[old], self._after[new])

    def _facts(self, old: str, before: Facts, after: Facts) -> None:
        expected: Facts = {}
        places = self._section.names
        for fact, value in before.items():
            expected[fact] = self._renaming.value(value, places[fact]) if fact in places else value
        was, want, now = _flat(before), _flat(expected), _flat(after)
        for path in sorted(want.keys() | now.keys()):
            a, b = want.get(path, ABSENT), now.get(path, ABSENT)
            if path.partition(".")[0] in places:
                a, b = _as_set(a), _as_set(b)
            if a is b or (a is not ABSENT and b is not ABSENT and a == b):
                continue
            if self._is_explained(self._names.changed, old, path, was.get(path, ABSENT),
                                  now.get(path, ABSENT)):  # fmt: skip
                continue
            line = f"{self._now[old]}: {path}: {_shown(a)} -> {_shown(b)}"
            (self._found.changed if self._section.is_judged else self._found.shown).append(line)

    def _is_explained(
        self, rows: list[Row], name: str, field: str = "", was: Any = ABSENT, now: Any = ABSENT
    ) -> bool:
        found = [row for row in rows if row.explains(name, field, was, now)]
        self._used |= {id(row) for row in found}
        self._found.explained += bool(found)
        return bool(found)

    def _stale(self) -> None:
        used: set[str | Rule] = set()
        for old, new in self._now.items():
            if new in self._after:
                used |= set(self._renaming.used(self._section.name, old))
        names = self._names
        for old, new in names.exact.items():
            if old not in used or old == new:
                self._found.stale.append(f"{old} = {new}: explains nothing")
        self._found.stale += [f"{rule}: explains nothing" for rule in names.rules
                              if rule not in used]  # fmt: skip
        self._found.stale += [f"{row}: explains nothing" for row in (*names.gone, *names.changed)
                              if id(row) not in self._used]  # fmt: skip


def _flat(facts: Mapping[str, Any], prefix: str = "") -> Facts:
    found: Facts = {}
    for name, value in facts.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def _as_set(value: Any) -> Any:
    """Return a list of names sorted and without repetition, because their order is no fact."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return sorted(set(value))
    return value


def _shown(value: Any) -> str:
    return "absent" if value is ABSENT else repr(value)
