# SPDX-License-Identifier: Apache-2.0
"""A declaration that could never grade, match or be seen is refused (judge/declarations.py)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.declarations import Outcome, Scenario, Twin, check

TABLE = (
    Outcome("0,0", "FORBIDDEN", "lost"),
    Outcome("1,*", "ACCEPTABLE", "seen"),
    Outcome("*", "ACCEPTABLE", "other"),
)
RACE = Scenario(Path("race.c"), "race", "claim", "Guard!Served", 2, 2, False, 0, TABLE)
TWIN = Twin(Path("race.c"), "blind", "race", "d", "0,0", frozenset({"stress"}), frozenset())


def test_what_makes_sense_is_taken() -> None:
    check([RACE], [TWIN, replace(TWIN, shows="*"), replace(TWIN, shows="asleep")])


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ((*TABLE, Outcome("1,0", "REQUIRED", "")), r"'1,0' never grades: '1,\*' before it"),
        ((*TABLE, Outcome("0,0", "ACCEPTABLE", "")), "'0,0' never grades"),
        ((Outcome("*", "ACCEPTABLE", ""), *TABLE), r"'\*' never grades"),
        ((Outcome("0", "ACCEPTABLE", ""),), r"race.c: race: outcome '0' needs 2 numbers or '\*'"),
        ((Outcome("0,,1", "ACCEPTABLE", ""),), "'0,,1' needs 2 numbers"),
        ((Outcome("0,1", "", ""),), "'0,1' has no grade: ACCEPTABLE, INTERESTING"),
    ],
)
def test_an_outcome_that_cannot_grade_is_named(outcomes: tuple[Outcome, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check([replace(RACE, outcomes=outcomes)], [])


def test_a_claim_needs_a_module_and_a_name() -> None:
    with pytest.raises(UsageError, match="upholds is 'Served': give \"Module!Claim\""):
        check([replace(RACE, upholds="Served")], [])
    check([replace(RACE, upholds="")], [])  # it has no spec


@pytest.mark.parametrize(
    ("twin", "message"),
    [
        (replace(TWIN, of="rice"), "is of 'rice', which this file does not declare.* race"),
        (replace(TWIN, shows="0"), "blind: shows '0' needs 2 numbers"),
        (replace(TWIN, shows="1,0"), "shows '1,0', which race allows: it can never betray"),
        (replace(TWIN, seen_by=frozenset()), "no judge is in seen_by or chance"),
        (replace(TWIN, chance=frozenset({"stress", "tso"})), "stress in seen_by and in chance"),
    ],
)
def test_a_twin_that_nobody_could_see_is_named(twin: Twin, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check([RACE], [twin])
