# SPDX-License-Identifier: Apache-2.0
"""Laws that hold for the explorer's answers whatever the axioms are."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from tests.support.judges import batches, ended, graphs, many
from tests.support.litmus import permuted, stronger
from tests.support.random_programs import Kinds, small

from wakeproof.judge.explore.litmus_program import Program
from wakeproof.judge.explore.options import MODELS, Model


@pytest.mark.slow
@many(30)
@given(small(Kinds(plain=False, fences=("acquire", "release", "acq_rel", "light"))))
def test_a_stronger_order_adds_nothing(program: Program) -> None:
    base, *rest = graphs([str(program), *map(str, stronger(program))])
    for explored in rest:
        for model, result in explored.items():
            assert result.executions <= base[model].executions
            assert result.texts <= base[model].texts


@pytest.mark.slow
@many(30)
@given(batches(Kinds(plain=False)))
def test_weaker_models_allow_what_stronger_ones_do(programs: list[str]) -> None:
    for explored in graphs(programs):
        sc, tso, rc11 = (explored[model] for model in MODELS)
        assert sc.texts <= tso.texts <= rc11.texts
        assert sc.executions <= tso.executions <= rc11.executions


@pytest.mark.slow
@many(30)
@given(small(Kinds(plain=False)))
def test_the_threads_order_in_the_text_does_not_matter(program: Program) -> None:
    orders = permutations(range(len(program.threads)))
    base, *rest = graphs([str(permuted(program, order)) for order in orders])
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
