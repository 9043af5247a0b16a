# SPDX-License-Identifier: Apache-2.0
"""From outcomes to verdicts per model, without the explorer."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeproof.judge import labels
from wakeproof.judge.explore import grading as explore_grading
from wakeproof.judge.explore.options import Model
from wakeproof.judge.explore.results import Found, Result
from wakeproof.judge.scenarios import Outcome, Scenario, Twin
from wakeproof.judge.stress.grading import HELD, NOT_JUDGED, VIOLATED


def scenario(*outcomes: tuple[str, str]) -> Scenario:
    graded = tuple(Outcome(pattern, grade, "because") for pattern, grade in outcomes)
    return Scenario(Path("s.c"), "s", "claim", "Guard!NoLostWakeup", 2, 2, False, 1, graded)


def twin(*seen_by: str, chance: tuple[str, ...] = ()) -> Twin:
    return Twin(Path("s.c"), "s_t", "s", "defect", "0,0", frozenset(seen_by), frozenset(chance))


def result(model: Model, *texts: str, exhaustive: bool = True, verdict: str = "ended",
           engine: str = "graphs", error: str = "") -> Result:  # fmt: skip
    outcomes = tuple(Found(text, verdict, 1, ()) for text in texts)
    stopped = "" if exhaustive else "max_seconds"
    return Result("s", model, engine, 2, outcomes, len(texts), 0, 0, 0, 0, 0, 0,
                  exhaustive, stopped, error, 0.0, 0)  # fmt: skip


WHOLE = (("0,0", "FORBIDDEN"), ("1,1", "REQUIRED"), ("0,1", "ACCEPTABLE"))


@pytest.mark.parametrize(
    ("found", "status", "message"),
    [
        (result(Model.RC11, "1,1", "0,1"), HELD, None),
        (result(Model.RC11, "1,1", "0,0"), VIOLATED, "forbidden outcome 0,0"),
        (result(Model.RC11, "1,1", "5,5"), VIOLATED, "covered by no grade"),
        (result(Model.RC11, "0,1"), VIOLATED, "required outcome 1,1 is not reachable"),
        # An outcome that real cores must show need not be SC.
        (result(Model.SC, "0,1"), HELD, None),
        (result(Model.RC11, "0,1", exhaustive=False), NOT_JUDGED, "time limit"),
        (result(Model.SC, exhaustive=False), NOT_JUDGED, "no execution came to its end"),
        (result(Model.SC), VIOLATED, "no execution came to its end"),  # nothing was judged
        (result(Model.RC11, "1,1", error="broken"), VIOLATED, "broken"),
        (result(Model.RC11, "asleep", verdict="lost_wakeup"), VIOLATED, "lost wakeup"),
        (result(Model.RC11, "race", verdict="race"), VIOLATED, "conflicting accesses"),
    ],
)
def test_outcomes_are_graded_per_model(found: Result, status: str, message: str | None) -> None:
    report = explore_grading.judge_scenario(scenario(*WHOLE), [found], labels.Labels())
    assert report.status == status
    assert (message or "") in "".join(report.messages)


def test_a_pattern_for_all_numbers_allows_no_race() -> None:
    report = explore_grading.judge_scenario(
        scenario(("*", "ACCEPTABLE")), [result(Model.SC, "race", verdict="race")],
        labels.Labels(),
    )  # fmt: skip
    assert report.status == VIOLATED


@pytest.mark.parametrize(
    ("of", "found", "status", "message"),
    [
        (twin("sc"), result(Model.SC, "0,0"), HELD, ""),
        (twin("sc"), result(Model.SC, "1,1"), VIOLATED, "though sc is in seen_by"),
        (twin(), result(Model.SC, "0,0"), VIOLATED, "neither in seen_by nor in chance"),
        (twin(), result(Model.SC, "1,1"), HELD, ""),
        (twin(chance=("sc",)), result(Model.SC, "0,0"), HELD, ""),
        (twin(chance=("sc",)), result(Model.SC, "1,1"), HELD, ""),
        (twin("sc"), result(Model.SC, "1,1", exhaustive=False), NOT_JUDGED, "time limit"),
        (twin(), result(Model.SC, "1,1", exhaustive=False), NOT_JUDGED, "time limit"),
        (twin("sc"), result(Model.SC, "race", verdict="race"), HELD, ""),
    ],
)
def test_a_twin_is_killed_exactly_where_it_is_declared(
    of: Twin, found: Result, status: str, message: str
) -> None:
    report = explore_grading.judge_twin(of, scenario(*WHOLE), [found], labels.Labels())
    assert report.status == status
    assert message in "".join(report.messages)


def test_engines_that_disagree_are_a_violation() -> None:
    both = [result(Model.SC, "1,1"), result(Model.SC, "1,1", "0,1", engine="states")]
    report = explore_grading.judge_scenario(scenario(*WHOLE), both, labels.Labels())
    assert report.status == VIOLATED
    assert report.messages == ("SC: the engines disagree: states alone gives 0,1",)


def test_a_program_of_which_nothing_was_explored_is_not_judged() -> None:
    assert explore_grading.judge_program("p", "p", [result(Model.SC)]).status == NOT_JUDGED
    assert explore_grading.judge_program("p", "p", [result(Model.SC, "1")]).status == HELD
