# SPDX-License-Identifier: Apache-2.0
"""Names of the bytes of a scenario's state: ``a.lock.state``, from the debug information.

Two variables may have one spelling in the code, as ``lock->state`` of two locks, but have different
paths.  If no path is found, their offset in the state distinguishes them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from wakeproof.judge.process import Children

TOOL_S = 60.0
_ENTRY = re.compile(r"^ <([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
_FACT = re.compile(r"^ +<[0-9a-f]+> +DW_AT_(\w+) *: ?(.*)$")
_WRAPPERS = {"typedef", "const_type", "volatile_type", "atomic_type", "restrict_type"}
_SCALARS = {"base_type", "pointer_type", "enumeration_type"}
_DEPTH = 32


@dataclass
class Entry:
    """One entry of the debug information: a type, a member, the range of an array."""

    tag: str
    facts: dict[str, str] = field(default_factory=dict)
    inner: list[Entry] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the name of the entry, or ""."""
        text = self.facts.get("name", "")
        return text.rpartition("): ")[2] if text.startswith("(ind") else text

    def number(self, fact: str) -> int | None:
        """Return a number in the entry."""
        found = re.match(r"(?:\d+ byte block: [0-9a-f ]+\(DW_OP_plus_uconst: )?(0x[0-9a-f]+|\d+)",
                         self.facts.get(fact, ""))  # fmt: skip
        return int(found[1], 0) if found else None


class Types:
    """The types of a program."""

    def __init__(self, dump: str) -> None:
        """Read what ``readelf --debug-dump=info`` prints."""
        self._entries: dict[str, Entry] = {}
        open_: list[Entry] = []
        for line in dump.splitlines():
            if begun := _ENTRY.match(line):
                entry = Entry(begun[3])
                self._entries[begun[2]] = entry
                del open_[int(begun[1], 16) :]
                if open_:
                    open_[-1].inner.append(entry)
                open_.append(entry)
            elif open_ and (fact := _FACT.match(line)):
                open_[-1].facts[fact[1]] = fact[2].strip()

    def named(self, size: int, places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """Return names of `places`, (offset, bytes), in a state of `size` bytes.

        The state is a structure of this size with a member at each place.  Members of the exact
        sizes are preferred to parts of members, and a structure named `state` to others.  The
        result is empty if no structure fits, or if several fit and differ.
        """
        wanted = list(places)
        fits: dict[tuple[bool, bool], list[dict[tuple[int, int], str]]] = {}
        for entry in self._entries.values():
            if entry.tag != "structure_type" or entry.number("byte_size") != size:
                continue
            names = {place: self._path(entry, *place, _DEPTH) for place in wanted}
            whole = {place: name[1:] for place, name in names.items() if name}
            is_part = any("+" in name for name in whole.values())
            known = fits.setdefault((is_part, entry.name != "state"), [])
            if len(whole) == len(wanted) and whole not in known:
                known.append(whole)
        best = next((fits[key] for key in sorted(fits) if fits[key]), [])
        return best[0] if len(best) == 1 else {}

    def _target(self, entry: Entry) -> Entry | None:
        return self._entries.get(entry.facts.get("type", "").strip("<>").removeprefix("0x"))

    def _bare(self, entry: Entry | None) -> Entry | None:
        while entry is not None and entry.tag in _WRAPPERS:
            entry = self._target(entry)
        return entry

    def _size(self, entry: Entry | None) -> int:
        kind = self._bare(entry)
        if kind is None:
            return 0
        if kind.tag != "array_type":
            return kind.number("byte_size") or (8 if kind.tag == "pointer_type" else 0)
        size = self._size(self._target(kind))
        for bound in kind.inner:
            size *= _length(bound)
        return size

    def _path(self, entry: Entry | None, offset: int, size: int, depth: int) -> str | None:
        """Return the path to the bytes, with the separator before it; None: there is none."""
        kind = self._bare(entry)
        if kind is None or not depth:
            return None
        if kind.tag in _SCALARS:
            if offset + size > self._size(kind):
                return None
            return "" if size == self._size(kind) else f"+{offset}"
        if kind.tag == "array_type":
            return self._element(kind, offset, size, depth)
        for member in kind.inner:
            at, target = member.number("data_member_location") or 0, self._target(member)
            if member.tag == "member" and at <= offset < at + self._size(target):
                rest = self._path(target, offset - at, size, depth - 1)
                if rest is not None:
                    return f".{member.name}{rest}" if member.name else rest
        return None

    def _element(self, kind: Entry, offset: int, size: int, depth: int) -> str | None:
        target = self._target(kind)
        lengths = [_length(bound) for bound in kind.inner]
        each = self._size(target)
        if not each:
            return None
        index, rest = divmod(offset, each)
        text = ""
        for length in reversed(lengths):
            index, at = divmod(index, length or 1)
            text = f"[{at}]{text}"
        path = self._path(target, rest, size, depth - 1)
        return None if path is None or index else f"{text}{path}"


def _length(bound: Entry) -> int:
    count, last = bound.number("count"), bound.number("upper_bound")
    return count if count is not None else last + 1 if last is not None else 0


def read(children: Children, program: Path) -> Types:
    """Return the types of `program`; none if there is no readelf."""
    if shutil.which("readelf") is None:
        return Types("")
    ended = children.run(["readelf", "--debug-dump=info", str(program)], timeout_s=TOOL_S)
    return Types(ended.output if ended.code == 0 else "")
