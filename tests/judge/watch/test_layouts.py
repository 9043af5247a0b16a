# SPDX-License-Identifier: Apache-2.0
"""The layout of our structures is read once for each build of the runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeproof import _native, locations
from wakeproof.judge.watch import layouts

EXTENSION = next(Path(_native.__file__).parent.glob("kernel*.so"))
BUILD_ID = "ab12"


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(locations, "cache", lambda: tmp_path)
    return tmp_path / "watch"


def _forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(_: Path) -> None:
        pytest.fail("the debug information is read again")

    monkeypatch.setattr(layouts, "_learn", learn)


def test_what_was_read_is_kept_by_the_build_id(monkeypatch: pytest.MonkeyPatch) -> None:
    found = layouts.read(EXTENSION, BUILD_ID)
    assert found is not None
    assert found.has("wp_carrier")
    assert found.offset("wp_task", "word") > 0
    _forbid(monkeypatch)
    assert layouts.read(EXTENSION, BUILD_ID) == found


def test_another_build_is_read_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts.read(EXTENSION, BUILD_ID)
    _forbid(monkeypatch)
    with pytest.raises(pytest.fail.Exception, match="is read again"):
        layouts.read(EXTENSION, "cd34")


def test_a_kept_file_that_is_damaged_is_made_again(cache: Path) -> None:
    found = layouts.read(EXTENSION, BUILD_ID)
    (kept,) = cache.iterdir()
    kept.write_text('{"sizes": 1')
    assert layouts.read(EXTENSION, BUILD_ID) == found
    assert kept.stat().st_size > 1000


def test_a_file_without_a_build_id_is_not_kept(cache: Path) -> None:
    assert layouts.read(EXTENSION, "") is not None
    assert list(cache.iterdir()) == []


def test_a_file_without_our_runtime_has_no_layout(cache: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"no program")
    assert layouts.read(other, BUILD_ID) is None
    assert list(cache.iterdir()) == []
