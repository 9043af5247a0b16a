# SPDX-License-Identifier: Apache-2.0
"""Files of virtual threads: specs/io/FileQueue.tla, kernel/io/file.h.

programs/io/file.c and file_ends.c run one case and print what is lost.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import running
from tests.support.cases import COMPILES, EACH_BUILD, Compiled
from tests.support.ringed import needs_uring

from wakeproof._native import build as _build

CASES = ("files", "lent", "direct", "stolen", "refused")
ENDS = ("others_run", "ends", "crowd", "closed")
TWINS = {
    "file_queue_cancel_returns": "ends",
    "file_queue_ends_early": "closed",
}
WARNED = "wakeproof: virtual threads have no files: {}; let OS threads call\n"

pytestmark = COMPILES


def run(command: list[str], case: str, folder: Path, **more: str) -> tuple[str, str, int]:
    ended = running.run(command, case, FOLDER=str(folder), **more)
    return ended.stdout, ended.stderr, ended.returncode


@needs_uring
@EACH_BUILD
@pytest.mark.parametrize(("program", "cases"), [("file", CASES), ("file_ends", ENDS)])
def test_threads_park_while_the_system_reads_and_writes(
    program: str, cases: tuple[str, ...], build: str, compiled: Compiled, tmp_path: Path
) -> None:
    command = compiled(program, build)
    for case in cases:
        assert run(command, case, tmp_path) == ("", "", 0), case


@needs_uring
def test_without_io_uring_there_are_sockets_and_one_warning(
    compiled: Compiled, tmp_path: Path
) -> None:
    command = compiled("file", "plain")
    warned = WARNED.format("WAKEPROOF_NO_URING is set")
    assert run(command, "lacking", tmp_path, WAKEPROOF_NO_URING="1") == ("", warned, 0)
    why = "the system forbids io_uring (seccomp, or sysctl kernel.io_uring_disabled)"
    assert run(command, "forbidden", tmp_path) == ("", WARNED.format(why), 0)


def test_without_liburing_too(
    compiled: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_build, "has_uring", lambda *_: False)
    why = "this was built without liburing (Debian: apt install liburing-dev)"
    assert run(compiled("file", "plain"), "lacking", tmp_path) == ("", WARNED.format(why), 0)


@needs_uring
@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(twin: str, compiled: Compiled, tmp_path: Path) -> None:
    command = compiled("file_ends", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    assert run(command, TWINS[twin], tmp_path)[2] != 0
