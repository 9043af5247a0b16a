# SPDX-License-Identifier: Apache-2.0
"""Positions of compiled code that behave equally are merged: fewer states, and no other change."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.explore import explorer, litmus
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.run import explore
from wakeproof.judge.process import Children

FILE = Path(__file__).parents[1] / "scenarios" / "mutexes.c"
MODELS = (Model.SC, Model.TSO)
TEXT = (
    """program mutexes
"""
    + 3
    * """thread
  r3 = 0
round:
  r0 = cas lock 0 1 acquire relaxed
  if r0 == 0 goto enter
again:
  r0 = exchange lock 2 acquire
  if r0 == 0 goto enter
  wait lock 2
  goto again
enter:
  r0 = load inside plain
  assert r0 == 0
  store inside 1 plain
  step
  store inside 0 plain
  r0 = exchange lock 0 release
  if r0 != 2 goto over
  wake lock 1
over:
  r0 = 0
  r3 = r3 + 1
  if r3 < 2 goto round
  r3 = 0
"""
)
# Least number of scenarios; largest share of the states that positions kept apart would have.
KERNEL = {
    "semaphore": (5, 0.3), "mutex": (7, 0.35), "latch": (2, 0.3), "wait_queue(?!_leave)": (5, 0.3),
    "timer": (7, 0.7), "local_queue(?!_carrier)": (14, 0.8), "vthread": (16, 0.98),
    "descriptor(?!_empty)": (8, 0.6), "descriptor_empty": (4, 0.8), "scope": (13, 0.7),
    "carrier_tasks": (19, 0.6), "reserve": (6, 0.75), "strategy": (11, 0.4),
}  # fmt: skip


def run(name: str, twin: str | None = None, **options: object) -> dict[Model, Result]:
    """Explore a scenario of `FILE`, or its twin, by the state engine."""
    chosen = ExploreOptions(models=MODELS, engine="states", **options)  # type: ignore[arg-type]
    with Children() as children:
        program = Builder(children).program(FILE, Build(twin=twin, kind="explored"))
        return {r.model: r for r in explorer.run_test(children, program, name, chosen)}


def outcomes(result: Result) -> list[tuple[str, str]]:
    return sorted((found.text, found.verdict) for found in result.outcomes)


def test_dead_bytes_of_stacks_make_no_more_states_than_the_same_program_as_text() -> None:
    compiled = run("mutexes")
    options = ExploreOptions(models=MODELS, engine="states", loop_bound=0)
    texts = litmus.explore([TEXT], MODELS, options)[0]
    for model in MODELS:
        assert compiled[model].exhaustive
        assert texts[model].exhaustive
        assert outcomes(compiled[model]) == [("0", "ended")]
        assert compiled[model].states <= 1.5 * texts[model].states


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "twin"),
    [("mutexes", ""), ("mutexes", "mutexes_silent"), ("leftovers", ""), ("turns", "")],
)
def test_nothing_but_the_number_of_states_differs_from_positions_that_are_kept(
    name: str, twin: str
) -> None:
    merged, kept = run(name, twin or None), run(name, twin or None, keep_positions=True)
    for model in MODELS:
        assert outcomes(merged[model]) == outcomes(kept[model])
        assert merged[model].exhaustive == kept[model].exhaustive
        assert merged[model].states <= kept[model].states
        lengths = [{f.text: len(f.example) for f in r[model].outcomes} for r in (merged, kept)]
        if name != "turns":  # shortest paths keep their length
            assert lengths[0] == lengths[1]
    assert merged[Model.SC].states < kept[Model.SC].states


@pytest.mark.slow
@pytest.mark.parametrize(("name", "twin"), [("mutexes", "mutexes_silent"), ("turns", "")])
def test_a_counterexample_of_merged_positions_is_an_execution_of_the_code(
    name: str, twin: str
) -> None:
    """Replay merges no positions, so its schedule must work without."""
    for model, result in run(name, twin or None).items():
        for outcome in result.outcomes:
            again = run(name, twin or None, replay=outcome.schedule)[model]
            assert not again.error
            [found] = again.outcomes
            assert (found.text, found.verdict) == (outcome.text, outcome.verdict)
            steps = [[(e.thread, e.kind, e.site, e.value) for e in f.example]
                     for f in (found, outcome)]  # fmt: skip
            assert steps[0] == steps[1]


@pytest.mark.slow
@pytest.mark.parametrize("scenarios", KERNEL)
def test_the_kernel_s_scenarios_have_the_same_outcomes_with_positions_that_are_kept(
    scenarios: str,
) -> None:
    found = []
    for keeps in (False, True):
        options = ExploreOptions(models=MODELS, engine="states", keep_positions=keeps)
        report = explore(None, f"^{scenarios}", options, twins=False, jobs=2)
        found.append(
            {(s.name, j.result.model): j.result for s in report.scenarios for j in s.judged}
        )
    merged, kept = found
    fewest, most = KERNEL[scenarios]
    assert len(merged) >= fewest * len(MODELS)
    for key, result in merged.items():
        assert outcomes(result) == outcomes(kept[key]), key
        assert (result.exhaustive, result.error) == (kept[key].exhaustive, kept[key].error), key
        assert result.states <= kept[key].states, key
    assert sum(r.states for r in merged.values()) < most * sum(r.states for r in kept.values())
