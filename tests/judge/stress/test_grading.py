# SPDX-License-Identifier: Apache-2.0
"""From histograms to verdicts (judge/stress/grading.py), without running anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wakeproof.judge.explore import grading as explore_grading
from wakeproof.judge.explore.options import Model
from wakeproof.judge.explore.results import Found
from wakeproof.judge.explore.tasks import failed
from wakeproof.judge.labels import Labels
from wakeproof.judge.scenarios import Outcome, Scenario, Twin
from wakeproof.judge.stress.grading import (
    HELD,
    NOT_JUDGED,
    VIOLATED,
    Run,
    ScenarioReport,
    TwinReport,
    judge_scenario,
    judge_twin,
)

FILE = Path("race.c")
TABLE = (
    Outcome("0,0", "FORBIDDEN", "lost"),
    Outcome("1,*", "REQUIRED", "seen"),
    Outcome("0,1", "ACCEPTABLE", "late"),
)


def scenario(*outcomes: Outcome, min_samples: int = 100) -> Scenario:
    return Scenario(FILE, "race", "claim", "Guard!Served", 2, 2, False, min_samples, outcomes)


def run(histogram: dict[str, int], judge: str = "stress", failure: str | None = None) -> Run:
    samples = sum(histogram.values())
    return Run(judge, judge, samples, 1.0, 0, 0, (0, 1), (1,), "none", histogram, failure)


def judged(histogram: dict[str, int], cpus: int = 2) -> ScenarioReport:
    return judge_scenario(scenario(*TABLE), [run(histogram)], cpus)


def twin(seen_by: set[str], chance: set[str], **shown: dict[str, int]) -> TwinReport:
    declared = Twin(FILE, "t", "race", "d", "0,0", frozenset(seen_by), frozenset(chance))
    runs = [run(histogram, judge) for judge, histogram in shown.items()]
    return judge_twin(declared, scenario(*TABLE), runs, 2, is_x86=True)


@pytest.mark.parametrize(
    ("pattern", "outcome", "covers"),
    [
        ("0,1", "0,1", True),
        ("0,1", "0,10", False),
        ("0,*", "0,-7", True),
        ("0,*", "0", False),
        ("*", "3,4,5", True),
        ("*", "asleep", False),
        ("*", "stuck", False),
        ("*,*", "asleep", False),
        ("asleep", "asleep", True),
        ("asleep", "stuck", False),
    ],
)
def test_a_pattern_covers_the_numbers_it_names(pattern: str, outcome: str, covers: bool) -> None:
    assert Outcome(pattern, "ACCEPTABLE", "").matches(outcome) is covers


def test_the_star_alone_grades_only_what_nothing_else_does() -> None:
    table = (Outcome("*", "FORBIDDEN", "rest"), Outcome("1,1", "ACCEPTABLE", "good"))
    graded = scenario(*table).graded("1,1")
    assert graded is not None
    assert graded.grade == "ACCEPTABLE"


def test_all_graded_and_required_seen_holds() -> None:
    assert judged({"1,0": 90, "0,1": 10}).status == HELD


def test_one_forbidden_sample_violates() -> None:
    report = judged({"1,0": 10**9, "0,0": 1})
    assert report.status == VIOLATED
    assert "0,0" in report.messages[0]
    assert "lost" in report.messages[0]


def test_an_outcome_without_a_grade_violates_and_is_named_once() -> None:
    report = judged({"1,0": 90, "asleep": 1})
    assert report.status == VIOLATED
    assert len(report.messages) == 1
    assert "asleep" in report.messages[0]


def test_a_required_outcome_that_was_not_seen_violates_from_the_minimum_on() -> None:
    assert judged({"0,1": 100}).status == VIOLATED
    assert judged({"0,1": 99}).status == NOT_JUDGED


def test_on_one_cpu_a_missing_required_outcome_is_not_judged_and_a_forbidden_one_still_fails() -> (
    None
):
    assert judged({"0,1": 10**6}, cpus=1).status == NOT_JUDGED
    assert judged({"0,0": 1}, cpus=1).status == VIOLATED


def test_a_run_that_failed_is_no_verdict_but_a_failure() -> None:
    report = judge_scenario(scenario(*TABLE), [run({}, failure="crashed")], 2)
    assert report.status == VIOLATED
    assert "crashed" in report.messages[0]


def test_builds_that_were_left_out_leave_a_scenario_not_judged() -> None:
    full, bad = run({"1,0": 200}), run({"0,0": 1})
    assert judge_scenario(scenario(*TABLE), [full], 2).status == HELD
    report = judge_scenario(scenario(*TABLE), [full], 2, ["O3"])
    assert report.status == NOT_JUDGED
    assert report.messages[0].startswith("not run: O3: ")
    assert judge_scenario(scenario(*TABLE), [bad], 2, ["O3"]).status == VIOLATED


def test_a_declared_judge_must_see_the_twin() -> None:
    assert twin({"stress"}, set(), stress={"0,0": 1}).status == HELD
    assert twin({"stress"}, set(), stress={"0,1": 10**6}).status == VIOLATED


def test_a_judge_that_is_not_declared_must_not_see_the_twin() -> None:
    assert twin({"check"}, set(), stress={"0,0": 1}).status == VIOLATED
    assert twin({"check"}, set(), stress={"0,1": 10**6}).status == HELD


def test_a_judge_that_is_not_declared_must_not_see_any_other_bad_outcome_either() -> None:
    asleep = twin({"check"}, set(), stress={"0,1": 9, "asleep": 2})
    assert asleep.status == VIOLATED
    assert asleep.messages == ("stress saw asleep 2 times and is neither in seen_by nor in chance",)
    other = Twin(FILE, "t", "race", "d", "asleep", frozenset({"check"}), frozenset())
    forbidden = judge_twin(other, scenario(*TABLE), [run({"0,0": 1})], 2, is_x86=True)
    assert forbidden.status == VIOLATED


def test_the_explorer_must_not_see_any_other_bad_outcome_either() -> None:
    other = Twin(FILE, "t", "race", "d", "asleep", frozenset({"check"}), frozenset())
    found = (Found("0,0", "ended", 1, ()), Found("0,1", "ended", 1, ()))
    result = replace(failed("t", Model.SC, ""), outcomes=found, exhaustive=True)
    report = explore_grading.judge_twin(other, scenario(*TABLE), [result], Labels())
    assert report.status == VIOLATED
    assert "SC () shows 0,0" in report.messages[0]


def test_chance_allows_both() -> None:
    assert twin(set(), {"delayed"}, delayed={"0,0": 1}).status == HELD
    assert twin(set(), {"delayed"}, delayed={"0,1": 10**6}).status == HELD


def test_a_twin_is_not_missed_in_a_handful_of_samples() -> None:
    assert twin({"stress"}, set(), stress={"0,1": 999}).status == NOT_JUDGED


def test_judges_are_not_mixed_up() -> None:
    report = twin({"stress"}, {"delayed"}, stress={"0,1": 10**6}, delayed={"0,0": 5})
    assert report.status == VIOLATED
    assert report.shown == {"stress": 0, "delayed": 5}


def test_a_twin_that_shows_a_star_is_not_shown_by_an_outcome_that_is_allowed() -> None:
    star = Twin(FILE, "t", "race", "d", "*", frozenset({"stress"}), frozenset())
    of = scenario(Outcome("0,1", "ACCEPTABLE", ""), Outcome("*", "FORBIDDEN", ""))
    assert judge_twin(star, of, [run({"0,1": 10**6})], 2, True).status == VIOLATED
    assert judge_twin(star, of, [run({"0,1": 9, "7,7": 1})], 2, True).status == HELD


def test_beyond_x86_a_twin_that_the_plain_build_missed_is_not_judged() -> None:
    declared = Twin(FILE, "t", "race", "d", "0,0", frozenset({"stress"}), frozenset())
    report = judge_twin(declared, scenario(*TABLE), [run({"0,1": 10**6})], 2, is_x86=False)
    assert report.status == NOT_JUDGED
