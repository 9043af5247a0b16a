# SPDX-License-Identifier: Apache-2.0
"""The explorer can be trusted because four judges that share no code agree.

    graphs.c    executions and outcomes       oracle.py       the same, from the axioms
    states.c    outcomes under SC and TSO     oracle/smt.py   outcomes, by z3

Here on random programs and on every smallest one; on published ones in test_published.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from tests.support.judges import (
    ORDERLY,
    TRUST,
    batches,
    differences,
    disagreements,
    ended,
    graphs,
    many,
    states,
)
from tests.support.random_programs import Kinds, small
from tests.support.shapes import classics, smallest

from wakeproof.judge.explore.litmus_program import Program
from wakeproof.judge.explore.options import Model
from wakeproof.judge.oracle import models as oracle_models
from wakeproof.judge.oracle import run as oracle
from wakeproof.judge.oracle.graph import Switches
from wakeproof.judge.oracle.models import AXIOMS

ORDERLY_AXIOMS = {model: AXIOMS[model] for model in ORDERLY}
ASYMMETRIC = Kinds(plain=False, fences=("light", "heavy", "seq_cst"))


@pytest.mark.rotates
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


@pytest.mark.rotates
@pytest.mark.slow
def test_graphs_are_the_axioms_executions_of_classic_shapes() -> None:
    programs = [str(program) for program in classics()]
    assert len(programs) > 1000
    assert not differences(programs, graphs(programs))


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["c11_release_sequence", "paper_scb"])
def test_graphs_are_the_axioms_executions_in_older_flavours(switch: str) -> None:
    flavour = {switch: True}
    # Shapes in which the flavours differ.
    shapes = ("Wx Wy Wy|Ry Rx", "Wx Wy|Uy|Ry Rx", "Wx Wy|Uy Ry|Wy Rx")
    programs = [str(program) for program in classics(shapes)]
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


@pytest.mark.slow
@many(40)
@given(batches(Kinds(plain=False, most=7, candidates=100_000)))
def test_graphs_and_states_agree_beyond_what_an_oracle_can(programs: list[str]) -> None:
    assert not disagreements(programs, graphs(programs, ORDERLY), states(programs))


@pytest.mark.slow
@many(15)
@given(small())
def test_z3_finds_the_outcomes_of_the_axioms(smt: Any, program: Program) -> None:
    for model, expected in oracle.explore(str(program)).items():
        assert smt.outcomes(str(program), model) == expected.outcomes.keys()


@pytest.mark.rotates
@pytest.mark.slow
@many(15)
@given(small(replace(ASYMMETRIC, assume=True)))
def test_z3_finds_the_outcomes_of_graphs(smt: Any, program: Program) -> None:
    for model, result in graphs([str(program)])[0].items():
        assert smt.outcomes(str(program), model) == ended(result).keys()


@pytest.mark.rotates
@pytest.mark.slow
def test_every_smallest_program_agrees() -> None:
    programs = [str(program) for program in smallest()]
    assert len(programs) > 4000
    explored = graphs(programs)
    assert not differences(programs, explored)
    assert not disagreements(programs, explored, states(programs))


@pytest.mark.slow
@pytest.mark.skipif(TRUST == 1, reason="takes minutes: WAKEPROOF_TRUST=20")
@pytest.mark.parametrize("more", ["updates", "fences"])
def test_every_smallest_program_agrees_with(more: str) -> None:
    programs = [str(program) for program in smallest(**{more: True})]
    assert not differences(programs, graphs(programs))
