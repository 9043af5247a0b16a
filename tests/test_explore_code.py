"""The code of actors: what the explorer sees of it, and what it refuses, each with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeproof.judge.explore import ExploreReport, explore
from wakeproof.judge.explore_options import ExploreOptions, Model
from wakeproof.judge.grading import HELD, VIOLATED

SCENARIOS = Path(__file__).parent / "scenarios"


def explored(file: str, name: str, *models: Model, engine: str = "auto") -> ExploreReport:
    options = ExploreOptions(models=models, engine=engine)
    return explore([SCENARIOS / file], f"^{name}$", options, twins=False)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("refused_static", "reads memory outside its state, at 0x"),
        ("refused_loop", "loops for seconds without a shared operation"),
        ("refused_overflow", "overflows its stack"),
        ("refused_stray", "touches memory that is not there"),
        ("refused_mixed", "accesses of mixed size are not explored"),
        ("refused_time", "differently after its start: to STORE &state->word at unexplorable.c:"),
        ("refused_time_late", "run twice it goes on differently after plain store"),
        ("refused_choice", "litmus_choose(65): from 1 to 64 are explored"),
        ("refused_no_choice", "litmus_choose(0): from 1 to 64 are explored"),
        ("refused_beyond", "touches 8 bytes at state+24: its state has 16 bytes"),
        ("refused_beyond_atomic", "touches 8 bytes at state+16: its state has 16 bytes"),
        ("refused_beyond_set", "writes beyond its state, which has 16 bytes"),
        ("refused_init_beyond", "init of refused_init_beyond writes at state+40"),
        ("refused_many", "come to more than 1024 different operations"),
    ],
)
def test_code_that_cannot_be_explored_is_refused_with_the_reason(name: str, message: str) -> None:
    [scenario] = explored("unexplorable.c", name, Model.SC).scenarios
    assert scenario.status == VIOLATED
    assert any(message in said for said in scenario.messages), scenario.messages


PLAIN = {
    "plain_same": {"0", "7"},
    "plain_of_atomic": {"0", "7"},  # written by an atomic, read plainly, ordered by the flag
    "plain_race": {"race"},
    "plain_overlap": "of mixed size",
    "plain_copy": "of mixed size",
    "plain_memset": "the compiler does not report",
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_memory_is_seen_as_it_is_or_refused(name: str) -> None:
    expected = PLAIN[name]
    [scenario] = explored("plain.c", name, Model.RC11).scenarios
    [judged] = scenario.judged
    if isinstance(expected, str):
        assert expected in judged.result.error
    else:
        assert (set(judged.result.texts), judged.result.error) == (expected, "")


def test_an_atomic_of_any_type_keeps_its_value() -> None:
    [scenario] = explored("types.c", "types_keep", *Model, engine="both").scenarios
    assert (scenario.status, scenario.messages) == (HELD, ())
    late = "1,0,25,125,1,-7,1,79"
    assert all(late in judged.result.texts for judged in scenario.judged)
