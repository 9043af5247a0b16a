# SPDX-License-Identifier: Apache-2.0
"""The parts of a group, clusters and rings of events: programs/sched/made.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold
from tests.support.running import run

pytestmark = COMPILES
CASES = ("clusters", "rings", "switched", "counted", "marked", "largest")
LAST = "\t\tends[clusters++] = end;\n\twp_placement_clusters"
TWINS = [  # case, build, file, the old text, and the new text
    ("clusters", "plain", "group_placement.c", LAST, "\t\tend = 0;\n\twp_placement_clusters"),
    ("rings", "plain", "trace.c", "&traces->rings[ring], as", "&traces->rings[0], as"),
    ("rings", "plain", "trace.c", "copied < room", "copied <= room"),
    ("rings", "plain", "trace.c", "add(traces, 0, &one);\n\t}", "return -1;\n\t}"),
    ("switched", "thread", "trace.c", "\twp_lock_acquire(&group->tracing.lock);\n\tcode = "
     "switch_on(group, events);", "\tcode = switch_on(group, events);\n"
     "\twp_lock_acquire(&group->tracing.lock);"),
    ("counted", "plain", "worker.c", "woke = woke && !did;", "woke = !did;"),
    ("marked", "plain", "group_placement.c", "return WP_ALREADY;", "return WP_OK;"),
    ("largest", "plain", "trace.c", "events > WP_TRACE_MOST", "events >= WP_TRACE_MOST"),
    ("largest", "plain", "trace.c", " || events > WP_TRACE_MOST", ""),
]  # fmt: skip


@EACH_BUILD
def test_a_group_is_made_as_its_configuration_says(build: str, compiled: Compiled) -> None:
    hold(compiled("made", build), CASES)


@pytest.mark.parametrize(
    ("case", "build", "file", "old", "new"),
    TWINS,
    ids=[f"{twin[0]}-{number}" for number, twin in enumerate(TWINS)],
)
def test_each_twin_is_seen(
    case: str, build: str, file: str, old: str, new: str, tmp_path: Path
) -> None:
    target = compiling.broken(tmp_path, "made", build, file, old, new, "-DPATIENCE_S=2")
    assert run(target, case).returncode != 0
