# SPDX-License-Identifier: Apache-2.0
"""Why the explorer can be trusted: four judges that share no code must agree.

    graphs.c    executions and outcomes       oracle.py       the same, from the axioms
    states.c    outcomes under SC and TSO     oracle_smt.py   outcomes, by z3

Numbers of published tests first, then random programs, then every smallest one.  A judge that is
wrong on purpose must be found out.  WAKEPROOF_TRUST=20 takes twenty times as many programs.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.explorer.programs import (
    SKELETONS,
    Kinds,
    classics,
    permuted,
    small,
    smallest,
    stronger,
    text,
)

from wakeproof import paths
from wakeproof.judge import litmus, oracle, oracle_models
from wakeproof.judge.explore_options import ExploreOptions, Model
from wakeproof.judge.explore_results import Result
from wakeproof.judge.litmus import Program
from wakeproof.judge.oracle_graph import Frame, Switches
from wakeproof.judge.oracle_models import AXIOMS, Axioms

TRUST = int(os.environ.get("WAKEPROOF_TRUST", "1"))
LITMUS = paths.sources() / "tests" / "explorer" / "litmus"
EXPECTED = {
    name: row
    for name, row in json.loads((LITMUS / "expected.json").read_text()).items()
    if not name.startswith("F")  # futex calls and loops: not for the oracles
}
VERDICTS = json.loads((LITMUS / "verdicts.json").read_text())
EXPLORER = litmus.Explorer()
SB = """\
thread
  store x 1 {order}
  r0 = load y {order}
thread
  store y 1 {order}
  r0 = load x {order}
