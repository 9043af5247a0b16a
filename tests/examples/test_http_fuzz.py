# SPDX-License-Identifier: Apache-2.0
"""Arbitrary bytes, to the parser and the connection of the HTTP examples: docs/guide/http.md.

`make fuzz-http` does this for a minute with libFuzzer; here a few seconds at random, with a seed.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support import compiling, serving
from tests.support.cases import COMPILES
from tests.support.running import run

from wakeproof import locations

pytestmark = COMPILES
WRAPS = ["wp_io_new", "wp_io_free", "wp_io_read", "wp_io_write", "http_write"]


def fuzzed(tmp_path: Path, seconds: int, *more: str) -> subprocess.CompletedProcess[str]:
    """Give a connection random bytes for that time."""
    examples = [serving.EXAMPLES / f"{part}.c" for part in ("http", "connection")]
    program = locations.sources() / "tests" / "programs" / "examples" / "http_fuzz.c"
    wraps = [f"-Wl,--wrap={name}" for name in WRAPS]
    include = [f"-I{serving.EXAMPLES}", f"-I{locations.cache() / 'llhttp' / 'include'}"]
    parts = [*serving.llhttp(), *examples, program]
    name = "".join(["http_fuzz", *more])
    target = compiling.link(tmp_path, name, "address", parts, *include, *wraps, *more)
    seeds = sorted(map(str, (locations.sources() / "tests" / "corpus" / "http").iterdir()))
    command = [str(target), str(seconds), "7", *seeds]
    return run(command)


@pytest.mark.rotates
def test_any_bytes_are_answered_the_same_however_they_are_cut(tmp_path: Path) -> None:
    ended = fuzzed(tmp_path, 3)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    assert ended.stdout.endswith(" inputs\n")


def test_a_connection_that_loses_what_follows_is_seen(tmp_path: Path) -> None:
    ended = fuzzed(tmp_path, 60, "-DWP_TWIN_http_pipeline_cut=1")
    assert ended.returncode < 0
    assert ended.stderr.split("\n")[0].endswith(", cut otherwise")
