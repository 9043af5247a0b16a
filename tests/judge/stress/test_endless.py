# SPDX-License-Identifier: Apache-2.0
"""An actor that never ends is found and reported, and the run ends near the requested time."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeproof.judge.explore.options import MODELS
from wakeproof.judge.explore.run import explore
from wakeproof.judge.stress import run as native
from wakeproof.judge.stress.engine import Measured, Seen, is_overdrawn, is_spent
from wakeproof.judge.stress.grading import SPENT, VIOLATED, Run, ScenarioReport
from wakeproof.judge.stress.options import StressOptions
from wakeproof.judge.stress.run import stress

CODE = """#include "base/futex.h"
#include "litmus.h"
#include "stress.h"
struct state { wp_atomic(uint32_t) word; };
static void sleeps(void *at, stress_result *result)
{
    struct state *state = at;
    (void)result;
    while (!litmus_load(&state->word, acquire))
        wp_futex_wait(&state->word, 0, WP_FOREVER);
}
static void forgets(void *at, stress_result *result)
{
    (void)result;
    litmus_store(&((struct state *)at)->word, 1, release);
}
static void loops(void *at, stress_result *result)
{
    (void)at; (void)result;
    for (;;)
        wp_pause();
}
STRESS_TEST(forgotten, .claim = "None.", .upholds = "None!None",
    .state_size = sizeof(struct state), .actors = {sleeps, forgets}, .results = 1,
    .outcomes = {{"0", ACCEPTABLE, "it ended"}});
STRESS_TEST(endless, .claim = "None.", .upholds = "None!None", .min_samples = 1000000,
    .state_size = sizeof(struct state), .actors = {loops, loops}, .results = 1,
    .outcomes = {{"0", REQUIRED, "it ended"}});
"""


def ran(folder: Path, name: str, seconds: float) -> ScenarioReport:
    file = folder / "endless.c"
    file.write_text(CODE)
    options = StressOptions(
        seconds=seconds, opt=("O2",), delayed=False, seed=7, affinity=("none",), computed=False
    )
    (scenario,) = stress([file], f"^{name}$", options).scenarios
    return scenario


@pytest.mark.slow
@pytest.mark.alone
def test_a_sleeper_is_found_where_blocking_was_forgotten(tmp_path: Path) -> None:
    scenario = ran(tmp_path, "forgotten", 1.0)
    assert {row.outcome for row in scenario.rows} == {"0", "asleep"}
    assert scenario.status == VIOLATED
    assert "where one may sleep at all, declare .blocking = 1" in scenario.messages[0]


@pytest.mark.slow
def test_actors_that_loop_for_ever_do_not_wait_for_samples(tmp_path: Path) -> None:
    scenario = ran(tmp_path, "endless", 0.1)
    assert {row.outcome: row.samples for row in scenario.rows} == {"stuck": 1, "0": 0}


def test_seconds_are_shared_by_all_builds() -> None:
    options = StressOptions(seconds=6.0)
    assert options.budget_s() * len(options.builds()) == 6.0
    assert options.budget_s("twin") * len(options.builds("twin")) == 6.0
    assert StressOptions(mode="quick").budget_s() == 0.2


def part(seconds: float, outcome: str) -> Measured:
    return Measured(1, seconds, 7, (0,), 0, 0, "none", 0, (Seen(outcome, 1),))


def test_a_place_is_left_out_only_where_actors_do_not_end() -> None:
    assert is_spent([part(0.7, "stuck"), part(0.7, "stuck")], 1.5)
    assert is_spent([part(0.7, "0,1"), part(0.7, "asleep")], 1.5)
    assert not is_spent([part(0.7, "stuck")], 1.5)
    assert not is_spent([part(0.7, "0,1"), part(0.7, "0,0")], 1.5)
    assert not is_spent(["crashed"], 1.5)


def test_a_build_is_left_out_only_where_actors_do_not_end_and_the_seconds_are_over() -> None:
    def run(seconds: float, outcome: str) -> Run:
        return Run("O2", "stress", 1, seconds, 0, 0, (), (), "none", {outcome: 1})

    assert is_overdrawn([run(2.2, "stuck"), run(2.2, "stuck")], 5.0)
    assert is_overdrawn([run(2.2, "asleep"), run(2.2, "0")], 5.0)
    assert not is_overdrawn([run(1.25, "stuck")] * 3, 5.0)  # each has taken its share
    assert not is_overdrawn([run(2.2, "0"), run(2.2, "0")], 5.0)
    assert not is_overdrawn([run(2.2, "stuck"), run(2.2, "stuck")], None)
    assert not is_overdrawn([], 5.0)


@pytest.mark.slow
def test_seconds_end_a_job_of_actors_that_loop_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object) -> Measured:  # as on a machine with three jobs for each CPU
        return part(2.2, "stuck")

    monkeypatch.setattr(native, "measure", slow)
    file = tmp_path / "endless.c"
    file.write_text(CODE)
    options = StressOptions(seconds=5.0, seed=7, computed=False)
    (scenario,) = stress([file], "^endless$", options).scenarios
    assert [run.build for run in scenario.runs] == ["O0", "O2"]
    assert scenario.status == VIOLATED
    assert scenario.messages[-1] == f"not run: O3, O2 delayed: {SPENT}"


@pytest.mark.slow
def test_the_explorer_looks_once_at_an_actor_that_loops_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "endless.c"
    file.write_text(CODE.replace("wp_pause();", ";"))
    judged = explore([file], "^endless$").scenarios[0].judged
    assert [one.result.model for one in judged] == list(MODELS)
    assert len({one.result.seconds for one in judged}) == 1
    assert all("loops without a shared operation" in m for j in judged for m in j.messages)
