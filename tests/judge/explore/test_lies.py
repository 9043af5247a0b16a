# SPDX-License-Identifier: Apache-2.0
"""A judge that is wrong on purpose must be found out by the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.support.judges import difference, differences, disagreements, graphs, states
from tests.support.litmus import LITMUS
from tests.support.shapes import SKELETONS, classics

from wakeproof.judge.explore.options import MODELS, Model
from wakeproof.judge.explore.results import Result
from wakeproof.judge.oracle import models as oracle_models
from wakeproof.judge.oracle import run as oracle
from wakeproof.judge.oracle.graph import Frame
from wakeproof.judge.oracle.models import Axioms

SB = """\
thread
  store x 1 relaxed
  r0 = load y relaxed
thread
  store y 1 relaxed
  r0 = load x relaxed
observe 0:r0 1:r0
"""
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
    programs = [str(program) for program in classics(SKELETONS[:6])]
    found = differences(programs, graphs(programs), WRONG[name])
    assert found
    assert "executions, got" in found[0]


def test_wrong_axioms_are_found_out_by_races(monkeypatch: pytest.MonkeyPatch) -> None:
    program = LITMUS["L52"]
    explored = graphs([program])
    assert not differences([program], explored)
    monkeypatch.setattr(Frame, "hb", property(lambda frame: frame.po))
    found = differences([program], explored)
    assert len(found) == len(MODELS)
    assert "expected ['race'], got []" in found[0]


def test_engines_that_disagree_are_found_out() -> None:
    programs = [SB]
    sc, explored = graphs(programs, (Model.SC,))[0][Model.SC], states(programs)
    assert not disagreements(programs, graphs(programs), explored)
    assert disagreements(programs, graphs(programs), [{Model.SC: sc, Model.TSO: sc}])


def test_z3_with_the_wrong_model_is_found_out(smt: Any) -> None:
    found = [smt.outcomes(SB, model) for model in MODELS]
    assert found[0] != found[1] == found[2] == graphs([SB])[0][Model.TSO].texts


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
    expected, got = oracle.explore(SB), graphs([SB])[0]
    for model in MODELS:
        assert not difference(expected[model], got[model])
        assert difference(expected[model], wrong(got[model]))
