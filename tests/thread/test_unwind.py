# SPDX-License-Identifier: Apache-2.0
"""Walks over frames that a case lays out by hand: unwind.c, kernel/thread/unwind.h."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold
from tests.support.running import run

pytestmark = COMPILES
CASES = {
    "lowest": "a switch may have left the lowest words of a stack, and no lower ones",
    "highest": "the highest word of a stack is read, and none above it",
    "far": "a function whose registers are saved too far for a row ends the walk",
}
TWINS = [  # case, file, the old text, and the new text
    ("lowest", "unwind.c", "sp < low ||", "sp <= low ||"),
    ("lowest", "unwind.c", "sp < low ||", "low == 0 ||"),
    ("lowest", "unwind.c", "if (sp % WORD != 0 ||", "if ("),
    ("highest", "unwind.c", "|| place > top - WORD)", ")"),
    ("highest", "unwind.c", "place > top - WORD)", "place >= top - WORD)"),
    ("highest", "unwind.c", "|| cfa > top)", ")"),
    ("far", "unwind_table.c", "else if (reg < WP_UNWIND_REGISTERS)", "else if (0)"),
]


@EACH_BUILD
def test_a_walk_reads_its_stack_and_nothing_else(build: str, compiled: Compiled) -> None:
    hold(compiled("unwind", build), CASES)


@pytest.mark.parametrize(
    ("case", "file", "old", "new"), TWINS,
    ids=[f"{twin[0]}-{number}" for number, twin in enumerate(TWINS)],
)  # fmt: skip
def test_each_twin_is_seen(case: str, file: str, old: str, new: str, tmp_path: Path) -> None:
    target = compiling.broken(tmp_path, "unwind", "plain", file, old, new)
    assert run(target, case).returncode != 0
