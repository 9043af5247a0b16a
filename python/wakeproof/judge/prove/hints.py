# SPDX-License-Identifier: Apache-2.0
"""``specs/hints.json``: the hypotheses on which each step of a slow proof rests.

A solver that gets all conjuncts of a large invariant tries instances of all of them.  Most steps
need a few: that `LoadParked` keeps `HasVictim` rests on `HasVictim`, `ChecksFromList` and a type.
z3 names these when it proves the step with all.  They are kept here, and the next proof asks both
solvers for the formula with these hypotheses alone, which most refute in milliseconds.

A formula with fewer hypotheses is weaker.  So if it has no state, the whole one has none: a hint
that is out of date costs time, and never a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from wakeproof import locations
from wakeproof.errors import UsageError

NAME: Final = "hints.json"
Hints = Mapping[str, list[str]]
"""By the words of an obligation, such as "Claim keeps Paid": the names of hypotheses."""


def read(specs: Path) -> Mapping[str, Hints]:
    """Return the hints of each module; nothing if the folder has none.

    Raises:
        UsageError: the file is not what `write` writes.
    """
    file = specs / NAME
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {
            module: {what: names.split(", ") for what, names in hints.items()}
            for module, hints in found.items()
        }
    except FileNotFoundError:
        return {}
    except (AttributeError, ValueError) as error:
        raise UsageError(f"{file}: {error}; `wakeproof prove --lock` writes it anew") from None


def write(specs: Path, found: Mapping[str, Hints]) -> None:
    """Write the hints of these modules, in place of what the file says of the same obligations."""
    every = dict(read(specs))
    for module, hints in found.items():
        every[module] = {**every.get(module, {}), **hints}
    texts = {
        module: {what: ", ".join(names) for what, names in sorted(hints.items())}
        for module, hints in sorted(every.items())
    }
    locations.write_atomically(specs / NAME, json.dumps(texts, indent=1) + "\n")


def merged(found: Iterable[Hints]) -> dict[str, list[str]]:
    """Return one table of hints: obligations of the same words share their hypotheses."""
    every: dict[str, set[str]] = {}
    for hints in found:
        for what, names in hints.items():
            every.setdefault(what, set()).update(names)
    return {what: sorted(names) for what, names in every.items()}
