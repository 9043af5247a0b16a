# SPDX-License-Identifier: Apache-2.0
"""manifest.json: the expected result of each configuration, and the numbers of its last run.

It is made from the tables in ``specs/`` with the files that TLC reads (`models`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from wakeproof.errors import UsageError
from wakeproof.judge import schema
from wakeproof.judge.names import finder
from wakeproof.judge.schema import SchemaError

_SECTIONS = {"INVARIANT", "INVARIANTS", "PROPERTY", "PROPERTIES"}
_OTHER_SECTIONS = {
    "SPECIFICATION", "INIT", "NEXT", "CONSTANT", "CONSTANTS", "SYMMETRY", "VIEW", "CONSTRAINT",
    "CONSTRAINTS", "ACTION_CONSTRAINT", "ACTION_CONSTRAINTS",
}  # fmt: skip
INVARIANT = "IndInv"
"""The inductive invariant of a module that is proved; its twins need not check it."""
NO_CLAIMS = {"TypeOK", INVARIANT}
"""Invariants that every configuration checks and that state no claim."""


@dataclass(frozen=True)
class Entry:
    """One configuration of the manifest; a field that does not apply is empty or None."""

    config: str  # "MCGuard_no_fence.cfg"
    module: str  # "MCGuard"
    folder: str = ""  # of its files, below the specs': a twin with edits has its own
    set: Literal["short", "full"] = "short"
    expect: Literal["ok", "violates", "bounded"] = "ok"  # bounded: no violation within budget_s
    claims: tuple[str, ...] = ()  # "Guard!NoLostWakeup": what a passing run shows
    claim: str = ""  # what a twin must violate
    defect: str = ""  # the twin's defect in one sentence
    workers: int = 1
    budget_s: int | None = None
    states: int | None = None
    depth: int | None = None
    trace: int | None = None
    seconds: float | None = None

    @property
    def name(self) -> str:
        """The configuration without its suffix, as people type it."""
        return self.config.removesuffix(".cfg")

    def home(self, specs: Path) -> Path:
        """Return the folder of its files; `specs` is that of the manifest."""
        return specs / self.folder

    def file(self, specs: Path) -> Path:
        """Return the configuration's .cfg file."""
        return self.home(specs) / self.config

    @property
    def about(self) -> tuple[str, ...]:
        """The claims that this configuration decides."""
        return (self.claim,) if self.expect == "violates" else self.claims


def load(specs: Path) -> dict[str, Entry]:
    """Read the manifest of the folder `specs`.

    Raises:
        UsageError: the file is missing, is no JSON, or an entry has a field that does not exist.
    """
    path = specs / "manifest.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    return {config: _entry(config, values) for config, values in sorted(raw.items())}


def _entry(config: str, values: dict[str, object]) -> Entry:
    known = {field.name for field in fields(Entry)} - {"config"}
    if unknown := sorted(values.keys() - known):
        raise UsageError(f"manifest.json: {config}: unknown field {unknown[0]}; allowed: "
                         f"{', '.join(sorted(known))}")  # fmt: skip
    try:
        return schema.from_values(Entry, {"config": config, **values})
    except SchemaError as error:
        raise UsageError(f"manifest.json: {config}: {error}") from None


def select(entries: dict[str, Entry], pattern: str | None, *, full: bool) -> list[Entry]:
    """Return the entries with a name that matches `pattern`; large ones only if `full`.

    Raises:
        UsageError: no regular expression, or nothing matches.
    """
    is_named = finder(pattern)
    named = [entry for entry in entries.values() if is_named(entry.name)]
    chosen = [entry for entry in named if full or entry.set == "short"]
    if not chosen:
        if named:
            raise UsageError(f"-t {pattern}: only large configurations match: add --full")
        modules = sorted({entry.module.removeprefix("MC") for entry in entries.values()})
        raise UsageError(f"-t {pattern}: no configuration matches; specs: {', '.join(modules)}")
    return chosen


