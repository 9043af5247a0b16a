# SPDX-License-Identifier: Apache-2.0
"""Runs on real cores that ``stress/recorder`` has recorded are complete, and ordered on request."""

from __future__ import annotations

import math
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.running import run

from wakeproof.errors import JudgeError
from wakeproof.judge import scenarios
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.traces import events as trace_events
from wakeproof.judge.traces.events import Event


def scenario(name: str) -> Path:
    return scenarios.of_concept("conform", name)


def record(program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run([str(program), *options])


def test_what_the_recorder_printed_is_read_and_a_cut_is_noticed() -> None:
    lines = ["r 1", "e 0 1 2 a.c 7 - @8 5 @16 0", "e 0 3 0 futex.c 9 futex_wait - 0 0 1",
             "x 0 stopped", "end 1"]  # fmt: skip
    (one,) = trace_events.read(lines, {("a.c", 7): "parker.1"})
    assert one.threads[0][0] == Event(
        0, 1, 2, "parker.1", 8, 5, trace_events.BASE + 16, happened=False
    )
    assert one.threads[0][1].end == math.inf
    assert one.returned == [False]
    with pytest.raises(JudgeError, match="not complete"):
        trace_events.read(lines[:-1], {})


def test_stamps_order_each_threads_events_and_are_used_once(builder: Builder) -> None:
    program = builder.program(scenario("biased_lock"), Build(kind="recorded"))
    ran = record(program, "--test", "conform_biased_lock", "--rounds", "50")
    for one in trace_events.read(ran.stdout.splitlines(), {}):
        stamps = [s for thread in one.threads for e in thread for s in (e.begin, e.end)]
        assert sorted(stamps) == list(range(1, len(stamps) + 1))
        for thread in one.threads:
            assert all(a.end < b.begin for a, b in pairwise(thread))


def test_a_ring_that_is_too_small_is_an_error_and_a_bad_option_is_named(builder: Builder) -> None:
    program = builder.program(scenario("biased_lock"), Build(kind="recorded"))
    small = record(program, "--test", "conform_biased_lock", "--ring", "2", "--rounds", "20")
    assert small.returncode == 1
    assert "holds 2 events, it had" in small.stderr
    for options in (["--ring", "3"], ["--rounds", "x"], ["--test", "none"], ["--what", "1"]):
        wrong = record(program, "--test", "conform_biased_lock", *options)
        assert wrong.returncode == 2, options


def test_builds_that_measure_record_nothing(builder: Builder) -> None:
    names = [
        subprocess.run(["nm", str(builder.program(scenario("biased_lock"), Build(kind=kind)))],
                       capture_output=True, text=True, check=True).stdout
        for kind in ("recorded", "stress")
    ]  # fmt: skip
    assert "wp_events_mine" in names[0]
    assert "wp_events" not in names[1]


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_the_recorder_is_clean_under_sanitizers(builder: Builder, sanitizer: str) -> None:
    build = Build(kind="recorded", sanitizer=sanitizer)
    ran = record(builder.program(scenario("parker"), build), "--test", "conform_parker",
                 "--rounds", "20")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert not ran.stderr
