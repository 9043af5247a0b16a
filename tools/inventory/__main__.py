# SPDX-License-Identifier: Apache-2.0
"""Lists everything in a tree that a judge or a user can see, and compares two such lists.

    python -m tools.inventory                                   print the inventory as JSON
    python -m tools.inventory --write before.json               write it, print the counts
    python -m tools.inventory --compare before.json after.json --names names.toml

A comparison prints, section by section, what is lost, what changed and what is new; `names.py`
describes the table of names.  A section that cannot be read is an error, never an empty list.

Exit code 0: the table explains all that is lost or changed; 1: it does not, or one of its rows is
stale; 2: wrong usage, or a section cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.inventory import comparing, names, of_judges, of_users, sections
from tools.inventory.sections import SECTIONS, Inventory
from tools.inventory.tree import Tree

from wakeproof.errors import EXIT_HOLDS, EXIT_USAGE, EXIT_VIOLATED, UsageError, WakeproofError

READERS: dict[str, Callable[[Tree], of_judges.Declared]] = {
    "concepts": of_judges.concepts,
    "specs": of_judges.specs,
    "claims": of_judges.claims,
    "configurations": of_judges.configurations,
    "spec_twins": of_judges.spec_twins,
    "code_twins": of_judges.code_twins,
    "scenarios": of_judges.scenarios,
    "conform": of_judges.conform,
    "traces": of_judges.traces,
    "paths": of_judges.paths,
    "linear": of_judges.linear,
    "labels": of_judges.labels,
    "tests": of_users.tests,
    "litmus": of_users.litmus,
    "c_names": of_users.c_names,
    "cdef": of_users.cdef,
    "python_names": of_users.python_names,
    "commands": of_users.commands,
    "errors": of_users.errors_,
    "lines": of_users.lines,
}


def taken(tree: Tree, chosen: Sequence[str] = ()) -> Inventory:
    """Return the inventory of a tree: all sections, or those that are chosen.

    Raises:
        WakeproofError: a section cannot be read, is empty, or names two items alike.
    """
    return {
        name: sections.collected(name, READERS[name](tree))
        for name in SECTIONS
        if not chosen or name in chosen
    }


def counts(inventory: Inventory) -> str:
    """Return a line for each section: how many items it has, and what they are."""
    lines = [f"{name:15} {len(items):6,}  {SECTIONS[name].what}"
             for name, items in inventory.items()]  # fmt: skip
    return "\n".join(lines)


def compared(before: Path, after: Path, table: Path | None) -> bool:
    """Print the comparison of two files; return whether the table explains all differences."""
    found = comparing.compare(sections.read(before), sections.read(after), names.read(table))
    for difference in found:
        print("\n".join(difference.lines))
    totals = {
        "lost": sum(len(one.lost) for one in found),
        "changed": sum(len(one.changed) for one in found),
        "stale": sum(len(one.stale) for one in found),
    }
    shown = ", ".join(f"{number} {what}" for what, number in totals.items() if number)
    print(f"inventory: {shown or 'nothing lost, nothing changed'}")
    return all(one.is_same for one in found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Take an inventory, or compare two."""
    parser = argparse.ArgumentParser(prog="tools.inventory", description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, metavar="FILE", help="write it, print the counts")
    parser.add_argument("--section", action="append", choices=[*SECTIONS], default=[],
                        help="only this section; more than once: these")  # fmt: skip
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--names", type=Path, metavar="TABLE", help="names before and after: TOML")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.names and not chosen.compare:
            raise UsageError("--names is for --compare")
        if chosen.compare:
            before, after = chosen.compare
            return EXIT_HOLDS if compared(before, after, chosen.names) else EXIT_VIOLATED
        inventory = taken(Tree(), chosen.section)
        if chosen.write:
            sections.write(chosen.write, inventory)
            print(counts(inventory))
        else:
            print(sections.text_of(inventory), end="")
    except (WakeproofError, OSError) as error:
        print(f"inventory: {error}", file=sys.stderr)
        return EXIT_USAGE
    return EXIT_HOLDS


if __name__ == "__main__":
    sys.exit(main())
