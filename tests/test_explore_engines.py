"""The two engines: published numbers, and that they agree on compiled code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wakeproof.judge import litmus
from wakeproof.judge.explore import ExploreReport, explore
from wakeproof.judge.explore_options import ExploreOptions, Model
from wakeproof.judge.explore_results import Result
from wakeproof.judge.grading import HELD

ROOT = Path(__file__).resolve().parents[1]
FUTEX = ROOT / "tests" / "explorer" / "futex"
NUMBERS = json.loads((FUTEX / "expected.json").read_text("utf-8"))
SMALL = "^(parker|guard|mpsc|ticket|idleset|carrier|cuts|search_(internal|reenqueue|unstealable))"


def states_of(name: str, **options: object) -> Result:
    """Explore a futex program by the state engine under SC."""
    chosen = ExploreOptions(models=(Model.SC,), engine="states", loop_bound=0, **options)  # type: ignore[arg-type]
    text = (FUTEX / f"{name}.txt").read_text("utf-8")
    return litmus.explore([text], (Model.SC,), chosen, examples=True)[0][Model.SC]


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_drepper_s_mutexes_have_their_published_states_edges_and_depths(name: str) -> None:
    expected = NUMBERS[name]
    result = states_of(name)
    assert result.exhaustive
    if "states" in expected:
        assert (result.states, result.edges) == (expected["states"], expected["edges"])
    bad = {found.verdict: found for found in result.outcomes if found.verdict != "ended"}
    if expected["verdict"] == "ok":
        assert not bad
    else:
        same = {"missed": "asleep", "race": "assertion"}  # two in the critical section do race
        assert expected["verdict"] in {same.get(kind, kind) for kind in bad}
    if "depth" in expected:
        found = bad.get("race") or bad.get("asleep") or bad["missed"]
        steps = [e for e in found.example if e.kind not in ("fail", "plain_load", "plain_store")]
        assert len(steps) == expected["depth"]


def test_spurious_wakeups_hide_no_deadlock() -> None:
    bad = {found.verdict for found in states_of("F6_n2", spurious=1).outcomes}
    assert bad & {"asleep", "missed"}


def explored(file: Path | None, regex: str, **options: object) -> ExploreReport:
    chosen = ExploreOptions(**options)  # type: ignore[arg-type]
    return explore([file] if file else None, regex, chosen, twins=False, jobs=2)


def test_both_engines_see_the_same_outcomes_of_the_kernel() -> None:
    report = explored(None, SMALL, models=(Model.SC, Model.TSO), engine="both")
    assert len(report.scenarios) > 20
    assert {scenario.name: scenario.messages for scenario in report.scenarios
            if scenario.status != HELD} == {}  # fmt: skip
    for scenario in report.scenarios:
        assert {judged.result.engine for judged in scenario.judged} == {"graphs", "states"}
        assert all(judged.result.exhaustive for judged in scenario.judged), scenario.name


def test_litmus_of_compiled_code_tells_the_models_apart() -> None:
    file = ROOT / "tests" / "scenarios" / "litmus.c"
    report = explored(file, "litmus", engine="both")
    seen = {
        (scenario.name, judged.model.value): judged.result.texts
        for scenario in report.scenarios
        for judged in scenario.judged
    }
    weak = {key: "0,0" in texts for key, texts in seen.items()}
    assert not weak["litmus_buffering", "sc"]
    assert weak["litmus_buffering", "tso"]
    assert weak["litmus_buffering", "rc11"]
    assert not weak["litmus_fenced", "rc11"]
    assert not weak["litmus_update_is_no_fence", "tso"]
    assert weak["litmus_update_is_no_fence", "rc11"]
    assert all("2,1" not in seen["litmus_independent_reads", model.value] for model in Model)


def test_seven_threads_that_add_have_5040_executions_each_once() -> None:
    threads = "thread\n  r0 = add x 1 seq_cst\n" * 7
    options = ExploreOptions(engine="graphs", check_duplicates=True)
    text = f"program adds\n{threads}observe x\n"
    result = litmus.explore([text], (Model.RC11,), options)[0][Model.RC11]
    assert (result.executions, result.duplicates, result.exhaustive) == (5040, 0, True)
