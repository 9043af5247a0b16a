# SPDX-License-Identifier: Apache-2.0
"""Outcomes of real cores against the sets that the models allow; each way to differ occurs once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Command

from wakeproof.errors import JudgeError
from wakeproof.judge.builds import Builder
from wakeproof.judge.explore.options import Model
from wakeproof.judge.scenarios import Scenario
from wakeproof.judge.stress import outcome_sets
from wakeproof.judge.stress.allowed import (
    ELSEWHERE,
    OUTSIDE,
    OUTSIDE_PART,
    RACY,
    REORDERED,
    SEEN,
    UNSEEN,
    WEAK,
    WEAKER,
    Allowed,
    Computed,
    Seen,
    compare,
    summary,
)
from wakeproof.judge.stress.grading import HELD, VIOLATED, ScenarioReport
from wakeproof.judge.stress.options import StressOptions
from wakeproof.judge.stress.run import stress

SCENARIOS = Path(__file__).parents[1] / "scenarios"
OPTIONS = StressOptions(seconds=0.1, opt=("O0", "O2"), delayed=False, seed=7, twins=False)


def sets(*, tso_whole: bool = True, rc11_whole: bool = True) -> tuple[Computed, ...]:
    def one(model: Model, whole: bool, *outcomes: str) -> Computed:
        return Computed(model, outcomes, whole, "exhaustive" if whole else "sampled")

    return (
        one(Model.SC, True, "0,1", "1,1"),
        one(Model.TSO, tso_whole, "0,1", "1,1", "0,0"),
        one(Model.RC11, rc11_whole, "0,1", "1,1", "0,0", "1,0"),
    )


def means(text: str, found: Allowed) -> tuple[str, str]:
    standing = found.of(text)
    assert standing is not None
    return standing.allowed_by, standing.means


@pytest.mark.parametrize("is_x86", [True, False])
def test_each_outcome_stands_where_the_strongest_model_has_it(is_x86: bool) -> None:
    seen = {text: Seen(5, ("O2",)) for text in ("0,1", "0,0", "1,0", "7,7")}
    found = compare(sets(), seen, ("O0", "O2"), is_x86)
    assert means("0,1", found) == ("SC", SEEN)
    assert means("0,0", found) == ("TSO", SEEN)
    assert means("1,0", found) == ("RC11", REORDERED if is_x86 else WEAK)
    assert means("7,7", found) == ("", OUTSIDE)
    assert means("1,1", found) == ("SC", UNSEEN)
    assert found.of("8,8") is None
    assert [s.flags for s in found.meaning(REORDERED, WEAK)] == ["-O2; not -O0"]
    assert len(found.failures) == 1


@pytest.mark.parametrize(("is_x86", "meaning"), [(True, ELSEWHERE), (False, WEAKER)])
def test_what_rc11_alone_allows_is_not_expected_of_x86(is_x86: bool, meaning: str) -> None:
    found = compare(sets(), {}, ("O2",), is_x86)
    assert means("1,0", found) == ("RC11", meaning)
    assert means("0,0", found) == ("TSO", UNSEEN)


def test_a_set_that_is_not_whole_forbids_nothing_and_names_what_is_outside() -> None:
    found = compare(sets(rc11_whole=False), {"7,7": Seen(1, ("O2",))}, ("O2",), True)
    assert (means("7,7", found), found.failures) == (("", OUTSIDE_PART), ())
    assert found.not_whole == "not computed whole: RC11 sampled"
    part = compare(sets(tso_whole=False), {"1,0": Seen(1, ("O2",))}, ("O2",), True)
    assert means("1,0", part) == ("RC11", SEEN)


def test_the_summary_counts_by_model_and_names_what_differs() -> None:
    seen = {"0,1": Seen(5, ("O2",)), "7,7": Seen(1, ("O2",))}
    lines = summary({"toy": compare(sets(), seen, ("O2",), True), "none": Allowed()})
    assert "whole for 1 of 2 scenarios" in lines[0]
    assert "allowed 1 by SC, 0 by TSO, 0 by RC11), 1 outside it" in lines[0]
    assert "outside RC11: toy 7,7" in lines
    assert "not observable here (beyond x86-TSO): toy 1,0" in lines
    assert summary({"none": Allowed()}) == ["allowed sets: not computed in this run"]


@pytest.fixture(scope="module")
def judged() -> dict[str, ScenarioReport]:
    report = stress([SCENARIOS / "allowed.c", SCENARIOS / "buffering.c"], None, OPTIONS)
    return {scenario.name: scenario for scenario in report.scenarios}


@pytest.mark.slow
def test_what_runs_and_was_not_explored_fails(judged: dict[str, ScenarioReport]) -> None:
    other = judged["allowed_other_build"]
    assert other.status == VIOLATED
    assert "outcome 0,2 was seen" in other.messages[0]
    assert "no execution under RC11 gives it" in other.messages[0]
    assert {s.status for n, s in judged.items() if n != "allowed_other_build"} == {HELD}


@pytest.mark.slow
def test_what_the_compiler_reorders_is_said_with_its_flags(
    judged: dict[str, ScenarioReport],
) -> None:
    [standing] = judged["allowed_reordered"].allowed.meaning(REORDERED, WEAK)
    assert (standing.outcome, standing.allowed_by) == ("1,0", "RC11")
    assert "O2" in standing.builds


@pytest.mark.rotates
@pytest.mark.slow
@pytest.mark.alone
def test_store_buffering_is_allowed_by_tso_and_seen(judged: dict[str, ScenarioReport]) -> None:
    standing = judged["buffering_bare"].allowed.of("0,0")
    assert standing is not None
    assert (standing.allowed_by, standing.means) == ("TSO", SEEN)
    assert judged["buffering_fenced"].allowed.of("0,0") is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "outcome"), [("allowed_message", "1,0"), ("allowed_readers", "2,1")]
)
def test_what_only_rc11_allows_is_listed_as_not_observable(
    judged: dict[str, ScenarioReport], name: str, outcome: str
) -> None:
    standing = judged[name].allowed.of(outcome)
    assert standing is not None
    assert (standing.allowed_by, standing.samples) == ("RC11", 0)
    assert standing.means == ELSEWHERE


@pytest.mark.slow
def test_what_a_twin_shows_must_be_allowed_to_the_twin() -> None:
    options = StressOptions(seconds=0.1, opt=("O2",), delayed=False, seed=7)
    report = stress([SCENARIOS / "buffering.c"], "no_fence", options)
    standing = report.twins[0].allowed.of("0,0")
    assert standing is not None
    assert (standing.allowed_by, standing.means) == ("TSO", SEEN)
    other = stress([SCENARIOS / "allowed.c"], "twice", options).twins[0]
    assert other.status == VIOLATED
    assert "outcome 0,5 was seen" in other.messages[0]


@pytest.mark.slow
def test_a_data_race_has_no_whole_set(judged: dict[str, ScenarioReport]) -> None:
    race = judged["allowed_race"].allowed
    assert "SC, TSO, RC11 a data race" in race.not_whole
    assert not race.is_judged
    assert {(s.allowed_by, s.means) for s in race.outcomes} == {("", RACY)}


def of_file(file: Path, name: str) -> Scenario:
    return Scenario(file, name, "", "", 2, 2, False, 0, ())


def computed(builder: Builder, file: Path, name: str) -> tuple[Computed, ...]:
    found = outcome_sets.compute([of_file(file, name)], builder, lambda *_: None)
    return found[str(file), name]


@pytest.mark.slow
def test_sets_are_kept_until_a_source_changes(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept.c"
    text = (SCENARIOS / "allowed.c").read_text()
    file.write_text(text)
    first = computed(builder, file, "allowed_other_build")
    with monkeypatch.context() as patch:
        patch.delattr(outcome_sets.explore, "explore")
        assert computed(builder, file, "allowed_other_build") == first
    file.write_text(text.replace("#define TWO 1", "#define TWO 2"))
    assert [one.outcomes for one in computed(builder, file, "allowed_other_build")] == [
        ("0,0", "0,2")
    ] * 3


@pytest.mark.slow
def test_a_damaged_file_of_kept_sets_is_computed_again(builder: Builder) -> None:
    file, name = SCENARIOS / "buffering.c", "buffering_bare"
    first = computed(builder, file, name)
    kept = outcome_sets._kept_in(file, of_file(file, name), builder)
    kept.write_text(kept.read_text()[:-9])
    assert computed(builder, file, name) == first
    assert json.loads(kept.read_text())


@pytest.mark.slow
def test_where_the_explorer_cannot_be_built_it_says_so_and_fails_in_ci_alone(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "native.c"
    text = (SCENARIOS / "buffering.c").read_text()
    file.write_text(text + "\n#ifdef WP_EXPLORE\n#error not for the explorer\n#endif\n")
    monkeypatch.delenv("WAKEPROOF_CI", raising=False)
    found = compare(computed(builder, file, "buffering_bare"), {"9": Seen(1, ())}, (), True)
    assert found.not_whole.startswith("not computed whole: SC, TSO, RC11 not run: ")
    assert found.not_whole.endswith("native.c does not compile")
    assert found.failures == ()
    monkeypatch.setenv("WAKEPROOF_CI", "1")
    with pytest.raises(JudgeError, match="the explorer must run in CI"):
        computed(builder, file, "buffering_bare")
    monkeypatch.setenv("WAKEPROOF_RUNNER", "qemu-aarch64")
    assert "in an emulator" in computed(builder, file, "buffering_bare")[0].coverage


def test_a_file_that_can_never_be_explored_says_why_and_fails_nowhere(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAKEPROOF_CI", "1")
    found = computed(builder, SCENARIOS / "spread.c", "spread")
    assert {one.whole for one in found} == {False}
    assert "calls calloc, free, which the explorer does not model" in found[0].coverage


@pytest.mark.rotates
@pytest.mark.slow
def test_the_table_and_the_json_have_the_class_of_each_outcome(wakeproof: Command) -> None:
    common = ("stress", str(SCENARIOS / "allowed.c"), "-t", "message", "--seconds", "0.05")
    assert "RC11        not observable here (beyond x86-TSO)" in wakeproof(*common).stdout
    report = json.loads(wakeproof(*common, "--json").stdout)["report"]
    allowed = report["scenarios"][0]["allowed"]
    assert [one["model"] for one in allowed["sets"]] == ["sc", "tso", "rc11"]
    classes = {one["outcome"]: one["allowed_by"] for one in allowed["outcomes"]}
    assert classes == {"0,0": "SC", "0,1": "SC", "1,1": "SC", "1,0": "RC11"}


def test_the_sanity_mode_compares_with_nothing() -> None:
    sanity = StressOptions(mode="sanity", opt=("O2",), delayed=False, twins=False)
    report = stress([SCENARIOS / "allowed.c"], "other_build", sanity)
    assert report.scenarios[0].allowed == Allowed()
    assert report.scenarios[0].status == HELD
