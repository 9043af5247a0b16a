# SPDX-License-Identifier: Apache-2.0
"""With the kernel's orders no model loses a wakeup; which of them each model needs."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from tests.support.handshakes import HANDSHAKES, NONE, Row, lost, table
from tests.support.judges import TRUST

from wakeproof import locations
from wakeproof.judge.explore.options import MODELS, Model
from wakeproof.judge.oracle import run
from wakeproof.judge.oracle.models import AXIOMS

PAGE = locations.sources() / "docs" / "judging" / "armv8.md"

pytestmark = pytest.mark.slow


@cache
def _table() -> tuple[Row, ...]:
    return tuple(table())


@pytest.mark.parametrize("name", HANDSHAKES)
def test_no_model_loses_a_wakeup_with_the_kernel_s_orders(name: str) -> None:
    assert lost(HANDSHAKES[name]) == ()


@pytest.mark.parametrize("name", HANDSHAKES)
def test_each_full_fence_is_needed_by_some_model(name: str) -> None:
    fences = [
        row for row in _table() if row.handshake == name and row.order in ("seq_cst", "heavy")
    ]
    assert all(Model.RC11 in row.lost for row in fences)
    assert fences or name == "guard, the claimed wake"


def test_fences_of_both_sides_are_needed_on_x86_and_arm() -> None:
    gone = [row for row in _table() if row.handshake == "guard" and row.weaker == NONE]
    assert [row.label for row in gone] == ["guard.2", "guard.4"]
    assert all(set(row.lost) == {Model.TSO, Model.RC11, Model.ARMV8} for row in gone)


def test_sequential_consistency_needs_no_order() -> None:
    assert not [row for row in _table() if Model.SC in row.lost]


@pytest.mark.parametrize("name", HANDSHAKES)
def test_z3_says_the_same(smt: Any, name: str) -> None:
    handshake = HANDSHAKES[name]
    rows = [row for row in _table() if row.handshake == name]
    if TRUST == 1 and len(handshake.threads) > 2:  # else a minute
        rows = [row for row in rows if row.weaker in ("", NONE)]
    for row in rows:
        weaker = {row.label.replace(".", "_"): row.weaker} if row.label else {}
        text = handshake.text(**weaker)
        for model in MODELS:
            found = any(map(handshake.is_lost, smt.outcomes(text, model)))
            assert found == (model in row.lost), row


def test_a_wrong_model_shows_in_the_table() -> None:
    handshake = HANDSHAKES["guard"]
    without = {Model.SC: AXIOMS[Model.TSO]}
    text = handshake.text(guard_2=NONE)
    assert any(map(handshake.is_lost, run.explore(text, without)[Model.SC].outcomes))


def test_the_page_has_the_table() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    shown = [line for line in lines if line.endswith(("| sat |", "| unsat |"))]
    assert shown == [str(row) for row in _table()]