def listed(config: Path) -> dict[str, list[str]]:
    """Return what a cfg file lists: {"INVARIANTS": [...], "PROPERTIES": [...]}, in its order."""
    text = re.sub(r"\\\*.*|\(\*.*?\*\)", "", config.read_text(encoding="utf-8"))
    lists: dict[str, list[str]] = {"INVARIANTS": [], "PROPERTIES": []}
    current: list[str] | None = None
    for word in text.split():
        if word in _SECTIONS:
            current = lists["INVARIANTS" if word.startswith("INV") else "PROPERTIES"]
        elif word in _OTHER_SECTIONS:
            current = None
        elif current is not None:
            current.append(word)
    return lists


def problems(specs: Path, chosen: list[Entry], entries: dict[str, Entry]) -> list[str]:
    """Return the differences between the manifest and the files, for the chosen entries."""
    found = []
    for entry in chosen:
        if not entry.file(specs).is_file():
            found.append(f"{entry.config} is in the manifest but not in {entry.home(specs)}")
        elif not (entry.home(specs) / f"{entry.module}.tla").is_file():
            found.append(f"{entry.config}: {entry.module}.tla does not exist")
        else:
            found += _claim_problems(specs, entry)
            if entry.expect == "violates":
                found += _twin_problems(specs, entry, entries)
    return found


def strays(specs: Path, entries: dict[str, Entry]) -> list[str]:
    """Return a line for each cfg file that the manifest does not know: it would never be run."""
    unknown = {path.name for path in specs.glob("*.cfg")} - entries.keys()
    return [f"{config} is not in manifest.json" for config in sorted(unknown)]


def _claim_problems(specs: Path, entry: Entry) -> list[str]:
    names = _names(entry.file(specs))
    about = entry.about
    if not any(about) and set(names) - NO_CLAIMS:
        return [f"{entry.config}: names no claim"]
    found = []
    for claim in about:
        module, _, name = claim.partition("!")
        if name not in names:
            found.append(f"{entry.config}: does not check {claim}; it lists {', '.join(names)}")
        elif not defines(entry.home(specs) / f"{module}.tla", name):
            found.append(f"{entry.config}: {claim}: {module}.tla does not define {name}")
    return found


def _twin_problems(specs: Path, twin: Entry, entries: dict[str, Entry]) -> list[str]:
    """Return the claims that a twin must list and does not.

    It must list the claims that a passing configuration with the twin's claim lists.  Otherwise
    "violates this claim before any other" would mean nothing.
    """
    names = _names(twin.file(specs))
    siblings = [
        _names(entry.file(specs))
        for entry in entries.values()
        if entry.module == twin.module
        and twin.claim in entry.claims
        and entry.file(specs).is_file()
    ]
    if not siblings:
        return [f"{twin.config}: no passing configuration of {twin.module} checks {twin.claim}"]
    missed = min((set(sibling) - {*names, INVARIANT} for sibling in siblings), key=len)
    return [f"{twin.config}: does not list {name}" for name in sorted(missed)]


def _names(config: Path) -> list[str]:
    lists = listed(config)
    return lists["INVARIANTS"] + lists["PROPERTIES"]


def defines(module: Path, name: str) -> bool:
    """Return whether the .tla file defines the operator."""
    if not module.is_file():
        return False
    text = module.read_text(encoding="utf-8")
    return re.search(rf"^\s*{re.escape(name)}\s*==", text, re.MULTILINE) is not None


def with_properties(config: Path, names: Iterable[str]) -> str:
    """Return the cfg's text with these properties only, and without invariants."""
    kept: list[str] = []
    skipping = False
    for line in config.read_text(encoding="utf-8").splitlines():
        word = (line.split("\\*", 1)[0].split() or [""])[0]
        if word in _SECTIONS | _OTHER_SECTIONS:
            skipping = word in _SECTIONS
        if not skipping:
            kept.append(line)
    return "\n".join([*kept, "PROPERTIES", *names, ""])
