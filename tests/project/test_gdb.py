# SPDX-License-Identifier: Apache-2.0
"""tools/gdb.py lists virtual threads, and shows the place of one that no carrier runs."""

from __future__ import annotations

import re
import shutil

import pytest
from tests.support.cases import IN_CHECKOUT, Compiled
from tests.support.running import run

from wakeproof import locations

pytestmark = [
    pytest.mark.slow,
    IN_CHECKOUT,
    pytest.mark.skipif(shutil.which("gdb") is None, reason="not run: install gdb"),
]


def gdb(command: list[str], *asked: str) -> str:
    """Stop it before the last thread is joined, and ask."""
    gdb = locations.sources() / "tools" / "gdb.py"
    script = ["set confirm off", "set debuginfod enabled off", "break await_link", "run",
              f"source {gdb}", *asked, "bt 1", "kill"]  # fmt: skip
    flags = [flag for line in script for flag in ("-ex", line)]
    ended = run(["gdb", "-q", "-nx", "-batch", *flags, "--args", *command, "parked"])
    return ended.stdout + ended.stderr


def test_threads_are_listed_and_a_parked_one_is_shown_where_it_is(
    compiled: Compiled,
) -> None:
    command = compiled("vthreads_shown", "plain", "-O1")
    told = gdb(command, "vthreads", "vthread 1", "vthread 99")
    listed = re.findall(r"^ +(\d+) (\S+) +(\w+), home carrier-0, park \d+$", told, re.MULTILINE)
    links = [("0", "link-0", "parked"), ("1", "link-1", "parked"), ("2", "link-2", "parked")]
    assert listed[:3] == links, told
    [(pinned, *rest)] = listed[3:]  # and neither the ended one nor the one that was not started
    assert rest == ["one", "pinned"]
    frames = re.findall(r"^#\d+ +(?:0x\w+ in )?(\w+) \(", told, re.MULTILINE)
    below = ["parks_deep", "links", "begin", "wp__fiber_begin"]
    outer = frames[frames.index("wp_vthread_park_until") + 1 :]  # it may have inlined calls
    assert outer == [*below, "await_link"], told  # the last: the registers are back
    assert "vthread 99: no such thread; `vthreads` lists them" in told
    assert f"vthread {pinned}: not parked" in gdb(command, f"vthread {pinned}")
