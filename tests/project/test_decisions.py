# SPDX-License-Identifier: Apache-2.0
"""docs/inside/decisions.md and docs/guide/limits.md name existing files, twins and claims."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tests.support.cases import IN_CHECKOUT

from wakeproof import locations
from wakeproof.judge.twins import edits

ROOT = locations.sources()
PAGES = ("inside/decisions.md", "guide/limits.md")
FOLDERS = ("bench", "docs", "examples", "kernel", "python", "specs", "stress", "tests", "tools")
FILE = re.compile(r"`([\w./]+\.(?:c|h|md|py|tla))`")
TWINS = re.compile(r"[Tt]wins?((?:,? (?:and )?`\w+`)+)")
CLAIM = re.compile(r"\b([A-Z]\w+)!(\w+)")

pytestmark = [
    IN_CHECKOUT,
    pytest.mark.parametrize("page", PAGES),
]


@cache
def files() -> tuple[str, ...]:
    here = (path for folder in FOLDERS for path in Path(ROOT, folder).rglob("*"))
    return tuple(f"/{path.relative_to(ROOT).as_posix()}" for path in here)


@cache
def words(folder: str) -> frozenset[str]:
    """Return the words of a folder's sources and tables."""
    kinds = (".c", ".h", ".toml", ".tla")
    texts = (path.read_text("utf-8") for path in Path(ROOT, folder).rglob("*")
             if path.suffix in kinds)  # fmt: skip
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


def text(page: str) -> str:
    return " ".join((ROOT / "docs" / page).read_text("utf-8").split())


def test_each_file_that_is_named_is_there(page: str) -> None:
    named = set(FILE.findall(text(page)))
    assert named
    lost = {name for name in named if not any(file.endswith(f"/{name}") for file in files())}
    assert lost == set()


def test_each_twin_and_claim_that_is_named_is_there(page: str) -> None:
    twins = {name for some in TWINS.findall(text(page)) for name in re.findall(r"\w+", some)}
    twins.discard("and")
    known = words("stress") | words("specs") | edits.of_code(ROOT).keys()
    of_specs = {word.partition("_")[2] for word in known if word.startswith("MC")}
    assert {name for name in twins if name not in known | of_specs} == set()
    for module, claim in CLAIM.findall(text(page)):
        assert any(file.endswith(f"/{module}.tla") for file in files()), module
        assert claim in words("specs"), f"{module}!{claim}"
