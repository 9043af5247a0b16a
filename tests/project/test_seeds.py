# SPDX-License-Identifier: Apache-2.0
"""docs/inside/seeds.md names only existing things.  Serves no spec."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tests.support.cases import IN_CHECKOUT

import wakeproof
from wakeproof import cli, locations

ROOT = locations.sources()
TABLES = "docs/inside/seeds.md"
SUFFIXES = (".c", ".h", ".S", ".py", ".tla")
NAMES = r"`([^`]+)`|\b([A-Z]\w+!\w+)"

pytestmark = IN_CHECKOUT


@cache
def words(*folders: str) -> frozenset[str]:
    """Return the words of the sources in those folders."""
    files = [file for folder in folders for file in Path(ROOT, folder).rglob("*")]
    texts = [file.read_text("utf-8") for file in files if file.suffix in SUFFIXES]
    return frozenset(re.findall(r"\w+", "\n".join(texts)))


def is_there(name: str) -> bool:
    """Return true if a claim, path, command, Python name or C name exists."""
    module, _, claim = name.partition("!")
    if claim:
        files = Path(ROOT, "specs").rglob(f"*{module}*.tla")
        return any(re.search(rf"\b{claim}\b", file.read_text("utf-8")) for file in files)
    first, *rest = name.split()
    if first == "make":
        return re.search(rf"^{rest[0]}:", Path(ROOT, "Makefile").read_text(), re.M) is not None
    if first == "wakeproof":
        return rest[0] in cli.COMMANDS
    if "/" in name:
        return Path(ROOT, name).exists()
    if first.startswith("wakeproof."):
        found: object = wakeproof
        for part in first.split(".")[1:]:
            found = getattr(found, part, None)
        return found is not None
    part_of = "kernel", "stress", "python/wakeproof"
    return all(part in words(*part_of) for part in re.findall(r"\w+", name)) or (
        name.startswith("WAKEPROOF_") and name[10:].lower() in words("python/wakeproof")
    )


def names() -> list[str]:
    """Return the names in the second column of the tables, and those in code font in the text."""
    text = Path(ROOT, TABLES).read_text("utf-8")
    ours = [line.split(" | ")[1] if line.startswith("| ") else line for line in text.splitlines()
            if not line.startswith(("|-", "#"))]  # fmt: skip
    return sorted({code or claim for line in ours for code, claim in re.findall(NAMES, line)})


def test_every_name_in_the_tables_is_there() -> None:
    assert len(names()) > 100
    assert [name for name in names() if not is_there(name)] == []


@pytest.mark.parametrize(
    "lie",
    ["Guard!Nothing", "kernel/nothing.h", "make unmade", "wakeproof unmade",
     "wakeproof.Nothing", "wakeproof.Carrier.nothing", "wp_nothing", "WAKEPROOF_NO_SUCH"],
)  # fmt: skip
def test_a_name_that_is_nowhere_is_found(lie: str) -> None:
    assert not is_there(lie)


def test_every_part_of_a_seed_has_a_name_or_a_reason() -> None:
    rows = [line for line in Path(ROOT, TABLES).read_text("utf-8").splitlines()
            if line.startswith("| ") and line != "| theirs | ours |"]  # fmt: skip
    for row in rows:
        _, theirs, ours, _ = (cell.strip() for cell in row.split("|"))
        assert theirs, row
        assert ours, row
        assert not ours.startswith("not carried over") or ", because " in ours, row
