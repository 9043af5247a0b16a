# SPDX-License-Identifier: Apache-2.0
"""What is proved: a module, the modes that are fixed, the invariant, and the claims.

It stands beside the spec, as rows ``[[prove]]`` of ``specs/**/*.models.toml``::

    [[prove]]
    modes = { Memory = '"SC"', Ends = '{"ok", "timeout"}' }   # constants with a fixed value
    claims = ["NoLostWakeup"]                                 # invariants, or [][A]_v
    types = ["TypeOK"]                                        # which say the type of variables

The inductive invariant is ``IndInv``, of named conjuncts; those in `types` say no more than which
values a variable has.  Every other constant may be anything of its kind, which the table's own
bounds show: a set of threads, a number, TRUE and FALSE, or one element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from wakeproof.errors import UsageError
from wakeproof.judge.names import finder
from wakeproof.judge.tlc import config as tlc_config
from wakeproof.judge.tlc import dot, models
from wakeproof.judge.tlc.manifest import INVARIANT
from wakeproof.judge.tlc.models import Model, Table

_BOUNDS: Final = re.compile(r"^\s*(\w+)\s*=\s*(.+?)\s*$")


@dataclass(frozen=True)
class Subject:
    """One proof: of a module in some modes."""

    module: str
    modes: Mapping[str, Any]
    sets: frozenset[str]
    numbers: frozenset[str]
    switches: frozenset[str]
    elements: frozenset[str]
    claims: tuple[str, ...]
    types: tuple[str, ...] = ("TypeOK",)
    init: str = "Init"
    next: str = "Next"

    invariant = INVARIANT

    @property
    def name(self) -> str:
        """Return the module and its modes: ``Guard Memory=SC Fences=symmetric``."""
        shown = (f"{name}={_shown(value)}" for name, value in self.modes.items())
        return " ".join((self.module, *shown))

    @property
    def key(self) -> str:
        """Return all that it says, in one order."""
        kinds = (self.sets, self.numbers, self.switches, self.elements)
        free = [sorted(kind) for kind in kinds]
        return repr((self.name, free, self.claims, self.types, self.init, self.next))


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(map(str, value))) + "}"
    return str(value).upper() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class TwinOf:
    """A twin of the spec that must break a proof."""

    defect: str
    claim: str  # that TLC's trace violates
    subject: Subject | None  # whose proof it must break; None: there is none
    why: str  # why not


def of_table(table: Table) -> list[Subject]:
    """Return the subjects of one table.

    Raises:
        UsageError: a row has a key or a value that is none.
    """
    module = table.module.removeprefix("MC")
    bounds = table.models[next(iter(table.models))].settings["constants"]
    found = []
    for row in table.prove:
        modes = {name: _value(f"{table.file.name}: prove: {name}", text)
                 for name, text in row.get("modes", {}).items()}  # fmt: skip
        free = {name: str(text) for name, text in bounds.items() if name not in modes}
        types = tuple(row.get("types", ("TypeOK",)))
        found.append(subject(module, modes, free, claims=tuple(row["claims"]), types=types))
    return found


def subject(
    module: str, modes: Mapping[str, Any], free: Mapping[str, str], *, claims: tuple[str, ...],
    types: tuple[str, ...] = ("TypeOK",), init: str = "Init", next_: str = "Next",
) -> Subject:  # fmt: skip
    """Return a subject; `free` has the constants that may be anything, each with one value.

    Raises:
        UsageError: a constant that is not fixed is a string.
    """
    kinds: dict[str, set[str]] = {kind: set() for kind in ("set", "number", "switch", "element")}
    for name, text in free.items():
        kinds[_kind(module, name, text)].add(name)
    return Subject(
        module,
        modes,
        frozenset(kinds["set"]),
        frozenset(kinds["number"]),
        frozenset(kinds["switch"]),
        frozenset(kinds["element"]),
        claims,
        types,
        init,
        next_,
    )


def _kind(module: str, name: str, text: str) -> str:
    value = _value(f"{module}: {name}", text)
    if isinstance(value, bool):
        return "switch"
    if isinstance(value, int):
        return "number"
    if isinstance(value, frozenset) and '"' not in text:
        return "set"
    if isinstance(value, str) and '"' not in text:
        return "element"
    raise UsageError(f"{module}: {name} = {text} is a mode: fix it, for it is no set of threads")


def _value(where: str, text: object) -> Any:
    try:
        return dot.value(str(text))
    except Exception as error:
        raise UsageError(
            f"{where} = {text} is no plain value: {error}; allowed: a number, a string, TRUE, "
            "FALSE, a model value, a set of these"
        ) from None


def every(specs: Path, pattern: str | None = None) -> Iterator[tuple[Table, Subject]]:
    """Yield the subjects of all tables whose name matches, each with its table.

    Raises:
        UsageError: none matches, or `pattern` is no regular expression.
    """
    is_named = finder(pattern)
    found = [(table, one) for table in models.tables(specs) for one in of_table(table)]
    chosen = [pair for pair in found if is_named(pair[1].name)]
    if not chosen:
        known = ", ".join(dict.fromkeys(one.module for _, one in found))
        raise UsageError(f"-t {pattern}: nothing that is proved matches; there is {known}")
    yield from chosen


def twins(table: Table, among: list[Subject]) -> Iterator[TwinOf]:
    """Yield the twins of a table, each with the subject whose proof it must break."""
    claimed = {claim for one in among for claim in one.claims}
    for model in table.models.values():
        if not model.defect:
            continue
        claim = str(model.row["breaks"])
        if claim not in claimed:
            is_state = claim in model.settings["invariants"]
            why = "no claim that is proved" if is_state else "temporal: no proof addresses it"
            yield TwinOf(model.defect, claim, None, why)
            continue
        fitting = [one for one in among if claim in one.claims and _fits(model, one)]
        why = "" if fitting else "in a mode that is not proved"
        yield TwinOf(model.defect, claim, fitting[0] if fitting else None, why)


def _fits(model: Model, subject: Subject) -> bool:
    """Say whether the behaviours of a configuration are among those of a subject's modes."""
    for name, mode in subject.modes.items():
        value = _value(model.name, model.settings["constants"][name])
        is_set = isinstance(mode, frozenset) and isinstance(value, frozenset)
        if not (value <= mode if is_set else value == mode):
            return False
    return True


