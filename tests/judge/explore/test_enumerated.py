# SPDX-License-Identifier: Apache-2.0
"""`wakeproof explore --model armv8`: litmus tests, as text and compiled, by enumeration."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.judges import EXPLORER
from tests.support.litmus import LITMUS

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import labels
from wakeproof.judge.explore import litmus, tokens, trace
from wakeproof.judge.explore.options import ENUMERATED, ExploreOptions, Model, models_of
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.run import ExploreReport, explore
from wakeproof.judge.labels import Labels
from wakeproof.judge.oracle import armv8, run
from wakeproof.judge.oracle.armv8 import MAPPINGS
from wakeproof.judge.replay.run import replay
from wakeproof.judge.stress.grading import HELD, NOT_JUDGED, VIOLATED

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "armv8.c"
GUARD = locations.sources() / "stress" / "scenarios" / "wakeup" / "guard.c"
SAMPLE = ("L01", "L06", "L08a", "L10", "L12", "L29", "L38", "L40", "L46", "L50", "L52", "V03b")


def texts(programs: list[str], mapping: str = "all") -> list[Result]:
    options = ExploreOptions(models=(Model.ARMV8,), mapping=mapping)
    found = litmus.explore(programs, (Model.ARMV8,), options, explorer=EXPLORER, examples=True)
    return [results[Model.ARMV8] for results in found]


def compiled(name: str, *models: Model, file: Path = SCENARIOS) -> ExploreReport:
    options = ExploreOptions(models=models or (Model.ARMV8,))
    return explore([file], f"^{name}$", options, twins=False)


@pytest.mark.slow
def test_the_explorer_s_programs_are_the_oracle_s() -> None:
    for name, found in zip(SAMPLE, texts([LITMUS[name] for name in SAMPLE]), strict=True):
        wanted = run.explore(LITMUS[name], {Model.ARMV8: armv8.armv8_any}, buffering=True)
        expected = wanted[Model.ARMV8]
        assert not found.error
        assert found.exhaustive
        assert ("race" in found.verdicts) == expected.is_racy, name
        if not expected.is_racy:
            assert {one.text: one.count for one in found.outcomes} == expected.outcomes, name


@pytest.mark.slow
def test_a_mapping_can_be_chosen() -> None:
    text = LITMUS["V03b"]  # SB by exchanges
    by_name = {m.name: texts([text], m.name)[0].texts for m in MAPPINGS}
    assert [name for name, found in by_name.items() if "0,0" in found] == [
        "pair+ldar",
        "pair+ldapr",
    ]
    assert "0,0" in texts([text])[0].texts


@pytest.mark.slow
def test_models_of_the_engines_stand_beside_it() -> None:
    models = (Model.SC, Model.RC11, Model.ARMV8)
    options = ExploreOptions(models=models)
    one, other = litmus.explore([LITMUS["L08a"], LITMUS["L01"]], models, options, explorer=EXPLORER)
    assert [result.engine for result in one.values()] == ["states", "graphs", ENUMERATED]
    assert "1,1,1,1" in one[Model.ARMV8].texts - one[Model.RC11].texts
    assert "0,0,1,1" in other[Model.ARMV8].texts - other[Model.SC].texts


@pytest.mark.slow
def test_load_buffering_is_shown_in_compiled_code() -> None:
    report = compiled("buffering", Model.RC11, Model.ARMV8)
    rc11, arm = report.scenarios[0].judged
    assert (rc11.status, arm.status) == (HELD, VIOLATED)
    [shown] = report.counterexamples
    rows = trace.rows(shown.found, Labels(), Model.ARMV8)
    assert [row.value for row in rows] == ["1", "", "1", ""]
    assert rows[0].read_from == "#4, which comes later: load buffering"
    assert rows[2].read_from == "#2"
    again = replay(tokens.decode(shown.token.text))
    assert again.digest == shown.found.digest


@pytest.mark.slow
def test_release_and_acquire_forbid_it() -> None:
    report = compiled("in_order")
    assert report.statuses == {"in_order": HELD}
    assert report.scenarios[0].judged[0].result.exhaustive


@pytest.mark.slow
def test_a_race_is_one_here_too() -> None:
    report = compiled("unpublished")
    assert report.scenarios[0].verdict == "race"
    [shown] = report.counterexamples
    assert sum(event.racing for event in shown.found.example) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("sleeping", "thread 0 sleeps in a futex"),
        ("endless", "thread 0 takes more than 24 steps: it loops, or is too large"),
    ],
)
def test_what_is_outside_is_not_judged_and_says_why(name: str, why: str) -> None:
    report = compiled(name)
    assert report.statuses == {name: NOT_JUDGED}
    assert why in report.scenarios[0].messages[0]
    assert report.ok()
    assert not report.ok(strict=True)


@pytest.mark.slow
def test_the_kernel_s_guard_holds_and_needs_its_fences() -> None:
    assert compiled("guard", file=GUARD).statuses == {"guard": HELD}
    known = labels.read(locations.sources())
    for label in ("guard.2", "guard.4"):
        orders = tuple((file, line, "relaxed") for file, line in known.lines(label))
        options = ExploreOptions(models=(Model.ARMV8,), orders=orders)
        report = explore([GUARD], "^guard$", options, twins=False)
        assert report.statuses == {"guard": VIOLATED}, label
        assert "0,0" in report.scenarios[0].messages[0]


def test_a_limit_is_kept() -> None:
    options = ExploreOptions(models=(Model.ARMV8,), max_executions=2)
    [found] = litmus.explore([LITMUS["L12"]], (Model.ARMV8,), options, explorer=EXPLORER)
    result = found[Model.ARMV8]
    assert (result.executions, result.exhaustive) == (2, False)
    assert result.coverage == "not exhaustive: execution limit"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "states"}, "engine states has no model armv8, which is enumerated"),
        ({"engine": "graphs"}, "engine graphs has no model armv8"),
        ({"sample": 5}, "it has no samples"),
        ({"mapping": "swp"}, "mapping is 'swp'; allowed: lse"),
    ],
)
def test_an_option_that_it_does_not_have_is_refused(
    options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        ExploreOptions(models=(Model.ARMV8,), **options).checked()  # type: ignore[arg-type]


def test_the_engine_of_armv8_has_no_other_model() -> None:
    with pytest.raises(UsageError, match="engine is 'axioms'"):
        ExploreOptions(models=(Model.SC,), engine=ENUMERATED).checked()
    assert ExploreOptions(models=(Model.ARMV8,), engine=ENUMERATED).checked()


def test_it_is_named_and_no_part_of_all() -> None:
    assert models_of("armv8,sc") == (Model.SC, Model.ARMV8)
    assert Model.ARMV8 not in models_of("all")
    with pytest.raises(UsageError, match="allowed: sc, tso, rc11, armv8, all"):
        models_of("arm")
