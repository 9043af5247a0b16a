# SPDX-License-Identifier: Apache-2.0
"""CI leaves out a test only if the CI run of another commit has it."""

from __future__ import annotations

from typing import cast

import pytest
from tests.support import rotating


@pytest.mark.slow
@pytest.mark.parametrize("case", range(2))
def test_a_case_of_a_slow_test_rotates(case: int, request: pytest.FixtureRequest) -> None:
    assert rotating.is_rotating(request.node), case


@pytest.mark.parametrize("case", range(2))
def test_a_case_of_a_quick_test_does_not(case: int, request: pytest.FixtureRequest) -> None:
    assert not rotating.is_rotating(request.node), case


@pytest.mark.slow
def test_a_slow_test_of_one_case_does_not(request: pytest.FixtureRequest) -> None:
    assert not rotating.is_rotating(request.node)


@pytest.mark.slow
@pytest.mark.always
@pytest.mark.parametrize("case", range(2))
def test_a_case_that_says_so_does_not(case: int, request: pytest.FixtureRequest) -> None:
    assert not rotating.is_rotating(request.node), case


@pytest.mark.rotates
def test_a_test_that_says_so_rotates(request: pytest.FixtureRequest) -> None:
    assert rotating.is_rotating(request.node)


class Case:
    """A case of a test that rotates, or of one that does not."""

    def __init__(self, test: str, case: int) -> None:
        self.test = test
        self.nodeid = f"{test}[{case}]"

    def get_closest_marker(self, name: str) -> bool | None:
        return True if (self.test, name) == ("turns", "rotates") else None


def test_the_cases_of_a_test_take_turns() -> None:
    cases = [Case(test, case) for case in range(20) for test in ("stays", "turns")]
    found = rotating.parts(cast("list[pytest.Item]", cases))
    first = rotating.part("turns")
    assert found[::2] == [None] * 20
    assert found[1::2] == [(first + turn) % rotating.PARTS for turn in range(20)]


def test_the_first_cases_of_many_tests_are_in_each_part() -> None:
    parts = [rotating.part(f"tests/toy.py::test_{at}") for at in range(25 * rotating.PARTS)]
    assert all(10 < parts.count(part) < 50 for part in range(rotating.PARTS))
