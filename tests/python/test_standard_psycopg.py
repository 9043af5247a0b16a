# SPDX-License-Identifier: Apache-2.0
"""psycopg's wait function under `wakeproof.install`, with a package that stands in for psycopg.

tests/clients has psycopg itself against a server.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import wakeproof

WAITING = """
def wait_c(): return "in C"
def wait_poll(): return "by poll"
def wait_other(): return "by another"
wait = {wait}
"""


@pytest.fixture
def psycopg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    assert "psycopg" not in sys.modules
    (tmp_path / "psycopg").mkdir()
    (tmp_path / "psycopg" / "__init__.py").touch()
    waiting = tmp_path / "psycopg" / "waiting.py"
    waiting.write_text(WAITING.format(wait="wait_c"))
    monkeypatch.syspath_prepend(tmp_path)
    yield waiting
    wakeproof.uninstall()
    for name in ("psycopg", "psycopg.waiting"):
        sys.modules.pop(name, None)


def loaded() -> ModuleType:
    importlib.invalidate_caches()
    return importlib.import_module("psycopg.waiting")


def waits(module: ModuleType) -> tuple[str, str]:
    """Return how an OS thread waits, and how a virtual one does."""
    with wakeproof.CarrierGroup(1) as group:
        return module.wait(), wakeproof.VirtualThread(
            lambda: module.wait(), group=group
        ).start().result()


@pytest.mark.usefixtures("psycopg")
def test_virtual_threads_poll_if_it_is_imported_after_install() -> None:
    wakeproof.install()
    assert waits(loaded()) == ("in C", "by poll")


@pytest.mark.usefixtures("psycopg")
def test_virtual_threads_poll_if_it_is_imported_before_install() -> None:
    module = loaded()
    assert waits(module) == ("in C", "in C")
    wakeproof.install()
    assert waits(module) == ("in C", "by poll")


@pytest.mark.usefixtures("psycopg")
@pytest.mark.parametrize("is_imported", [True, False])
def test_uninstall_leaves_nothing(is_imported: bool) -> None:
    before = list(sys.meta_path)
    wakeproof.install()
    if is_imported:
        loaded()
    wakeproof.uninstall()
    assert sys.meta_path == before
    assert loaded().wait is loaded().wait_c


def test_a_wait_function_that_the_user_chose_stays(psycopg: Path) -> None:
    psycopg.write_text(WAITING.format(wait="wait_other"))
    wakeproof.install()
    assert waits(loaded()) == ("by another", "by another")
