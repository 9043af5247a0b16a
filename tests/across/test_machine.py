# SPDX-License-Identifier: Apache-2.0
"""The topology that is read, the CPUs that a pool reserves, and used memory: machine.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold
from tests.support.running import run

pytestmark = COMPILES
CASES = ("order", "lists", "named", "reserved", "used", "unmarked")
WRAPPED = "-Wl,--wrap=sched_getaffinity"
TWINS = [  # case, file, the old text, and the new text
    ("order", "topology.c", "order = compare(left->package, right->package);", "order = 0;"),
    ("lists", "topology.c", "last <= first", "last < first"),
    ("named", "topology.c", "file->path = path;", ";"),
    ("reserved", "pool_new.c", "many *= 2;", "{ many *= 2; break; }"),
    ("unmarked", "placement.c", "return (word & MARKS) != 0;",
     "return ((word & MARKS) != 0 || 1);"),
]  # fmt: skip


@EACH_BUILD
def test_what_is_read_of_a_machine_is_what_it_says(
    build: str, compiled: Compiled, tmp_path: Path
) -> None:
    hold(compiled("machine", build, WRAPPED), CASES, cwd=tmp_path)


@pytest.mark.parametrize(("case", "file", "old", "new"), TWINS, ids=[twin[0] for twin in TWINS])
def test_a_machine_that_is_read_wrongly_is_seen(
    case: str, file: str, old: str, new: str, tmp_path: Path
) -> None:
    target = compiling.broken(tmp_path, "machine", "plain", file, old, new, WRAPPED)
    assert run(target, case, cwd=tmp_path).returncode != 0


def test_memory_that_was_used_and_is_not_made_new_is_seen(
    compiled: Compiled, tmp_path: Path
) -> None:
    command = compiled("machine", "plain", WRAPPED, "-DFORGETS")
    assert run(command, "used", cwd=tmp_path).returncode != 0
