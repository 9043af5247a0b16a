# SPDX-License-Identifier: Apache-2.0
"""A race is reported under every model: a lost update of plain memory is never called held."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.judges import EXPLORER, ORDERLY, batches, graphs, many, states
from tests.support.litmus import observed
from tests.support.random_programs import Kinds, small
from tests.support.stepwise import races

from wakeproof.judge.explore import litmus
from wakeproof.judge.explore.litmus_program import (
    If,
    Label,
    Load,
    Operation,
    Program,
    Store,
    Thread,
    Update,
)
from wakeproof.judge.explore.options import MODELS, ExploreOptions, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.run import ExploreReport, explore
from wakeproof.judge.stress.grading import HELD, VIOLATED

RACES = Path(__file__).parents[1] / "scenarios" / "races.c"


def explored(name: str, *models: Model, engine: str = "auto") -> ExploreReport:
    options = ExploreOptions(models=models or MODELS, engine=engine)
    return explore([RACES], f"^{name}$", options, twins=False)


def by_states(text: str, model: Model = Model.SC, **options: int) -> Result:
    chosen = ExploreOptions(engine="states", models=(model,), **options)  # type: ignore[arg-type]
    return litmus.explore([text], (model,), chosen, explorer=EXPLORER, examples=True)[0][model]


@st.composite
def guarded(draw: st.DrawFn) -> Program:
    """Draw programs in which the value that a step reads decides about later plain accesses."""

    def one(*among: str) -> str:
        return draw(st.sampled_from(among))

    threads = []
    for number in range(draw(st.integers(2, 3))):
        operations: list[Operation] = []
        for at in range(draw(st.integers(1, 5))):
            register, value = f"r{at}", number + 1
            kind = one("store", "load", "update", "plain", "plain", "guard")
            if kind == "store":
                operations.append(Store(one("x", "y"), value, one("release", "seq_cst")))
            elif kind == "load":
                operations.append(Load(register, one("x", "y"), "acquire"))
            elif kind == "update":
                operations.append(Update("exchange", one("x", "y"), value, "acq_rel", register))
            elif kind == "guard":
                operations.append(Load(register, one("x", "y"), "acquire"))
                operations.append(If(register, one("==", "!="), draw(st.integers(0, 2)), "end"))
            elif one("read", "write") == "read":
                operations.append(Load(register, one("p", "q", "x"), "plain"))
            else:
                operations.append(Store(one("p", "q", "p", "q", "x"), value, "plain"))
        threads.append(Thread((*operations, Label("end"))))
    return observed(Program("guarded", tuple(threads)))


@pytest.mark.slow
@many(15)
@given(st.lists(guarded(), min_size=20, max_size=20), st.lists(small(Kinds()), max_size=5))
def test_the_races_are_those_of_every_interleaving(
    made: list[Program], drawn: list[Program]
) -> None:
    programs = [*made, *drawn]
    for program, found in zip(programs, states([str(p) for p in programs]), strict=True):
        for model in ORDERLY:
            is_racy = races(program, has_buffers=model is Model.TSO)
            assert ("race" in found[model].verdicts) == is_racy, (model, str(program))


@pytest.mark.slow
@many(15)
@given(batches(), st.lists(guarded().map(str), min_size=10, max_size=10))
def test_a_race_of_an_interleaving_is_one_of_c11(drawn: list[str], made: list[str]) -> None:
    programs = [*drawn, *made]
    for program, graph, state in zip(programs, graphs(programs), states(programs), strict=True):
        for model in ORDERLY:
            if "race" in state[model].verdicts:
                assert "race" in graph[model].verdicts, (model, program)
                assert "race" in graph[Model.RC11].verdicts, program
            elif "race" not in graph[model].verdicts:
                assert graph[model].texts == state[model].texts, (model, program)


@pytest.mark.parametrize(
    ("operations", "is_racy"),
    [
        ("store p 1 plain\nstore x 1 release|r0 = load x acquire\nif r0 == 0 goto end\n"
         "r1 = load p plain\nend:", False),
        ("store x 1 release\nstore p 1 plain|r0 = load x acquire\nr0 = load x acquire\n"
         "if r0 == 0 goto end\nr1 = load p plain\nend:", True),  # after the step that hands over
        ("store p 1 plain\nr0 = load y relaxed|r0 = load p plain\nr1 = load y relaxed", True),
        ("r0 = load p plain|r0 = load p plain", False),
        ("store x 1 plain|r0 = load x relaxed", True),  # one of them is atomic
        ("r0 = load x plain|r0 = cas x 1 2 relaxed relaxed", False),  # it fails
        ("r0 = load x plain|r0 = cas x 0 2 relaxed relaxed", True),
        ("r0 = wait x 0\nstore p 1 plain|store p 2 plain\nstore x 1 release\nr0 = wake x 1",
         False),
        ("r0 = wait x 0\nstore p 1 plain|store x 1 release\nr0 = wake x 1\nstore p 2 plain", True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("model", ORDERLY)
def test_what_a_step_orders_does_not_race(operations: str, is_racy: bool, model: Model) -> None:
    threads = "".join(f"thread\n{thread}\n" for thread in operations.split("|"))
    found = by_states(f"program p\ninit x 0\ninit p 0\n{threads}observe x p\n", model)
    assert found.exhaustive
    assert ("race" in found.verdicts) == is_racy


@pytest.mark.slow
def test_a_thread_may_come_to_one_place_after_many_different_accesses() -> None:
    held, racy = (explored(name, Model.TSO) for name in ("scattered", "scattered_race"))
    (result,) = (judged.result for judged in held.scenarios[0].judged)
    assert held.scenarios[0].status == HELD  # 128 sets of places: more than fit beside a position
    assert result.states > 2 * 128
    assert "race" in racy.scenarios[0].judged[0].result.verdicts


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lost_update", "volatile_buffering", "reader", "volatile_spin"])
def test_a_race_is_no_success_under_any_model(name: str) -> None:
    for model in MODELS:
        (scenario,) = explored(name, model).scenarios
        assert (scenario.status, scenario.judged[0].result.verdicts) == (VIOLATED, {"race"})


@pytest.mark.slow
def test_what_is_handed_over_is_no_race() -> None:
    assert explored("handed_over").scenarios[0].status == HELD
