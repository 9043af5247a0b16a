# SPDX-License-Identifier: Apache-2.0
"""Nothing is listed twice: neither names in Python, nor sources where they are built."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from wakeproof import locations

ROOT = Path(__file__).resolve().parents[2]
FEWEST = 4  # of names; two or three may agree by chance
BUILDS = ("Makefile", "examples/rules.mk", "tools/library/rules.mk", "setup.py",
          "python/wakeproof/_native/build.py")  # fmt: skip
SOURCES = ("kernel/*/**/*.c", "kernel/*/**/*.S", "stress/**/*.c")

pytestmark = pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout")


def lists(root: Path) -> Iterator[tuple[frozenset[str], str]]:
    """Return the names in each list of a module or class, and its place."""
    for folder in ("python/wakeproof", "tools"):
        for file in sorted((root / folder).rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            kept = (
                node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)
            )
            for value in kept:
                for node in ast.walk(value) if value is not None else ():
                    names = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []
                    texts = {name.value for name in names if isinstance(name, ast.Constant)}
                    if len(texts) == len(names) >= FEWEST and {*map(type, texts)} == {str}:
                        yield frozenset(texts), f"{file.relative_to(root)}:{node.lineno}"


def listed_twice(root: Path) -> list[str]:
    places = defaultdict(list)
    for names, place in lists(root):
        places[names].append(place)
    return [
        f"{' and '.join(where)} list {', '.join(sorted(names))}"
        for names, where in places.items()
        if len({place.partition(":")[0] for place in where}) > 1  # one table may have equal rows
    ]


def listed_sources(root: Path) -> list[str]:
    """Return the files of the kernel and of the judges' C that a build names; builds use globs."""
    sources = {path.name for pattern in SOURCES for path in root.glob(pattern)}
    texts = {name: (root / name).read_text(encoding="utf-8") for name in BUILDS}
    return [
        f"{name} names {found}"
        for name, text in texts.items()
        for found in sorted(set(re.findall(r"\b\w+\.[cS]\b", text)) & sources)
    ]


def test_no_two_modules_list_the_same_names() -> None:
    assert listed_twice(ROOT) == []


def test_no_build_names_a_source() -> None:
    assert listed_sources(ROOT) == []


def test_a_list_that_is_kept_twice_is_named_in_both_places(tmp_path: Path) -> None:
    for name, text in {
        "python/wakeproof/one.py": 'ORDERS = ("relaxed", "acquire", "release", "seq_cst")\n',
        "tools/two.py": '\nKNOWN: dict = {"all": ["seq_cst", "relaxed", "release", "acquire"]}\n',
        "tools/three.py": 'FEW = ("relaxed", "acquire", "release")\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert listed_twice(tmp_path) == [
        "python/wakeproof/one.py:1 and tools/two.py:2 list acquire, relaxed, release, seq_cst"
    ]


def test_a_source_that_a_build_lists_is_named(tmp_path: Path) -> None:
    for name in BUILDS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("SOURCES = $(wildcard kernel/*/*.c)\n")
    (tmp_path / "kernel/sync").mkdir(parents=True)
    (tmp_path / "kernel/sync/mutex.c").touch()
    (tmp_path / "setup.py").write_text('sources = ["kernel/sync/mutex.c", "other.c"]\n')
    assert listed_sources(tmp_path) == ["setup.py names mutex.c"]
