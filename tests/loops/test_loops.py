# SPDX-License-Identifier: Apache-2.0
"""Samples of `make test-loops`: suites of others, with our event loop in the place of theirs."""

from __future__ import annotations

import fnmatch
import textwrap
import tomllib
from pathlib import Path

import pytest
from tests.loops import run

ASYNCIO, OURS = run.LOOPS
SAMPLE = {
    "aiohttp": "tests/test_web_server.py::*",
    "anyio": "tests/test_futures.py::*",
    "uvicorn": "tests/test_lifespan.py::*",
    "uvloop": "tests/test_tcp.py::Test_AIO_TCP::*",
}
THEIRS = """
    import asyncio, os, pytest, subprocess, sys

    def test_a_passes(): pass
    def test_b_fails(): assert 1 == 2
    def test_c_hangs(): asyncio.run(asyncio.sleep(100))
    def test_d_ends_the_process(): os._exit(3)
    def test_e_is_skipped(): pytest.skip("so")
    @pytest.mark.xfail
    def test_f_fails_as_expected(): assert 0
    @pytest.fixture
    def broken(): yield; assert 0
    def test_g_fails_after_it(broken): pass
    def test_h_has_our_loop(): assert "wakeproof" in str(asyncio.SelectorEventLoop.__mro__)
    def test_i_starts_one_that_has():
        say = "import asyncio; print(asyncio.new_event_loop().__class__.__mro__)"
        said = subprocess.run([sys.executable, "-c", say], capture_output=True).stdout
        assert b"wakeproof" in said
"""
pytestmark = pytest.mark.slow
needs_suites = pytest.mark.skipif(
    not (run.FETCHED / "fetched").is_file(), reason="lacks the suites: make build/loops/fetched"
)


def written(folder: Path, tests: str) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_theirs.py").write_text(textwrap.dedent(tests))


@needs_suites
@pytest.mark.parametrize("name", SAMPLE)
def test_what_passes_with_the_loop_of_asyncio_passes_with_ours(name: str) -> None:
    suite = run.SUITES[name]
    names = run.names_of(suite, SAMPLE[name])
    plain = run.judge(suite, ASYNCIO, names).tests
    passed = {test for test, (outcome, _) in plain.items() if outcome == "passed"}
    assert len(passed) > 5
    found = run.judge(suite, OURS, names).tests
    assert {test: found.get(test) for test in passed if found.get(test, "-")[0] != "passed"} == {}


@needs_suites
def test_a_loop_whose_wakeups_write_nothing_hangs() -> None:
    name = "tests/test_executors.py::TestAIOExecutors::test_executors_process_pool_01"
    found = run.judge(run.SUITES["uvloop"], run.MUTE, [name], limit_s=5)
    outcome, why = found.tests[name]
    assert outcome == "failed"
    assert "Timeout" in why


@needs_suites
def test_each_outcome_is_seen_and_the_rest_still_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run.Suite, "folder", tmp_path)
    written(tmp_path, THEIRS)
    suite = run.Suite("theirs")
    names = run.names_of(suite)
    plain, found = (
        run.judge(suite, ASYNCIO, names, limit_s=3),
        run.judge(suite, OURS, names, limit_s=3),
    )
    run.name_what_fails_with_both(plain.tests, found.tests)
    assert {
        name.partition("::test_")[2]: outcome for name, (outcome, _) in found.tests.items()
    } == {
        "a_passes": "passed",
        "b_fails": "both fail",
        "c_hangs": "both fail",
        "d_ends_the_process": "both fail",
        "e_is_skipped": "skipped",
        "f_fails_as_expected": "passed",
        "g_fails_after_it": "both fail",
        "h_has_our_loop": "passed",
        "i_starts_one_that_has": "passed",
    }
    assert {name.partition("::test_")[2] for name, (outcome, _) in plain.tests.items()
            if outcome == "failed"} == {
        "b_fails", "c_hangs", "d_ends_the_process", "g_fails_after_it", "h_has_our_loop",
        "i_starts_one_that_has",
    }  # fmt: skip


def test_what_fails_with_our_loop_alone_is_no_failure_of_both() -> None:
    found = {"a": ("failed", "x"), "b": ("failed", "y")}
    run.name_what_fails_with_both({"a": ("passed", ""), "b": ("failed", "y")}, found)
    assert found == {"a": ("failed", "x"), "b": ("both fail", "y")}


@needs_suites
def test_what_failed_once_and_what_fails_always_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run.Suite, "folder", tmp_path)
    written(tmp_path, "def test_a(): pass\ndef test_b(): 1 / 0\n")
    a, b = "tests/test_theirs.py::test_a", "tests/test_theirs.py::test_b"
    found = run.Outcomes({a: ("failed", "late"), b: ("failed", "")})
    run.run_again(run.Suite("theirs"), found)
    assert found.tests[a] == ("again", "late")
    assert found.tests[b][0] == "failed"
    assert "ZeroDivisionError" in found.tests[b][1]


@needs_suites
def test_each_name_that_is_left_out_is_a_test_and_has_a_reason() -> None:
    tables = tomllib.loads((run.HERE / "skips.toml").read_text(encoding="utf-8"))
    for name, patterns in tables["skips"].items():
        assert set(patterns.values()) <= tables["reasons"].keys()
        names = run.names_of(run.SUITES[name])
        for pattern in patterns:
            assert fnmatch.filter(names, pattern), f"{name}: no test is {pattern}"
