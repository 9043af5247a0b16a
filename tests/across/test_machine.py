# SPDX-License-Identifier: Apache-2.0
"""What is read of a machine, what a pool makes of its CPUs, and used memory: machine.c."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import compiling

from wakeproof import locations

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout"),
]
CASES = ("order", "lists", "named", "reserved", "used", "unmarked")
WRAPPED = "-Wl,--wrap=sched_getaffinity"
TWINS = [  # case, file, what stands there, and what is put there
    ("order", "topology.c", "order = compare(left->package, right->package);", "order = 0;"),
    ("lists", "topology.c", "last <= first", "last < first"),
    ("named", "topology.c", "file->path = path;", ";"),
    ("reserved", "pool_new.c", "many *= 2;", "{ many *= 2; break; }"),
    ("unmarked", "placement.c", "return (word & MARKS) != 0;",
     "return ((word & MARKS) != 0 || 1);"),
]  # fmt: skip
Compiled = Callable[..., list[str]]


def run(command: list[str], case: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, case], capture_output=True, text=True, timeout=120, check=False, cwd=folder
    )


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_what_is_read_of_a_machine_is_what_it_says(
    build: str, compiled: Compiled, tmp_path: Path
) -> None:
    command = compiled("machine", build, WRAPPED)
    for case in CASES:
        ended = run(command, case, tmp_path)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


@pytest.mark.parametrize(("case", "file", "old", "new"), TWINS, ids=[twin[0] for twin in TWINS])
def test_a_machine_that_is_read_wrongly_is_seen(
    case: str, file: str, old: str, new: str, tmp_path: Path
) -> None:
    target = compiling.broken(tmp_path, "machine", "plain", file, old, new, WRAPPED)
    assert run([str(target)], case, tmp_path).returncode != 0


def test_memory_that_was_used_and_is_not_made_new_is_seen(
    compiled: Compiled, tmp_path: Path
) -> None:
    command = compiled("machine", "plain", WRAPPED, "-DFORGETS")
    assert run(command, "used", tmp_path).returncode != 0
