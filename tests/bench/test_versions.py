# SPDX-License-Identifier: Apache-2.0
"""The versions of the peers are those of the tools that are there."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from wakeproof.bench import peers, versions
from wakeproof.bench.table import ROWS
from wakeproof.bench.web.servers import PEERS
from wakeproof.judge.process import Children


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder in which tools are found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(peers, "GO_PATH", str(tmp_path / "go"))
    return tmp_path


def make(tool: Path, text: str, code: int = 0) -> None:
    tool.write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n", "utf-8")
    tool.chmod(0o755)


def test_a_tool_says_its_version(tools: Path) -> None:
    make(tools / "go", "go version go1.99.1 linux/amd64")
    make(tools / "c++", '#define BOOST_VERSION 109901\n#define BOOST_LIB_VERSION "1_99_1"')
    make(tools / "dpkg-query", "1.9.9+ds-1")
    with Children() as children:
        found = versions.of(children, ["yield, Go", "- the same, Boost.Fiber", "x, moodycamel"])
    assert found == {"Go": "1.99.1", "Boost": "1.99.1", "moodycamel": "1.9.9+ds-1"}
    assert versions.line(found) == "peers: Go 1.99.1, Boost 1.99.1, moodycamel 1.9.9+ds-1"


def test_a_tool_that_says_none_is_named_all_the_same(tools: Path) -> None:
    make(tools / "go", "no version here", code=2)
    with Children() as children:
        assert versions.of(children, ["yield, Go", "queue, moodycamel"]) == {
            "Go": versions.UNKNOWN, "moodycamel": versions.UNKNOWN,
        }  # fmt: skip


@pytest.mark.usefixtures("tools")
def test_what_no_row_names_is_not_asked() -> None:
    with Children() as children:
        assert versions.of(children, ["yield, fibers alone", "Gopher", "tokios"]) == {}
    assert versions.line({}) == "peers: none"


def test_versions_of_packages_are_those_that_are_installed() -> None:
    with Children() as children:
        found = versions.of(children, ["echo, uvloop, streams", "echo, asyncio", "yield, tokio"])
    assert found["tokio"].startswith("1.")
    assert found["asyncio"].startswith("of CPython 3.")
    try:
        assert found["uvloop"] == metadata.version("uvloop")
    except metadata.PackageNotFoundError:
        assert found["uvloop"] == versions.UNKNOWN


def test_each_peer_of_another_project_has_a_version() -> None:
    others = {row.against.split(",")[0] for row in ROWS if row.peer in {*peers._MAKERS}}
    texts = [*others, *PEERS]
    assert len(others) >= 4
    with Children() as children:
        for text in texts:
            assert versions.of(children, [text]), text