def of_config(module: Path, config: Path) -> Subject:
    """Return the subject of a user's own module: the invariant, and what the .cfg lists.

    A constant that the configuration sets to a string, a truth value, or a set of strings is a
    mode; all others may be anything of their kind.

    Raises:
        UsageError: the configuration has something else.
    """
    modes: dict[str, Any] = {}
    free: dict[str, str] = {}
    names: dict[str, list[str]] = {"INVARIANT": [], "INIT": ["Init"], "NEXT": ["Next"]}
    for head, body in tlc_config.sections(config):
        if head.startswith("CONSTANT"):
            for line in filter(None, (line.strip() for line in body.splitlines())):
                match = _BOUNDS.match(line)
                if match is None:
                    raise UsageError(f"{config}: {line}: write each constant as Name = value")
                name, value = match[1], match[2]
                fixed = _value(f"{config}: {name}", value)
                if '"' in value or value in ("TRUE", "FALSE"):
                    modes[name] = fixed
                else:
                    free[name] = value
        elif head.startswith("INVARIANT"):
            names["INVARIANT"] += body.split()
        elif head in names:
            names[head] = body.split() or names[head]
    claims = tuple(name for name in names["INVARIANT"] if name not in (INVARIANT, "TypeOK"))
    return subject(
        module.stem, modes, free, claims=claims, init=names["INIT"][0], next_=names["NEXT"][0]
    )
