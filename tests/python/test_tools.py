# SPDX-License-Identifier: Apache-2.0
"""What tools for Python see of virtual threads, as ``docs/guide/detecting.md`` says it.

Serves ``_runtime/known.py``.
"""

from __future__ import annotations

import json
import os
import pstats
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.running import run

from wakeproof._runtime.brief import HAS_GIL

OTHER = """\
import wakeproof


def deep(n):
    if n > 0:
        wakeproof.sleep(0.001)
        return deep(n - 1) + 1
    wakeproof.yield_now()
    return 0


def unused(n):
    return n


def late(n):
    wakeproof.yield_now()
    a = n
    wakeproof.sleep(0.001)
    return a
"""
APP = """\
import other
import wakeproof
from wakeproof import CarrierGroup, VirtualThread, coroutine


def one(n):
    a = other.late(other.deep(n))
    if a > 1000:
        return 0
    for i in range(3):
        wakeproof.yield_now()
        a += i
    return a


async def two(n):
    a = n
    await coroutine.sleep(0.001)
    return a


def unused():
    return 1


with CarrierGroup(1) as group:
    threads = [VirtualThread(fn, n, group=group).start() for n in range(10) for fn in (one, two)]
    print(sum(thread.result() for thread in threads))
    print(group.submit(other.late, 5).result())
"""
# lines that no thread runs, and jumps that none takes
MISSED = {"app.py": ([9, 23], [[8, 9]]), "other.py": ([13], [])}
GREENLET = "[run]\nbranch = true\nconcurrency = greenlet, thread\n"
THREAD = "[run]\nbranch = true\nconcurrency = thread\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, "utf-8")
    (tmp_path / "other.py").write_text(OTHER, "utf-8")
    return tmp_path


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    ended = run([sys.executable, *arguments], cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return ended


def missed(folder: Path, settings: str) -> dict[str, tuple[list[int], list[list[int]]]]:
    """Return the lines and jumps that coverage has not seen."""
    (folder / ".coveragerc").write_text(settings, "utf-8")
    python(folder, "-m", "coverage", "run", "app.py")
    python(folder, "-m", "coverage", "json", "-q", "--include=app.py,other.py")
    files = json.loads((folder / "coverage.json").read_text("utf-8"))["files"]
    return {name: (each["missing_lines"], each["missing_branches"]) for name, each in files.items()}


@pytest.mark.slow
@pytest.mark.skipif(not HAS_GIL, reason="coverage without its C knows no greenlets")
def test_coverage_sees_each_line_and_branch_of_virtual_threads(folder: Path) -> None:
    assert missed(folder, GREENLET) == MISSED


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="coverage asks sys.monitoring there")
def test_coverage_without_greenlet_mixes_up_branches(folder: Path) -> None:
    """The twin of the test before: it fails with this setting, as the page says."""
    assert missed(folder, THREAD) != MISSED


HOT = """\
import cProfile, sys, threading, wakeproof
from wakeproof import CarrierGroup, VirtualThread

def spin(n):
    total = 0
    for i in range(n):
        total += i
    return total

def hot():
    first = spin(300_000)
    wakeproof.sleep(0.001)
    return first + spin(300_000)

def profiled():
    while sys._current_frames()[main].f_code is not waits.__code__:
        wakeproof.yield_now()  # a profile of 3.12 and later counts other threads' returns as well
    profile = cProfile.Profile()
    try:
        return profile.runcall(hot)
    finally:
        profile.dump_stats(sys.argv[1])

def runs():
    try:
        globals()[sys.argv[2]]()
    finally:
        gate.release()

def waits():
    gate.acquire()

main, gate = threading.get_ident(), threading.Lock()
gate.acquire()
with CarrierGroup(1) as group:
    VirtualThread(runs, group=group).start()
    waits()
"""


def calls(path: Path) -> dict[str, int]:
    stats = pstats.Stats(os.fspath(path)).stats  # type: ignore[attr-defined]
    return {name: count for (_, _, name), (count, *_) in stats.items()}


@pytest.mark.slow
def test_a_profile_inside_of_a_virtual_thread_has_its_functions(tmp_path: Path) -> None:
    (tmp_path / "hot.py").write_text(HOT, "utf-8")
    python(tmp_path, "hot.py", "inside", "profiled")
    assert calls(tmp_path / "inside")["spin"] == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cProfile sees all OS threads there")
def test_a_profile_of_the_program_sees_only_its_main_thread(tmp_path: Path) -> None:
    """The twin of the test before: a profile of another OS thread has nothing of it."""
    (tmp_path / "hot.py").write_text(HOT, "utf-8")
    python(tmp_path, "-m", "cProfile", "-o", "outside", "hot.py", "unused", "hot")
    assert "spin" not in calls(tmp_path / "outside")


HOOKS = """\
import sys, threading
from wakeproof import CarrierGroup, VirtualThread, yield_now

def here():
    yield_now()

def there():
    yield_now()

seen = set()
def note(frame, event, _):
    if frame.f_code in (here.__code__, there.__code__):
        seen.add((event, frame.f_code.co_name))
    return note

if sys.argv[1] == "settrace":
    threading.settrace(note)
elif sys.argv[1] == "setprofile":
    threading.setprofile(note)
with CarrierGroup(2) as group:
    VirtualThread(here, group=group[0]).start().result()
    VirtualThread(there, group=group[1]).start().result()
print(sorted({name for event, name in seen if event == "call"}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("hook", ["settrace", "setprofile", "none"])
def test_carriers_begin_the_hooks_of_threading(tmp_path: Path, hook: str) -> None:
    expected = [] if hook == "none" else ["here", "there"]
    assert python(tmp_path, "-c", HOOKS, hook).stdout == f"{expected}\n"


BREAKS = """\
import wakeproof
from wakeproof import CarrierGroup, VirtualThread

def handler(n):
    found = n + 1
    breakpoint()
    wakeproof.sleep(0.01)
    return found

with CarrierGroup(1) as group:
    print(VirtualThread(handler, 41, group=group).start().result())
"""


@pytest.mark.slow
def test_a_breakpoint_in_a_virtual_thread_stops_there_and_steps_over_a_park(tmp_path: Path) -> None:
    (tmp_path / "breaks.py").write_text(BREAKS, "utf-8")
    ended = run(
        [sys.executable, "breaks.py"], cwd=tmp_path, text="p found * 100\nnext\nnext\ncontinue\n"
    )
    assert ended.returncode == 0, ended.stderr
    assert "4200" in ended.stdout
    assert "-> return found" in ended.stdout
    assert ended.stdout.endswith("42\n")
