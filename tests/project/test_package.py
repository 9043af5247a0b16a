# SPDX-License-Identifier: Apache-2.0
"""The names that `import wakeproof` offers by itself.  No spec: names, not behaviour."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.running import python

import wakeproof


@pytest.mark.parametrize("name", [*wakeproof.__all__, "coroutine", "joiner"])
def test_each_name_is_listed_and_there(name: str) -> None:
    assert name in dir(wakeproof)
    assert getattr(wakeproof, name)


@pytest.mark.slow
def test_the_modules_that_the_documentation_names_need_no_import() -> None:
    # wakeproof.coroutine and wakeproof.joiner were there only after another import of them.
    script = """
import wakeproof
async def body():
    await wakeproof.coroutine.sleep(0)
    return wakeproof.joiner.await_all()
assert "wakeproof._native.ffi" not in __import__("sys").modules  # what judges do without
print(type(wakeproof.VirtualThread(body).start().result()).__name__, "Scope" in dir(wakeproof))
"""
    ran = python(script)
    assert (ran.stdout, ran.stderr) == ("Joiner True\n", "")


def test_the_version_is_that_of_the_project() -> None:
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    assert f'\nversion = "{wakeproof.__version__}"\n' in project.read_text(encoding="utf-8")
