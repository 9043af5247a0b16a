# SPDX-License-Identifier: Apache-2.0
"""Estimates of the size, before and during a run, for programs of known size."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tests.support.litmus import COUNTS, LITMUS

from wakeproof.errors import UsageError
from wakeproof.judge.explore import litmus
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.tasks import size_of

pytestmark = pytest.mark.slow

PUBLISHED = COUNTS
FACTOR = 2.0
DESCENTS = 300
LARGE = [name for name, row in PUBLISHED.items() if (row["rc11"] or 0) >= 50 and not row["race"]]


def estimated(explorer: litmus.Explorer, text: str, model: Model = Model.RC11) -> Result:
    options = ExploreOptions(engine="graphs", loop_bound=0, timeouts=False, estimate=DESCENTS)
    return litmus.explore([text], (model,), options, explorer=explorer)[0][model]


@pytest.mark.parametrize("name", LARGE)
def test_published_counts_are_estimated_within_a_factor_of_two(
    explorer: litmus.Explorer, name: str
) -> None:
    known = PUBLISHED[name]["rc11"]
    found = estimated(explorer, LITMUS[name])
    about, low, high = found.size
    assert known / FACTOR <= about <= known * FACTOR
    assert low <= about <= high
    assert (found.executions, found.exhaustive, found.stopped) == (0, False, "estimate")


def test_a_size_beyond_all_exploring_is_estimated(explorer: litmus.Explorer) -> None:
    # 3 threads of 4 additions have (12)! / (4!)^3 interleavings, and each is an execution.
    text = "program adds\n" + ("thread\n" + "  r0 = add x 1 relaxed\n" * 4) * 3
    known = math.factorial(12) // math.factorial(4) ** 3
    about, _, _ = estimated(explorer, text).size
    assert known / FACTOR <= about <= known * FACTOR


def test_an_estimate_is_no_verdict_and_says_so(explorer: litmus.Explorer) -> None:
    found = estimated(explorer, LITMUS["L60_7"])
    assert found.coverage.startswith("estimate: about ")
    with pytest.raises(UsageError, match="an estimate needs engine graphs"):
        ExploreOptions(estimate=10).checked()


def test_progress_says_how_much_how_many_and_how_long() -> None:
    at = {"executions": 1000.0, "states": 0.0, "estimate": 5000.0, "low": 4000.0, "high": 6000.0,
          "seconds": 2.0}  # fmt: skip
    assert size_of(at) == "1,000 executions of about 5,000 (4,000 to 6,000), 20%, 8 s left"
    assert size_of(at | {"estimate": 0.0}) == "1,000 executions"


@pytest.mark.rotates
def test_a_long_run_estimates_its_size_while_it_goes(
    explorer: litmus.Explorer,
) -> None:
    seen: list[dict[str, float]] = []
    text = "program adds\n" + ("thread\n" + "  r0 = add x 1 relaxed\n" * 6) * 3
    options = ExploreOptions(engine="graphs", models=(Model.RC11,), loop_bound=0, seconds=3.0)
    explorer.run([text], options, False, seen.append)
    known = math.factorial(18) // math.factorial(6) ** 3
    assert seen
    for at in seen:
        assert known / FACTOR <= at["estimate"] <= known * FACTOR


@pytest.mark.parametrize("model", [Model.SC, Model.TSO])
@pytest.mark.parametrize(("share", "factor"), [(0.5, 4.0), (0.9, 2.0)])
def test_states_to_come_are_estimated_from_the_levels(
    explorer: litmus.Explorer, model: Model, share: float, factor: float
) -> None:
    text = LITMUS["F4_n4"]
    options = ExploreOptions(engine="states", models=(model,), loop_bound=0, timeouts=False)
    known = litmus.explore([text], (model,), options, explorer=explorer)[0][model].states
    options = replace(options, max_executions=int(known * share))
    found = litmus.explore([text], (model,), options, explorer=explorer)[0][model]
    about, low, high = found.size
    assert known / factor <= about <= known * factor
    assert low <= about <= high
    assert found.coverage == f"not exhaustive: execution limit, of about {about:,.0f} states"
