# SPDX-License-Identifier: Apache-2.0
"""TLC's classes come from an archive for Java; without an archive TLC runs as well."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.running import run

from wakeproof import locations
from wakeproof.judge.tlc import toolchain
from wakeproof.judge.tlc.toolchain import Toolchain

pytestmark = pytest.mark.slow  # each test starts Java
JAR = Path(__file__)  # not one


def test_tlc_is_loaded_from_the_archive() -> None:
    tools = toolchain.find()
    archive, quiet = toolchain.shared_classes()
    java = [str(tools.java), archive, quiet, "-Xlog:class+load", "-cp", str(tools.jar)]
    ended = run(java, "tlc2.TLC", "-h")
    loaded = [line.split("]")[-1] for line in ended.stdout.splitlines() if " source: " in line]
    shared = [line for line in loaded if line.endswith("source: shared objects file")]
    assert any(line.startswith(" tlc2.TLC source:") for line in shared)
    assert len(shared) > 0.9 * len(loaded)


def test_a_java_that_makes_no_archive_runs_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(toolchain, "find", lambda: Toolchain(Path("/bin/false"), 11, JAR))
    monkeypatch.setattr(locations, "cache", lambda: tmp_path)
    assert toolchain.shared_classes.__wrapped__() == ()
    assert list(tmp_path.glob("*tlc-*")) == []  # no archive, and no folder in which it was made
