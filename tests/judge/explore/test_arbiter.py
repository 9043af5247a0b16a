# SPDX-License-Identifier: Apache-2.0
"""An arbiter finds the sum of the actors' results, in the explorer as on real cores.

WAKEPROOF_TRUST=2 compares both runs of every scenario with an arbiter, which takes minutes because
each file is compiled for both. Otherwise only some are compared.  `audit` compares all that it
runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.judges import TRUST

from wakeproof.judge import scenarios
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.run import explore
from wakeproof.judge.stress.grading import HELD, VIOLATED
from wakeproof.judge.stress.options import StressOptions
from wakeproof.judge.stress.run import StressReport, stress

OWN = Path(__file__).parents[1] / "scenarios" / "arbiter.c"
STATUSES = {"arbiter_token": VIOLATED, "arbiter_sum": HELD, "arbiter_last": HELD}
RUN = StressOptions(seconds=0.02, opt=("O2",), delayed=False, twins=False, seed=7,
                    affinity=("none",), computed=False)  # fmt: skip
KERNEL = sorted(
    (file for file in scenarios.find() if ".arbiter" in file.read_text()),
    key=lambda file: file.name,
)
SOME = ("idle_set.c", "latch.c", "parker.c", "reserve.c")


def outside(seen: StressReport, file: Path, models: tuple[Model, ...]) -> dict[str, set[str]]:
    """Return outcomes of real cores without an execution, by scenario, if all executions are known.

    A compiler may reorder relaxed accesses, which RC11 allows and TSO does not.
    """
    found = {}
    reports = explore([file], options=ExploreOptions(models=models, seconds=20.0), twins=False)
    allowed = {one.name: one.judged[-1].result for one in reports.scenarios}
    for one in seen.scenarios:
        if allowed[one.name].exhaustive:
            shown = {row.outcome for row in one.rows if row.samples}
            found[one.name] = shown - allowed[one.name].texts
    return found


@pytest.mark.slow
def test_the_arbiter_finds_the_sum_of_all_actors() -> None:
    found = explore([OWN])
    assert {one.name: one.status for one in found.scenarios} == STATUSES
    texts = {one.name: one.judged[0].result.texts for one in found.scenarios}
    assert texts["arbiter_token"] == {"1,0", "2,1"}
    assert (texts["arbiter_sum"], texts["arbiter_last"]) == ({"2,1"}, {"7"})


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", [OWN, *(f for f in KERNEL if TRUST > 1 or f.name in SOME)], ids=lambda file: file.stem
)
def test_real_cores_show_of_an_arbiter_what_the_explorer_gives(file: Path) -> None:
    found = outside(stress([file], options=RUN), file, (Model.RC11,))
    assert found
    assert not any(found.values()), found
