# SPDX-License-Identifier: Apache-2.0
"""CI leaves out a test only if the CI run of another commit has it."""

from __future__ import annotations

import pytest
from tests.support import rotating

from wakeproof.judge import lock


@pytest.mark.slow
@pytest.mark.parametrize("case", range(20))
def test_a_case_of_a_slow_test_is_due_in_one_quarter(
    case: int, request: pytest.FixtureRequest
) -> None:
    assert rotating.is_rotating(request.node)
    due = [rotating.is_due(request.node, (quarter, "")) for quarter in range(lock.QUARTERS)]
    assert due.count(True) == 1, case
    assert rotating.is_due(request.node, None)


@pytest.mark.parametrize("case", range(2))
def test_a_case_of_a_quick_test_is_always_due(case: int, request: pytest.FixtureRequest) -> None:
    assert all(rotating.is_due(request.node, (quarter, "")) for quarter in range(lock.QUARTERS))
    assert case in (0, 1)


@pytest.mark.slow
@pytest.mark.always
@pytest.mark.parametrize("case", range(2))
def test_a_case_that_says_so_is_always_due(case: int, request: pytest.FixtureRequest) -> None:
    assert all(rotating.is_due(request.node, (quarter, "")) for quarter in range(lock.QUARTERS))
    assert case in (0, 1)


@pytest.mark.slow
def test_a_slow_test_of_one_case_is_always_due(request: pytest.FixtureRequest) -> None:
    assert all(rotating.is_due(request.node, (quarter, "")) for quarter in range(lock.QUARTERS))


@pytest.mark.rotates
def test_a_test_that_says_so_rotates(request: pytest.FixtureRequest) -> None:
    assert rotating.is_rotating(request.node)


@pytest.mark.parametrize("quarter", range(lock.QUARTERS))
def test_every_quarter_has_cases(quarter: int) -> None:
    names = [f"tests/toy.py::test_toy[{case}]" for case in range(100)]
    assert 10 < sum(lock.quarter(name) == quarter for name in names) < 40
