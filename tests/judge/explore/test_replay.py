# SPDX-License-Identifier: Apache-2.0
"""A schedule repeats one execution of the state engine, and no other one is explored."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.litmus import LITMUS

from wakeproof.judge.explore import litmus
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Result

pytestmark = pytest.mark.slow

STATES = ExploreOptions(engine="states", models=(Model.SC, Model.TSO), loop_bound=0, timeouts=False)
BUFFERING = """program SB
thread
  store x 1 release
  r0 = load y acquire
thread
  store y 1 release
  r0 = load x acquire
observe 0:r0 1:r0
"""
SPINS = """program spins
thread
again:
  r0 = load x relaxed
  if r0 == 0 goto again
thread
  store y 1 relaxed
"""
PROGRAMS = {
    "buffering": BUFFERING,
    "spins": SPINS,
    **{name: LITMUS[name] for name in ("F1_n2", "F2_n3", "F6_n3")},
}


def run(explorer: litmus.Explorer, text: str, model: Model, schedule: str = "") -> Result:
    options = replace(STATES, replay=schedule)
    return litmus.explore([text], (model,), options, examples=True, explorer=explorer)[0][model]


@pytest.mark.parametrize("model", STATES.models)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_outcome_is_found_again_by_its_schedule(
    explorer: litmus.Explorer, name: str, model: Model
) -> None:
    explored = run(explorer, PROGRAMS[name], model)
    assert explored.outcomes
    for outcome in explored.outcomes:
        again = run(explorer, PROGRAMS[name], model, outcome.schedule)
        [found] = again.outcomes
        assert (found.text, found.verdict) == (outcome.text, outcome.verdict)
        assert found.example == outcome.example
        assert (again.states, again.exhaustive, again.stopped) == (0, False, "replay")


def test_a_program_that_spins_is_among_them(explorer: litmus.Explorer) -> None:
    [stuck] = run(explorer, SPINS, Model.SC).outcomes
    assert stuck.verdict == "stuck"
    assert "|" in stuck.schedule  # from here on, in a cycle


@pytest.mark.parametrize(
    "schedule",
    ["0.0.0 ", "0.0.0 0.0.0 0.1.0 0.1.0 0.1.0 ", "0.7.0 ", "4.0.0 ", "nonsense", "| 0.0.0 "],
    ids=["cut short", "too long", "no such thread", "nothing to drain", "no schedule", "no cycle"],
)
def test_what_is_no_execution_of_the_program_is_refused(
    explorer: litmus.Explorer, schedule: str
) -> None:
    found = run(explorer, BUFFERING, Model.SC, schedule)
    assert (found.error, found.outcomes) == ("the schedule is none of this program", ())
