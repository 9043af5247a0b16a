# SPDX-License-Identifier: Apache-2.0
"""A judge whose call to the system fails says so in a line: never a wrong verdict, never a hang.

``make campaign`` lets many more calls fail.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import refusing_judges as refusing
from tests.support.cases import COMPILES

pytestmark = [*COMPILES, pytest.mark.slow, pytest.mark.rotates]

CASES = [
    (name, process, call)
    for name, job in refusing.JOBS.items()
    for process in job.processes
    for call in job.calls
]


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return refusing.library(tmp_path_factory.mktemp("refuse"))


@pytest.mark.parametrize(("name", "process", "call"), CASES)
def test_a_call_that_fails_is_said(preloaded: Path, name: str, process: str, call: str) -> None:
    for at in (1, 2, 5):
        ended = refusing.run(preloaded, refusing.JOBS[name], process, call, at)
        if ended is None:
            break
        assert ended.is_good, f"{call} {at} in {process}: {ended.how}\n{ended.output}"


@pytest.mark.always
def test_each_kind_of_call_is_refused(preloaded: Path) -> None:
    job = refusing.JOBS["program"]
    for call in ("open", "write", "fork", "pthread_create", "pipe", "fsync", "rename", "mkdir"):
        ended = refusing.run(preloaded, job, refusing.MAIN, call, 1)
        assert ended is not None, call
        assert ended.is_good, f"{call}: {ended.how}\n{ended.output}"


@pytest.mark.always
def test_an_explorer_without_memory_gives_no_verdict(preloaded: Path) -> None:
    ended = refusing.run(preloaded, refusing.JOBS["explore"], "--test guard", "mmap", 1)
    assert ended is not None
    assert ended.how == "said"
    assert "guard under SC: no memory at the explorer's fixed addresses" in ended.output