observe 0:r0 1:r0
"""
LOOPS = ("N04", "N05", "N06")  # programs with loops: for the explorer alone
ORDERLY = (Model.SC, Model.TSO)  # what states.c knows
ORDERLY_AXIOMS = {model: AXIOMS[model] for model in ORDERLY}
ASYMMETRIC = Kinds(plain=False, fences=("light", "heavy", "seq_cst"))
Explored = dict[Model, Result]


@pytest.fixture(scope="module")
def smt() -> Any:
    """The oracle that needs z3: without it only its own tests fail."""
    return importlib.import_module("wakeproof.judge.oracle_smt")


def many(examples: int) -> settings:
    return settings(
        max_examples=examples * TRUST,
        derandomize=TRUST == 1,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def batches(kinds: Kinds | None = None) -> st.SearchStrategy[list[str]]:
    return st.lists(small(kinds).map(text), min_size=1, max_size=10, unique=True)


def graphs(
    programs: Sequence[str], models: Sequence[Model] = tuple(Model), **options: bool
) -> list[Explored]:
    chosen = ExploreOptions(
        engine="graphs", timeouts=False, check_duplicates=True, seconds=10.0, **options
    )
    return litmus.explore(programs, models, chosen, explorer=EXPLORER)


def states(programs: Sequence[str]) -> list[Explored]:
    chosen = ExploreOptions(engine="states", models=ORDERLY, timeouts=False)
    return litmus.explore(programs, ORDERLY, chosen, explorer=EXPLORER)


def ended(result: Result) -> dict[str, int]:
    return {found.text: found.count for found in result.outcomes if found.verdict == "ended"}


def difference(expected: oracle.Result, got: Result) -> str:
    """Say how the explorer's answer differs; "": not at all.

    A race and a failed assertion end the exploration of what follows: then only they are compared,
    and that no outcome is invented.
    """
    if got.error or not got.exhaustive or got.duplicates:
        return f"no answer: {got.error or got.stopped or f'{got.duplicates} duplicates'}"
    verdicts = got.verdicts - {"ended"}
    allowed = {"race": expected.is_racy, "assertion": expected.fails}
    allowed = {verdict for verdict, is_possible in allowed.items() if is_possible}
    if verdicts - allowed or bool(verdicts) != bool(allowed):
        return f"expected {sorted(allowed)}, got {sorted(verdicts)}"
    if allowed:
        invented = ended(got).keys() - expected.outcomes.keys()
        return f"invented {sorted(invented)}" if invented else ""
    if ended(got) != expected.outcomes or got.executions != expected.executions:
        more, less = ended(got).items(), expected.outcomes.items()
        return (
            f"expected {expected.executions} executions, got {got.executions}; "
            f"too many or too often {sorted(more - less)}, expected {sorted(less - more)}"
        )
    return ""


def differences(
    programs: Sequence[str],
    got: Iterable[Explored],
    axioms: Mapping[Model, Axioms] = AXIOMS,
    switches: Switches | None = None,
) -> list[str]:
    """Return where the explorer and the oracle differ, shortest program first."""
    found = []
    for program, explored in zip(programs, got, strict=True):
        expected = oracle.explore(program, axioms, switches)
        for model, result in expected.items():
            what = difference(result, explored[model])
            found += [f"{model.label}: {what}\n{program}"] if what else []
    return sorted(found, key=len)


# Published numbers.


@pytest.mark.parametrize("name", EXPECTED)
def test_published_counts_are_the_axioms_and_the_explorer_s(name: str) -> None:
    row, program = EXPECTED[name], (LITMUS / f"{name}.txt").read_text()
    explored = graphs([program])[0]
    for model in Model:
        assert ("race" in explored[model].verdicts) == row["race"]
        if not row["race"]:  # else what is racy is no complete execution for the explorer
            assert explored[model].executions == row[model.value]
    if name in LOOPS or (row["rc11"] > 1000 and TRUST == 1):
        return
    for model, expected in oracle.explore(program).items():
        assert (expected.executions, expected.is_racy) == (row[model.value], row["race"])


@pytest.mark.parametrize("name", VERDICTS)
def test_published_verdicts_are_the_axioms_and_the_explorer_s(name: str) -> None:
    row, program = VERDICTS[name], (LITMUS / f"{name}.txt").read_text()
    explored = graphs([program])[0]
    if name in LOOPS:
        assert all((row["bad"] in explored[model].texts) == row[model.value] for model in Model)
        return
    axioms = oracle.explore(program)
    for model in Model:
        can_be = axioms[model].outcomes.keys() | ({"race"} if axioms[model].is_racy else set())
        assert (row["bad"] in can_be) == row[model.value]
        if not axioms[model].is_racy:
            assert (row["bad"] in explored[model].texts) == row[model.value]
        assert not difference(axioms[model], explored[model])


@pytest.mark.parametrize(
    ("name", "switch", "now", "then"),
    [
        ("L54", "c11_release_sequence", (4, True), (3, False)),
        ("V12", "paper_scb", (22, False), (24, False)),
    ],
)
def test_published_counts_of_older_flavours(
    name: str, switch: str, now: tuple[int, bool], then: tuple[int, bool]
) -> None:
    program = (LITMUS / f"{name}.txt").read_text()
    for value, wanted in ((False, now), (True, then)):
        got = oracle.explore(program, switches=Switches(**{switch: value}))[Model.RC11]
        assert (got.executions, got.is_racy) == wanted
        assert not difference(
            got, graphs([program], (Model.RC11,), **{switch: value})[0][Model.RC11]
        )


# Random programs.


@pytest.mark.slow
@many(60)
@given(batches())
def test_graphs_are_the_axioms_executions(programs: list[str]) -> None:
    assert not differences(programs, graphs(programs))


@pytest.mark.slow
@many(20)
@given(batches(Kinds(plain=False, assume=True, asserts=True)))
def test_graphs_are_the_axioms_executions_with_conditions(programs: list[str]) -> None:
    assert not differences(programs, graphs(programs))


@pytest.mark.slow
@many(20)
@given(batches(ASYMMETRIC))
def test_graphs_are_the_axioms_executions_with_asymmetric_fences(programs: list[str]) -> None:
    assert not differences(programs, graphs(programs))


@pytest.mark.slow
def test_graphs_are_the_axioms_executions_of_classic_shapes() -> None:
    programs = [text(program) for program in classics()]
    assert len(programs) > 1000
    assert not differences(programs, graphs(programs))


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["c11_release_sequence", "paper_scb"])
def test_graphs_are_the_axioms_executions_in_older_flavours(switch: str) -> None:
    flavour = {switch: True}
    shapes = ("Wx Wy Wy|Ry Rx", "Wx Wy|Uy|Ry Rx", "Wx Wy|Uy Ry|Wy Rx")  # where flavours differ
    programs = [text(program) for program in classics(shapes)]
    axioms = {Model.RC11: oracle_models.rc11}
    older, newer = (graphs(programs, (Model.RC11,), **options) for options in (flavour, {}))
    assert not differences(programs, older, axioms, Switches(**flavour))
    assert differences(programs, newer, axioms, Switches(**flavour))


@pytest.mark.slow
@many(20)
@given(batches())
def test_states_end_as_the_axioms_say(programs: list[str]) -> None:
    for program, explored in zip(programs, states(programs), strict=True):
        for model, expected in oracle.explore(program, ORDERLY_AXIOMS).items():
            if not expected.is_racy:
                assert ended(explored[model]).keys() == expected.outcomes.keys(), (model, program)


@pytest.mark.slow
@many(20)
@given(batches(ASYMMETRIC))
def test_states_end_as_the_axioms_say_with_asymmetric_fences(programs: list[str]) -> None:
    for program, explored in zip(programs, states(programs), strict=True):
        for model, expected in oracle.explore(program, ORDERLY_AXIOMS).items():
            assert ended(explored[model]).keys() == expected.outcomes.keys(), (model, program)


def disagreements(
    programs: Sequence[str], by_graphs: Iterable[Explored], by_states: Iterable[Explored]
) -> list[str]:
    """Return the programs without a race for which the engines find different outcomes."""
    return [
        f"{model.label}: {sorted(graph[model].texts ^ state[model].texts)}\n{program}"
        for program, graph, state in zip(programs, by_graphs, by_states, strict=True)
        for model in ORDERLY
        if "race" not in graph[model].verdicts and graph[model].texts != state[model].texts
    ]


@pytest.mark.slow
@many(40)
@given(batches(Kinds(plain=False, most=7, candidates=100_000)))
def test_graphs_and_states_agree_beyond_what_an_oracle_can(programs: list[str]) -> None:
    assert not disagreements(programs, graphs(programs, ORDERLY), states(programs))


@pytest.mark.parametrize("name", [name for name in VERDICTS if name[0] in "VW"])
def test_published_verdicts_are_z3_s(smt: Any, name: str) -> None:
    row, program = VERDICTS[name], (LITMUS / f"{name}.txt").read_text()
    for model in Model:
        assert smt.is_reachable(program, model, row["bad"]) == row[model.value]


@pytest.mark.slow
@many(15)
@given(small())
def test_z3_finds_the_outcomes_of_the_axioms(smt: Any, program: Program) -> None:
    for model, expected in oracle.explore(text(program)).items():
        assert smt.outcomes(text(program), model) == expected.outcomes.keys()


@pytest.mark.slow
@many(15)
@given(small(replace(ASYMMETRIC, assume=True)))
def test_z3_finds_the_outcomes_of_graphs(smt: Any, program: Program) -> None:
    for model, result in graphs([text(program)])[0].items():
        assert smt.outcomes(text(program), model) == ended(result).keys()


@pytest.mark.slow
def test_every_smallest_program_agrees() -> None:
    programs = [text(program) for program in smallest()]
    assert len(programs) > 4000
    explored = graphs(programs)
    assert not differences(programs, explored)
    assert not disagreements(programs, explored, states(programs))


@pytest.mark.slow
@pytest.mark.skipif(TRUST == 1, reason="takes minutes: WAKEPROOF_TRUST=20")
@pytest.mark.parametrize("more", ["updates", "fences"])
def test_every_smallest_program_agrees_with(more: str) -> None:
    programs = [text(program) for program in smallest(**{more: True})]
    assert not differences(programs, graphs(programs))


# What must hold whatever the axioms are.


@pytest.mark.slow
@many(30)
@given(small(Kinds(plain=False, fences=("acquire", "release", "acq_rel", "light"))))
def test_a_stronger_order_adds_nothing(program: Program) -> None:
    base, *rest = graphs([text(program), *map(text, stronger(program))])
    for explored in rest:
        for model, result in explored.items():
            assert result.executions <= base[model].executions
            assert result.texts <= base[model].texts


@pytest.mark.slow
@many(30)
@given(batches(Kinds(plain=False)))
def test_weaker_models_allow_what_stronger_ones_do(programs: list[str]) -> None:
    for explored in graphs(programs):
        sc, tso, rc11 = (explored[model] for model in Model)
        assert sc.texts <= tso.texts <= rc11.texts
        assert sc.executions <= tso.executions <= rc11.executions


@pytest.mark.slow
@many(30)
@given(small(Kinds(plain=False)))
def test_the_threads_order_in_the_text_does_not_matter(program: Program) -> None:
    orders = permutations(range(len(program.threads)))
    base, *rest = graphs([text(permuted(program, order)) for order in orders])
    for explored in rest:
        for model, result in explored.items():
            assert ended(result) == ended(base[model])


@pytest.mark.slow
@many(30)
@given(batches(Kinds(plain=False)))
def test_longer_release_sequences_add_nothing(programs: list[str]) -> None:
    longer = graphs(programs, (Model.RC11,), c11_release_sequence=True)
    for c11, now in zip(longer, graphs(programs, (Model.RC11,)), strict=True):
        assert c11[Model.RC11].executions <= now[Model.RC11].executions
        assert c11[Model.RC11].texts <= now[Model.RC11].texts


# A judge that is wrong must be found out.

WRONG: dict[str, dict[Model, Axioms]] = {
    "RC11 without psc": {Model.RC11: oracle_models.rc11_without_psc},
    "TSO without fences": {Model.TSO: lambda graph: oracle_models.tso(graph, fences=False)},
    "SC taken for TSO": {Model.TSO: oracle_models.sc},
    "TSO taken for RC11": {Model.RC11: oracle_models.tso},
    "no axioms but coherence": {Model.RC11: lambda graph: graph.is_coherent},
}
"""With one model's axioms wrong: SB, MP, LB, S, R and 2+2W must show it."""


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_wrong_axioms_are_found_out(name: str) -> None:
    programs = [text(program) for program in classics(SKELETONS[:6])]
    found = differences(programs, graphs(programs), WRONG[name])
    assert found
    assert "executions, got" in found[0]


