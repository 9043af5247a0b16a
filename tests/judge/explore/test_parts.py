# SPDX-License-Identifier: Apache-2.0
"""A search of graphs in parts that know nothing of each other: together they are the whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Command
from tests.support.litmus import LARGE

from wakeproof.judge.explore import litmus, merging, shards
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import LEARNED, Result
from wakeproof.judge.explore.run import ExploreReport, explore
from wakeproof.judge.own.program import of_files

ADDS = "program adds\n" + "thread\n  r0 = add x 1 seq_cst\n" * 7 + "observe 6:r0\n"  # 7! executions
FEW = "program few\n" + "thread\n  r0 = add x 1 seq_cst\n" * 3 + "observe 2:r0\n"
LONG = "program long\n" + ("thread\n" + "  r0 = add x 1 relaxed\n" * 12) * 4 + "observe x\n"
SHARED = Path(__file__).parents[1] / "scenarios" / "shared.c"
WHOLE = ExploreOptions(engine="graphs", loop_bound=0, timeouts=False)


def explored(explorer: litmus.Explorer, text: str, model: Model, options: ExploreOptions) -> Result:
    found = litmus.explore([text], (model,), options, examples=True, explorer=explorer)
    return found[0][model]


def timeless(result: Result) -> Result:
    return replace(result, seconds=0.0, cpu_seconds=0.0, bytes=0)


def in_parts(
    explorer: litmus.Explorer, text: str, model: Model, number: int
) -> tuple[list[Result], Result]:
    """Return the result of each part, and what they are together."""
    parts = [
        explored(explorer, text, model, one)
        for one in merging.parts(replace(WHOLE, models=(model,)), number)
    ]
    [together] = merging.together(parts, of_parts=True)
    return parts, timeless(together)


@pytest.mark.slow
@pytest.mark.rotates
@pytest.mark.parametrize(("text", "model"), LARGE.values(), ids=LARGE)
def test_parts_find_what_one_search_does_in_the_same_order(
    explorer: litmus.Explorer, text: str, model: Model
) -> None:
    # Everything but time and memory is equal: counts, order of outcomes, and their examples.
    alone = timeless(explored(explorer, text, model, WHOLE))
    assert alone.exhaustive
    for number in (1, 2, 5):
        parts, together = in_parts(explorer, text, model, number)
        assert together == alone
        assert all(one.executions + one.blocked > 0 for one in parts)
        assert all(one.executions < alone.executions for one in parts if number > 1)


def test_a_part_that_is_left_out_is_missed(explorer: litmus.Explorer) -> None:
    """The twin: 7 threads that add have 5,040 executions, and none of the parts has no share."""
    parts, together = in_parts(explorer, ADDS, Model.RC11, 4)
    assert (together.executions, together.exhaustive) == (5040, True)
    for left_out in parts:
        [others] = merging.together([one for one in parts if one is not left_out], of_parts=True)
        assert others.executions < 5040


def test_a_search_of_which_little_counts_is_cut_as_well(explorer: litmus.Explorer) -> None:
    rare = ADDS.replace("observe", "  assume r0 == 6\nobserve")
    parts, together = in_parts(explorer, rare, Model.RC11, 4)
    assert (together.executions, together.blocked) == (720, 4320)
    assert all(one.blocked for one in parts)


def test_a_small_search_is_of_its_first_part(explorer: litmus.Explorer) -> None:
    parts, together = in_parts(explorer, FEW, Model.RC11, 3)
    assert [one.executions for one in parts] == [6, 0, 0]
    assert together == timeless(explored(explorer, FEW, Model.RC11, WHOLE))


def test_parts_that_time_has_stopped_are_not_exhaustive(explorer: litmus.Explorer) -> None:
    late = replace(WHOLE, models=(Model.RC11,), seconds=0.3)
    parts = [explored(explorer, LONG, Model.RC11, one) for one in merging.parts(late, 2)]
    [together] = merging.together(parts, of_parts=True)
    assert (together.stopped, together.exhaustive) == ("max_seconds", False)
    assert together.executions == sum(one.executions for one in parts)


def test_one_part_in_part_makes_the_whole_not_exhaustive(explorer: litmus.Explorer) -> None:
    parts, _ = in_parts(explorer, FEW, Model.RC11, 3)
    parts[1] = replace(parts[1], exhaustive=False, stopped="max_seconds")
    [together] = merging.together(parts, of_parts=True)
    assert (together.stopped, together.exhaustive) == ("max_seconds", False)


@pytest.mark.parametrize("limit_at", [1, 2])
def test_a_limit_of_one_part_is_not_hidden_by_a_bound_of_another(
    explorer: litmus.Explorer, limit_at: int
) -> None:
    parts, _ = in_parts(explorer, FEW, Model.RC11, 3)
    parts = [replace(one, exhaustive=False, stopped="loop_bound") for one in parts]
    parts[limit_at] = replace(parts[limit_at], stopped="max_seconds")
    [together] = merging.together(parts, of_parts=True)
    assert (together.stopped, together.exhaustive) == ("max_seconds", False)


def plain(report: ExploreReport) -> list[Result]:
    return [timeless(j.result) for one in report.every for j in one.judged]


@pytest.mark.slow
@pytest.mark.rotates
def test_a_part_that_changes_its_program_is_explored_whole() -> None:
    # A plain word that all parts take for constant is written in 16 of 226,800 orders. The part
    # that meets them would number what follows otherwise, so it counts as nothing.
    options = ExploreOptions(models=(Model.RC11,), seconds=0)
    parts = [shards.judge(False, SHARED, "shared", one, False) for one in merging.parts(options, 3)]
    stopped = {j.result.stopped for report in parts for one in report.every for j in one.judged}
    assert stopped == {"", LEARNED}
    found = shards.run([SHARED], [], None, options, None, parts=3)
    assert plain(found) == plain(explore([SHARED], None, options))


@pytest.mark.slow
@pytest.mark.rotates
def test_a_program_with_threads_of_its_own_is_explored_in_parts(
    wakeproof: Command, tmp_path: Path
) -> None:
    file = tmp_path / "adds.c"
    file.write_text(PROGRAM)
    options = ExploreOptions(models=(Model.SC, Model.RC11))
    programs = of_files([file], [], [])
    whole = shards.run([], programs, None, options, None)
    found = shards.run([], programs, None, options, None, parts=4)
    assert [one.status for one in found.every] == ["violated"]
    assert plain(found) == plain(whole)
    [example, _] = found.counterexamples
    assert "parts" in example.token.options
    assert wakeproof("replay", example.token.text).returncode == 0


PROGRAM = """
#include <assert.h>
#include <stdatomic.h>
#include <threads.h>

