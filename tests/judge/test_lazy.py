# SPDX-License-Identifier: Apache-2.0
"""Each judge's package has the judge as a function, and loads it on use.  Serves no spec."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tests.support.running import run

from wakeproof import judge
from wakeproof.judge.check import check
from wakeproof.judge.check.run import check as check_of_run

FOLDER = Path(judge.__file__).parent
LOADS = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    package = import_module(f"wakeproof.judge.{name}")
    assert f"wakeproof.judge.{name}.run" not in sys.modules, name
for name in sys.argv[1:]:
    package = import_module(f"wakeproof.judge.{name}")
    assert getattr(package, name) is import_module(f"wakeproof.judge.{name}.run").__dict__[name]
"""


def judges() -> list[str]:
    """Return the folders with a module `run` that has a function of the folder's name."""
    return [
        file.parent.name for file in sorted(FOLDER.glob("*/run.py"))
        if any(isinstance(node, ast.FunctionDef) and node.name == file.parent.name
               for node in ast.parse(file.read_text(encoding="utf-8")).body)
    ]  # fmt: skip


def test_each_judge_is_a_function_of_its_package_that_is_loaded_when_it_is_used() -> None:
    assert judges() == [
        "audit", "check", "conform", "explore", "linear", "orders", "paths", "prove", "replay",
        "schedules", "stress", "traces",
    ]  # fmt: skip
    ended = run([sys.executable, "-c", LOADS, *judges()])
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert check is check_of_run


@pytest.mark.parametrize("name", judges())
def test_a_judge_s_package_has_no_other_name(name: str) -> None:
    package = import_module(f"wakeproof.judge.{name}")
    with pytest.raises(AttributeError, match=f"module 'wakeproof.judge.{name}' has no attribute"):
        _ = package.nothing


def test_no_judge_imports_another_by_its_package_which_the_hash_of_its_code_would_not_see() -> None:
    by_package = {(f"wakeproof.judge.{name}", name) for name in judges()}
    for file in FOLDER.rglob("*.py"):
        found = {
            (node.module, one.name)
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
            for one in node.names
        }
        assert by_package.isdisjoint(found), file
