# SPDX-License-Identifier: Apache-2.0
"""Samples of `make test-stdlib`: CPython's own tests in virtual threads, and with our loop."""

from __future__ import annotations

import fnmatch
import importlib.util
import tomllib
from pathlib import Path

import pytest
from tests.stdlib import run
from tests.support import suites

MAIN, _, VIRTUAL, ALL_VIRTUAL = run.KINDS
SAMPLE = {
    "test_asyncio.test_unix_events": ("*", run.LOOPS[1:]),
    "test_queue": ("C*", (VIRTUAL, ALL_VIRTUAL)),  # those named Py* differ in `SimpleQueue` only
    "test_select": ("*", (VIRTUAL,)),  # starts no threads
    "test_thread": ("*", (VIRTUAL,)),  # starts OS threads, also where `threading` does not
    "test_threading_local": ("*", (VIRTUAL, ALL_VIRTUAL)),
}
HAS_TESTS = importlib.util.find_spec("test.test_queue") is not None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not HAS_TESTS, reason="lacks the package test: apt install libpython3-testsuite"
    ),
]
OURS = """
import ctypes, os, threading, time, unittest

class Tests(unittest.TestCase):
    def test_a_passes(self): pass
    def test_b_fails(self): self.assertEqual(1, 2)
    def test_c_hangs(self): threading.Event().wait()
    def test_d_ends_the_process(self): os.kill(os.getpid(), 11)
    def test_e_is_skipped(self): self.skipTest("so")
    def test_f_fails_in_a_part(self):
        with self.subTest(): self.fail("part")
    def test_g_blocks(self): ctypes.CDLL(None).usleep(1000000)
    def test_h_waits(self): time.sleep(1)
    def test_i_computes(self):
        end = time.thread_time() + 1
        while time.thread_time() < end: pass
"""


@pytest.mark.parametrize("module", SAMPLE)
def test_what_passes_in_the_main_thread_passes_in_a_virtual_one(module: str) -> None:
    pattern, kinds = SAMPLE[module]
    names = fnmatch.filter(run.names_of(module), pattern)
    plain = run.judge(module, MAIN, only=names)
    passed = {name for name, (outcome, _) in plain.tests.items() if outcome == "passed"}
    assert len(passed) > 5
    for kind in kinds:
        found = run.judge(module, kind, only=names)
        others = {name: found.tests.get(name, ("missing", "")) for name in passed}
        assert {
            name: came for name, came in others.items() if came[0] not in ("passed", "left out")
        } == {}, kind.name
        assert found.count("left out") < len(passed) / 2


def test_without_install_carriers_stand_still() -> None:
    found = run.judge("test_queue", run.DEFECT, only=["PyQueueTest.test_basic"])
    assert found.tests["PyQueueTest.test_basic"][0] == "blocked"


def test_a_loop_whose_wakeups_write_nothing_hangs() -> None:
    name = "EPollEventLoopTests.test_run_in_executor_cancel"  # the loop sleeps before a thread ends
    found = run.judge("test_asyncio.test_events", run.MUTE, only=[name], limit_s=-2)
    outcome, why = found.tests[name]
    assert (outcome, why.splitlines()[-1]) == ("failed", "hung")


def test_each_outcome_is_seen_and_the_rest_still_runs(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "__init__.py").touch()
    (tmp_path / "ours" / "suite.py").write_text(OURS)
    found = run.judge(
        "ours.suite", VIRTUAL, limit_s=5, environment={"PYTHONPATH": str(tmp_path)}
    ).tests
    assert {name.partition(".test_")[2]: outcome for name, (outcome, _) in found.items()} == {
        "a_passes": "passed",
        "b_fails": "failed",
        "c_hangs": "failed",
        "d_ends_the_process": "failed",
        "e_is_skipped": "skipped",
        "f_fails_in_a_part": "failed",
        "g_blocks": "blocked",
        "h_waits": "passed",
        "i_computes": "passed",
    }
    assert found["Tests.test_c_hangs"][1].endswith("hung")
    assert found["Tests.test_d_ends_the_process"][1].endswith("ended with -11")


def test_a_test_that_only_we_skip_or_do_not_run_has_failed() -> None:
    plain = {"a": ("passed", ""), "b": ("passed", ""), "c": ("skipped", "no"), "d": ("passed", "")}
    found = {"a": ("skipped", "so"), "c": ("skipped", "no"), "d": ("left out", "why")}
    suites.fail_what_is_missing(plain, found)
    assert {name: outcome for name, (outcome, _) in found.items()} == {
        "a": "failed", "b": "failed", "c": "skipped", "d": "left out",
    }  # fmt: skip
    assert found["a"][1].endswith("skipped: so")


def test_each_name_that_is_left_out_is_a_test_and_has_a_reason() -> None:
    tables = tomllib.loads((run.HERE / "skips.toml").read_text(encoding="utf-8"))
    for which in ("skips", "threads"):
        for module, patterns in tables.get(which, {}).items():
            assert set(patterns.values()) <= tables["reasons"].keys()
            names = run.names_of(module)
            for pattern in patterns:
                assert fnmatch.filter(names, pattern), f"{module}: no test is {pattern}"
