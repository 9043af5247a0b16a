# SPDX-License-Identifier: Apache-2.0
"""The explorer, the axioms and z3 have the published numbers and verdicts of litmus programs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.judges import TRUST, difference, graphs
from tests.support.litmus import COUNTS, LITMUS, VERDICTS

from wakeproof.judge.explore.options import MODELS, Model
from wakeproof.judge.oracle import run as oracle
from wakeproof.judge.oracle.graph import Switches

EXPECTED = {
    name: row
    for name, row in COUNTS.items()
    if not name.startswith("F")  # the oracles know no futex calls and loops
}
LOOPS = ("N04", "N05", "N06")  # programs with loops, for the explorer only


@pytest.mark.parametrize("name", EXPECTED)
def test_published_counts_are_the_axioms_and_the_explorer_s(name: str) -> None:
    row, program = EXPECTED[name], LITMUS[name]
    explored = graphs([program])[0]
    for model in MODELS:
        assert ("race" in explored[model].verdicts) == row["race"]
        if not row["race"]:  # the explorer does not count a racy execution as complete
            assert explored[model].executions == row[model.value]
    if name in LOOPS or (row["rc11"] > 1000 and TRUST == 1):
        return
    for model, expected in oracle.explore(program).items():
        assert (expected.executions, expected.is_racy) == (row[model.value], row["race"])


@pytest.mark.parametrize("name", VERDICTS)
def test_published_verdicts_are_the_axioms_and_the_explorer_s(name: str) -> None:
    row, program = VERDICTS[name], LITMUS[name]
    explored = graphs([program])[0]
    if name in LOOPS:
        assert all((row["bad"] in explored[model].texts) == row[model.value] for model in MODELS)
        return
    axioms = oracle.explore(program)
    for model in MODELS:
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
    program = LITMUS[name]
    for value, wanted in ((False, now), (True, then)):
        got = oracle.explore(program, switches=Switches(**{switch: value}))[Model.RC11]
        assert (got.executions, got.is_racy) == wanted
        assert not difference(
            got, graphs([program], (Model.RC11,), **{switch: value})[0][Model.RC11]
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in VERDICTS if name[0] in "VW"])
def test_published_verdicts_are_z3_s(smt: Any, name: str) -> None:
    row, program = VERDICTS[name], LITMUS[name]
    for model in MODELS:
        assert smt.is_reachable(program, model, row["bad"]) == row[model.value]
