# SPDX-License-Identifier: Apache-2.0
"""The parts of an inventory, sections of items with facts, and its file.

    {"labels": {"guard.2": {"order": "seq_cst", "pairs": ["guard.4"], "kept": false}}}

An item has a name, unique in its section.  A fact is JSON; a fact that does not apply is absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from wakeproof import locations
from wakeproof.errors import UsageError

Facts = dict[str, Any]
Items = dict[str, Facts]
Inventory = dict[str, Items]

NAME = ""
"""In `Section.names`: the name of the item itself."""


@dataclass(frozen=True)
class Section:
    """One section.

    `names` tells which facts of this section have names of items of other sections in them; the
    key ``NAME`` stands for the item's own name.  A row that renames such an item applies there too.
    """

    name: str
    what: str  # an item, in words
    names: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    may_join: bool = False  # two items of before may be one now: files that are joined
    is_judged: bool = True  # False: its facts are shown, only what is lost counts


SECTIONS = {
    section.name: section
    for section in (
        Section("concepts", "files of the kernel, a header and its source as one", may_join=True),
        Section("specs", "modules of TLA+, without those that only set bounds"),
        Section("claims", "claims of specs, and what judges each", {NAME: ("specs",)}),
        Section(
            "configurations",
            "configurations of TLC",
            {
                "spec": ("specs",),
                "claims": ("claims",),
                "violates": ("claims",),
                "invariants": ("claims", "specs"),
                "properties": ("claims", "specs"),
            },
        ),
        Section(
            "spec_twins",
            "twins of specs",
            {"spec": ("specs",), "violates": ("claims",), "conform": ("conform",)},
        ),
        Section(
            "code_twins",
            "twins of code",
            {
                "concepts": ("concepts",),
                "scenario": ("scenarios",),
                "conform": ("conform",),
                "traces": ("conform",),
                "linear": ("linear",),
                "tests": ("tests",),
            },
        ),
        Section(
            "scenarios",
            "scenarios of stress",
            {"upholds": ("claims",), "twins": ("code_twins",)},
        ),
        Section(
            "conform",
            "comparisons of code and spec",
            {"spec": ("specs",), "joins": ("labels",), "code_twins": ("code_twins",)},
        ),
        Section("traces", "subjects of traces", {NAME: ("conform",), "twins": ("code_twins",)}),
        Section("paths", "subjects of paths", {NAME: ("conform",), "twins": ("code_twins",)}),
        Section("linear", "checks of linearizability", {NAME: ("code_twins",)}),
        Section(
            "labels",
            "labelled atomic accesses",
            {"pairs": ("labels",), "upholds": ("claims",), "concept": ("concepts",)},
        ),
        Section("tests", "tests", {NAME: ("code_twins",)}),
        Section("litmus", "litmus programs"),
        Section(
            "c_names",
            "public names of the C headers",
            dict.fromkeys(("signature", "value", "parameters"), ("c_names",)),
        ),
        Section(
            "cdef",
            "names that Python binds",
            {NAME: ("c_names",)}
            | dict.fromkeys(("signature", "fields", "value"), ("cdef", "c_names")),
        ),
        Section(
            "python_names",
            "public names of the Python package",
            {"signature": ("python_names",), "bases": ("python_names",)},
        ),
        Section("commands", "commands and their options, and targets of make"),
        Section("errors", "codes of errors and of exits", {NAME: ("c_names",)}),
        Section("lines", "folders, with lines of text", is_judged=False),
    )
}


def collected(what: str, items: Iterable[tuple[str, Facts]]) -> Items:
    """Return the items by name, without facts that are None.

    Raises:
        UsageError: there is no item, or two have the same name.
    """
    found: Items = {}
    for name, facts in items:
        if name in found:
            raise UsageError(f"{what}: two items are named {name!r}")
        found[name] = {fact: value for fact, value in facts.items() if value is not None}
    if not found:
        raise UsageError(f"{what}: nothing was found: its reader fits another layout")
    return found


def text_of(inventory: Inventory) -> str:
    """Return the inventory as JSON, one item a line, sorted by name."""
    sections = []
    for section, items in inventory.items():
        lines = [
            f"  {json.dumps(name)}: {json.dumps(facts, sort_keys=True)}"
            for name, facts in sorted(items.items())
        ]
        sections.append(f"{json.dumps(section)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


def write(path: Path, inventory: Inventory) -> None:
    """Write the inventory; readers see the old file or the new one."""
    locations.write_atomically(path, text_of(inventory))


def read(path: Path) -> Inventory:
    """Read an inventory that was written before.

    Raises:
        UsageError: there is no such file, or it is no inventory; the message tells why.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from None
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    if not isinstance(raw, dict) or not raw:
        raise UsageError(f"{path}: no inventory: an object of sections is wanted")
    for section, items in raw.items():
        if section not in SECTIONS:
            raise UsageError(
                f"{path}: unknown section {section!r}; there are {', '.join(SECTIONS)}"
            )
        if not isinstance(items, dict) or not items:
            raise UsageError(f"{path}: section {section} is empty: it says nothing")
        if not all(isinstance(facts, dict) for facts in items.values()):
            raise UsageError(f"{path}: section {section}: the facts of an item are no object")
    return raw


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two items are named {twice!r}")
    return found
