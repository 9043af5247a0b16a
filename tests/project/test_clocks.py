# SPDX-License-Identifier: Apache-2.0
"""A jump of the wall clock moves no deadline: it gives ages of files and a dump's date alone.

programs/across/jump.c, which is preloaded, lets the clock jump by hours each time it is read.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import refusing_judges
from tests.support.refusing_judges import Job
from tests.support.running import run

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


ANY_ORDER = "verify_asan_link_order=0"  # what is preloaded may come before AddressSanitizer


@pytest.fixture(scope="module")
def jumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return refusing_judges.library(tmp_path_factory.mktemp("jump"), "jump")


@pytest.mark.slow
def test_the_clock_of_these_tests_jumps(jumps: Path) -> None:
    code = "import time; print(abs(time.time() - time.time()) > 9 * 3600)"
    assert run([sys.executable, "-c", code], LD_PRELOAD=str(jumps)).stdout == "True\n"


@pytest.mark.slow
@pytest.mark.rotates
@pytest.mark.parametrize("tests", ["tests/python", "tests/sync", "tests/io"])
def test_timers_and_deadlines_are_right_while_the_clock_jumps(jumps: Path, tests: str) -> None:
    # CPython's own lock of processes takes the wall clock for its timeout; the test compares ours.
    timed = "(timeout or deadline or sleep or timer or late) and not test_the_call_parks"
    ended = run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", timed],
        "-m", "not alone", tests, cwd=ROOT, LD_PRELOAD=str(jumps), ASAN_OPTIONS=ANY_ORDER,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-3000:]


@pytest.mark.slow
@pytest.mark.rotates
@pytest.mark.parametrize("name", refusing_judges.JOBS)
def test_a_judge_is_right_while_the_clock_jumps(jumps: Path, name: str) -> None:
    ended = refusing_judges.command(jumps, refusing_judges.JOBS[name])
    # dask connects until a time of the wall clock, so it may say that its processes do not start.
    assert ended.how == "whole" or (name == "dask" and ended.how == "said"), ended.output


@pytest.mark.slow
def test_watch_is_right_while_the_clock_jumps(jumps: Path, tmp_path: Path) -> None:
    source = tmp_path / "sleeper.c"
    source.write_text(
        "#include <pthread.h>\nint main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        "pthread_mutex_lock(&m); return pthread_mutex_lock(&m); }\n"
    )
    subprocess.run(["cc", "-pthread", source, "-o", tmp_path / "sleeper"], check=True)
    preloaded = {**os.environ, "LD_PRELOAD": str(jumps)}
    with subprocess.Popen([tmp_path / "sleeper"], env=preloaded) as target:
        watches = Job(("watch", str(target.pid)), 1, "1 deadlock", ())
        ended = refusing_judges.command(jumps, watches)
        target.kill()
    assert ended.how == "whole", ended.output