def test_wrong_axioms_are_found_out_by_races(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (LITMUS / "L52.txt").read_text()
    explored = graphs([program])
    assert not differences([program], explored)
    monkeypatch.setattr(Frame, "hb", property(lambda frame: frame.po))
    found = differences([program], explored)
    assert len(found) == len(Model)
    assert "expected ['race'], got []" in found[0]


def test_engines_that_disagree_are_found_out() -> None:
    programs = [SB.format(order="relaxed")]
    sc, explored = graphs(programs, (Model.SC,))[0][Model.SC], states(programs)
    assert not disagreements(programs, graphs(programs), explored)
    assert disagreements(programs, graphs(programs), [{Model.SC: sc, Model.TSO: sc}])


def test_z3_with_the_wrong_model_is_found_out(smt: Any) -> None:
    program = SB.format(order="relaxed")
    found = [smt.outcomes(program, model) for model in Model]
    assert found[0] != found[1] == found[2] == graphs([program])[0][Model.TSO].texts


def _lost(result: Result) -> Result:
    return replace(result, outcomes=result.outcomes[1:])


def _miscounted(result: Result) -> Result:
    first, *rest = result.outcomes
    return replace(result, outcomes=(replace(first, count=first.count + 1), *rest))


@pytest.mark.parametrize(
    "wrong",
    [
        _lost,
        _miscounted,
        lambda result: replace(result, executions=result.executions + 1),
        lambda result: replace(result, duplicates=1),
        lambda result: replace(result, exhaustive=False, stopped="max_seconds"),
        lambda result: replace(result, error="out of memory"),
    ],
)
def test_an_explorer_that_lies_is_found_out(wrong) -> None:
    program = SB.format(order="relaxed")
    expected, got = oracle.explore(program), graphs([program])[0]
    for model in Model:
        assert not difference(expected[model], got[model])
        assert difference(expected[model], wrong(got[model]))
