# SPDX-License-Identifier: Apache-2.0
"""`wakeproof conform --traces`: lies that are told, and those that are found without the spec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.support.biased_locks import LOST, TAKEN, ticket

from wakeproof.judge.traces import tamper
from wakeproof.judge.traces.concept import Cell, Step
from wakeproof.judge.traces.events import Event, Round
from wakeproof.judge.traces.maps import biased_lock as ticket_map
from wakeproof.judge.traces.maps.biased_lock import BIASED_LOCK_TRACES
from wakeproof.judge.traces.tamper import DROPPED, FLIPPED, MOVED, tampered, trace_of


def test_lies_come_again_from_the_same_seed_and_change_what_is_judged() -> None:
    rounds = [Round(1, [TAKEN, LOST, []], [True, True, True])]
    one, again, other = (tampered(BIASED_LOCK_TRACES, rounds, 9, seed) for seed in (1, 1, 2))
    assert [lie.tampered for lie in one.traces] == [lie.tampered for lie in again.traces]
    assert [lie.tampered for lie in one.traces] != [lie.tampered for lie in other.traces]
    told = trace_of(BIASED_LOCK_TRACES, rounds[0])
    assert all((lie.cells, lie.needs) != (told.cells, told.needs) for lie in one.traces)


def test_a_lie_that_the_table_finds_or_does_not_see_is_counted_and_not_told() -> None:
    drawn = [TAKEN[0], replace(TAKEN[1], result=7), *TAKEN[1:]]  # a turn that no thread has
    found = tampered(BIASED_LOCK_TRACES, [Round(1, [drawn, LOST, []], [True] * 3)], 9, 1)
    assert not any(lie.lie == DROPPED for lie in found.traces)
    assert found.by_table[DROPPED] > 0

    def looks(_: int, events: Sequence[Event]) -> list[Cell]:
        return [Cell(event, (Step("Look", ("s1",)),)) for event in events]

    blind = replace(BIASED_LOCK_TRACES, explain=looks, disagrees=lambda _: None, wrong=lambda _: "")
    found = tampered(blind, [Round(1, [TAKEN, LOST, []], [True] * 3)], 9, 1)
    assert found.unseen[FLIPPED] > 0
    assert not found.by_table


@pytest.mark.parametrize(
    ("place", "operand", "moves"), [(0, 2, True), (8, 2, False), (0, 0, False)]
)
def test_a_step_is_moved_past_one_on_the_same_place_that_did_something_else(
    monkeypatch: pytest.MonkeyPatch, place: int, operand: int, moves: bool
) -> None:
    monkeypatch.setattr(tamper, "KINDS", (MOVED,))
    early = ticket(0, "biased_lock.1", 1)
    other = replace(early, thread=1, begin=4, end=5, operand=operand, place=place)
    late = replace(other, begin=20, end=21)
    apart = replace(early, begin=9, end=10, place=16)
    rounds = [Round(1, [[early, apart], [other, late], []], [False] * 3)]
    table = replace(BIASED_LOCK_TRACES, wrong=lambda _: "")
    lies = tampered(table, rounds, 8, 1).traces
    assert bool(lies) is moves
    found = tampered(BIASED_LOCK_TRACES, rounds, 8, 1)
    assert (found.traces, found.by_table[MOVED] > 0) == ([], moves)
    for lie in lies:
        assert lie.cells[0][0].event == replace(early, begin=5.25, end=5.5)
        assert lie.may_go((0, 0, 0), 1)
        assert not lie.may_go((0, 0, 0), 0)


@pytest.mark.parametrize(
    ("late", "what"),
    [
        (ticket(1, "biased_lock.3", 7, 1), ""),
        (ticket(1, "biased_lock.3", 5, 0), ""),  # beside the release
        (ticket(1, "biased_lock.3", 7, 0), "biased_lock.3"),
        (ticket(1, "biased_lock.4", 7, 0), "biased_lock.4"),
        (ticket(1, "biased_lock.4", 7, 1), ""),
        (ticket(1, "biased_lock.1", 7, 0), "biased_lock.1"),
        (replace(ticket(1, "biased_lock.5", 7), operand=1), "biased_lock.5"),
        (replace(ticket(1, "biased_lock.5", 7), operand=2), ""),
    ],
)
def test_a_counter_that_goes_back_is_wrong(late: Event, what: str) -> None:
    said = ticket_map.wrong(Round(1, [TAKEN, [late]], [True] * 2))
    assert said == (what and f"[{what}] sees a number that its counter had passed")