static atomic_int count;

static int add(void *unused)
{
	(void)unused;
	for (int i = 0; i < 3; i++)
		atomic_fetch_add(&count, 1);
	return 0;
}

int main(void)
{
	thrd_t threads[3];

	for (int i = 0; i < 3; i++)
		thrd_create(&threads[i], add, 0);
	assert(atomic_load(&count) != 5);
	for (int i = 0; i < 3; i++)
		thrd_join(threads[i], 0);
	return 0;
}
"""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--parts", "0"), "--parts is 0; allowed: 1 to 4,096"),
        (("--parts", "5000"), "parts is 5,000; allowed: 0 to 4,096"),
        (("--parts", "2", "--engine", "both"), "no --engine but graphs"),
        (("--parts", "2", "--model", "sc"), "--parts is of RC11 and of --engine graphs"),
        (("--parts", "2", "--sample", "random"), "parts are of a whole search"),
        (("--parts", "2", "--jobs", "2"), "--seeds and --parts take --dask local:N instead of"),
        (("--parts", "2", "--order", "guard.2=relaxed"), "--order is for one process"),
    ],
)
def test_what_has_no_parts_is_refused(
    words: tuple[str, ...], says: str, wakeproof: Command
) -> None:
    ended = wakeproof("explore", "-t", "^guard$", *words)
    assert (ended.returncode, says in ended.stderr) == (2, True), ended.stderr
