# SPDX-License-Identifier: Apache-2.0
"""The modules that a program loads with wakeproof: none of the judges, and none of an extra."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import wakeproof

PACKAGE = Path(wakeproof.__file__).parent
NOT_RUNTIME = ("bench", "cli", "gunicorn", "judge", "__main__")
"""Folders and modules that may need an extra, or that a program of others loads."""
NEEDED = {"cffi", "greenlet", "typing_extensions"}
"""What pyproject.toml names as dependencies; and what every type checker brings, for types only."""


def imported(source: str) -> Iterator[str]:
    """Yield each module that is imported: at the top, in a function, for types only."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "an import names its package"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def broken(package: Path) -> list[str]:
    """Return "FILE imports MODULE" for each import that goes up."""
    found = []
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package)
        if name.parts[0].removesuffix(".py") in NOT_RUNTIME:
            continue
        for module in imported(file.read_text(encoding="utf-8")):
            first, *rest = module.split(".")
            if first == package.name:
                allowed = not rest or rest[0] not in NOT_RUNTIME
            else:
                allowed = first in sys.stdlib_module_names or first in NEEDED
            if not allowed:
                found.append(f"{name} imports {module}")
    return found


def test_the_runtime_imports_no_judge_no_bench_no_command_and_no_extra() -> None:
    assert broken(PACKAGE) == []


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("from wakeproof.judge import report", "wakeproof.judge.report"),
        ("from wakeproof import cli", "wakeproof.cli"),
        ("import wakeproof.bench.rows", "wakeproof.bench.rows"),
        ("def f():\n    import rich", "rich"),
        ("if TYPE_CHECKING:\n    from typer import Typer", "typer.Typer"),
    ],
)
def test_an_import_that_goes_up_is_named(line: str, module: str, tmp_path: Path) -> None:
    package = tmp_path / "wakeproof"
    (package / "judge").mkdir(parents=True)
    (package / "judge" / "report.py").write_text("import rich\nfrom wakeproof import parker\n")
    (package / "parker.py").write_text(f"import os\nfrom wakeproof import mutex\n{line}\n")
    assert broken(package) == [f"parker.py imports {module}"]
