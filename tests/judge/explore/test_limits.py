# SPDX-License-Identifier: Apache-2.0
"""Bounds and limits: each is kept, named, and never passed over in silence.

Preemptions, PCT, memory, and the largest execution that the graph engine holds.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.litmus import LITMUS

from wakeproof.errors import UsageError
from wakeproof.judge.builds import Builder
from wakeproof.judge.explore import litmus
from wakeproof.judge.explore.options import ExploreOptions, Model, preemptions_of
from wakeproof.judge.explore.results import Event, Result
from wakeproof.judge.process import Children

pytestmark = pytest.mark.slow

STATES = ExploreOptions(engine="states", models=(Model.SC,), loop_bound=0, timeouts=False)
GRAPHS = replace(STATES, engine="graphs")
LOST = """program lost
thread
  r0 = load x relaxed
  r0 = r0 + 1
  store x r0 relaxed
thread
  r0 = load x relaxed
  r0 = r0 + 1
  store x r0 relaxed
observe x
"""
"""x = 1 takes one preemption: between load and store."""


def only(explorer: litmus.Explorer, text: str, options: ExploreOptions) -> Result:
    [model] = options.models
    return litmus.explore([text], (model,), options, examples=True, explorer=explorer)[0][model]


def preemptions(events: Sequence[Event]) -> int:
    """Count switches away from a thread that has steps left; no thread blocks in these programs."""
    return sum(
        a.thread != b.thread and any(e.thread == a.thread for e in events[at + 1 :])
        for at, (a, b) in enumerate(itertools.pairwise(events))
    )


# Preemptions.


def test_a_growing_bound_ends_when_it_forbids_nothing(explorer: litmus.Explorer) -> None:
    whole = only(explorer, LOST, STATES)
    grown = only(explorer, LOST, replace(STATES, grows=True))
    assert (grown.exhaustive, grown.texts) == (True, whole.texts)
    below = only(explorer, LOST, replace(STATES, preemptions=grown.preemptions - 1))
    assert (below.exhaustive, below.stopped) == (False, "preemptions")


def test_each_outcome_keeps_the_example_with_the_fewest_preemptions(
    explorer: litmus.Explorer,
) -> None:
    grown = only(explorer, LOST, replace(STATES, grows=True))
    found = {outcome.text: preemptions(outcome.example) for outcome in grown.outcomes}
    assert found == {"2": 0, "1": 1}
    for bound, texts in ((0, {"2"}), (1, {"1", "2"})):
        assert only(explorer, LOST, replace(STATES, preemptions=bound)).texts == texts


def test_a_growing_bound_without_time_says_how_far_it_came(explorer: litmus.Explorer) -> None:
    text = LITMUS["F4_n4"]
    whole = only(explorer, text, replace(STATES, models=(Model.TSO,)))
    options = replace(STATES, models=(Model.TSO,), grows=True, max_executions=whole.states)
    # With the last thread in the state, there are more states than that.
    grown = only(explorer, text, options)
    assert (grown.exhaustive, grown.stopped) == (False, "preemptions")
    assert grown.preemptions >= 0
    assert grown.coverage == f"bounded: preemptions, at most {grown.preemptions}"
    alone = only(explorer, text, replace(options, grows=False, preemptions=grown.preemptions))
    assert alone.states == grown.states


def test_the_bound_is_a_number_or_grow() -> None:
    assert (preemptions_of("2"), preemptions_of("grow")) == ((2, False), (None, True))
    with pytest.raises(UsageError, match="allowed: a number, or grow"):
        preemptions_of("often")
    with pytest.raises(UsageError, match="a bound on preemptions needs engine states"):
        ExploreOptions(grows=True).checked()


# PCT.


def test_pct_finds_a_bug_of_depth_two_as_often_as_its_bound_says(explorer: litmus.Explorer) -> None:
    many = 4000
    found = only(explorer, LOST, replace(STATES, sample=many, pct_depth=2))
    assert found.pct_bound == pytest.approx(1 / (2 * found.depth), rel=1e-2)  # n = 2, k = depth
    count = next(outcome.count for outcome in found.outcomes if outcome.text == "1")
    assert count / many >= found.pct_bound
    assert f"{found.pct_samples:,} of them find it with p >= 1/{2 * found.depth}" in found.coverage
    assert 0 < found.pct_samples < many  # the first walk did not know the length of walks


def test_pct_states_no_bound_before_the_longest_walk_is_known(explorer: litmus.Explorer) -> None:
    found = only(explorer, LOST, replace(STATES, sample=1, pct_depth=2))
    assert (found.pct_bound, found.pct_samples, found.coverage) == (0, 0, "sampled")
    # All walks have the same length.
    again = only(explorer, LOST, replace(STATES, sample=2, pct_depth=2))
    assert (again.pct_samples, again.depth) == (1, found.depth)


def test_a_pct_depth_that_no_walk_has_is_refused() -> None:
    with pytest.raises(UsageError, match="pct depth is 18; allowed: 0 to 17"):
        replace(STATES, sample=1, pct_depth=18).checked()
    with Children() as children:
        program = str(Builder(children).explorer())
        for depth, said in (("17", "give one of --list"), ("18", "--pct 18: want a number from 0")):
            ended = children.run([program, "--pct", depth], timeout_s=60)
            assert (ended.code, said in ended.output) == (2, True)


def test_pct_of_depth_one_does_not_find_it_and_claims_no_more(explorer: litmus.Explorer) -> None:
    found = only(explorer, LOST, replace(STATES, sample=4000, pct_depth=1))
    assert found.texts == {"2"}
    assert found.pct_bound == pytest.approx(1 / 2, rel=1e-2)


# Memory.


@pytest.mark.parametrize("engine", ["states", "graphs"])
def test_the_memory_limit_ends_the_search_and_says_so(
    explorer: litmus.Explorer, engine: str
) -> None:
    text = LITMUS["F4_n4"]
    found = only(explorer, text, replace(STATES, engine=engine, max_bytes=100_000))
    assert (found.exhaustive, found.stopped, found.error) == (False, "max_bytes", "")
    assert found.coverage.startswith("not exhaustive: memory limit")


def peak_kb(program: Path, tmp_path: Path, threads: int) -> tuple[int, int]:
    """Return the executions of so many threads that add, and the peak of memory.

    The system's account of an ended child includes our own memory, from before the child executed
    another program. So the explorer is measured while it waits, with its result, for room in a full
    pipe.
    """
    file = tmp_path / "adds.txt"
    file.write_text("program adds\n" + "thread\n  r0 = add x 1 seq_cst\n" * threads)
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writing, b"\n" * 4096)
    command = [program, "--program", file, "--engine", "graphs", "--model", "rc11"]
    with (
        os.fdopen(reading) as pipe,
        subprocess.Popen(command, stdout=writing, stderr=subprocess.DEVNULL) as job,
    ):
        os.close(writing)
        status = Path(f"/proc/{job.pid}/status")
        while "State:\tS" not in status.read_text("utf-8"):
            time.sleep(0.01)
        [peak] = [n.split()[1] for n in status.read_text("utf-8").splitlines() if "VmHWM" in n]
        found = json.loads(pipe.read())
    return found["executions"], int(peak)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_executions(program: Path, tmp_path: Path) -> None:
    """A run of some seconds needs 1 MB more than a short one, for what it does only then."""
    few, small = peak_kb(program, tmp_path, 5)
    many, large = peak_kb(program, tmp_path, 9)
    assert (few, many) == (120, 362880)
    assert large - small < 2048  # KB: a leak of 6 bytes per execution would show


# Size.


def adds(count: int) -> str:
    """Return threads with one execution of 6 * `count` events."""
    return "".join("thread\n" + f"  add {place} 1 relaxed\n" * count for place in "xyz")


def test_an_execution_larger_than_a_graph_is_an_error_and_not_cut(
    explorer: litmus.Explorer,
) -> None:
    fits = only(explorer, "program wide\n" + adds(333), GRAPHS)
    assert (fits.executions, fits.exhaustive, fits.error) == (1, True, "")
    found = only(explorer, "program wide\n" + adds(334), GRAPHS)
    assert "an execution has more than 2000 events" in found.error
    assert (found.exhaustive, found.executions, found.coverage) == (False, 0, "error")


def test_a_sample_larger_than_a_graph_is_counted_apart_and_shows_no_outcome(
    explorer: litmus.Explorer,
) -> None:
    found = only(explorer, "program wide\n" + adds(334), replace(GRAPHS, sample=3))
    assert (found.bounded, found.executions, found.outcomes) == (3, 0, ())
