# SPDX-License-Identifier: Apache-2.0
"""A jump of the wall clock moves no deadline: it gives ages of files and a dump's date alone."""

from __future__ import annotations

import re

import pytest

from wakeproof import locations

ROOT = locations.sources()
WALL = r"CLOCK_REALTIME|gettimeofday|\btime\(NULL|FUTEX_CLOCK_REALTIME|time\.time(?:_ns)?\("

pytestmark = pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout")


def test_no_deadline_is_of_the_wall_clock() -> None:
    files = [*(ROOT / "kernel").rglob("*.[ch]"), *(ROOT / "python" / "wakeproof").rglob("*.[chp]*")]
    found = {
        (str(file.relative_to(ROOT)), line.strip())
        for file in files
        if file.suffix in (".c", ".h", ".py") and file.name != "kernel.c"
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(WALL, line)
    }
    assert found == {
        ("kernel/inspect/dump_write.c", "time_t now = time(NULL);"),
        ("python/wakeproof/judge/builds.py", "oldest = time.time() - KEPT_S"),
        ("python/wakeproof/judge/store.py", "oldest = time.time() - KEPT_S"),
        (
            "python/wakeproof/judge/tlc/models.py",
            "if old.stat().st_mtime < time.time() - KEPT_S:  # no judge that runs reads from it",
        ),
    }
