# SPDX-License-Identifier: Apache-2.0
"""A start without memory reports that and leaves nothing: programs/across/no_memory.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, Compiled, hold
from tests.support.running import run

pytestmark = COMPILES
CASES = ("plain", "whole", "pool", "trace", "thread", "dump", "step")
WRAPPED = [
    f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "aligned_alloc", "realloc", "free")
]
TWINS = {  # a line that is left out
    "whole": ("group_placement.c", "\t\tfree(slots);\n"),
    "trace": ("trace.c", "\t\tgive(traces);\n"),
    "pool": ("pool_new.c", "\tfree(pool->slots);\n"),
}


@pytest.mark.parametrize("build", ["plain", "address"])
def test_each_allocation_of_a_start_may_fail(build: str, compiled: Compiled) -> None:
    hold(compiled("no_memory", build, *WRAPPED), CASES)


@pytest.mark.parametrize("case", TWINS)
def test_a_start_that_leaks_where_it_fails_is_seen(case: str, tmp_path: Path) -> None:
    file, line = TWINS[case]
    target = compiling.broken(tmp_path, "no_memory", "plain", file, line, "", *WRAPPED)
    ended = run(target, case)
    assert ended.returncode == 1
    assert "lost what it had allocated" in ended.stdout


def test_a_thread_without_a_stack_or_memory_is_seen(tmp_path: Path) -> None:
    line = "\tif (bodies->idle != NULL || grow(bodies)) {"
    always = line.replace("grow(bodies)", "grow(bodies) || body == NULL")
    broken = ("vthread_stackful.c", line, always)
    target = compiling.broken(tmp_path, "no_memory", "plain", *broken, *WRAPPED)
    assert run(target, "step").returncode != 0
