# SPDX-License-Identifier: Apache-2.0
"""Programs of ``tests/unmodified`` are judged as they are; each has a defect, -DBUG, that shows."""

from __future__ import annotations

import pytest
from tests.support.own import of_program, verdicts

from wakeproof import locations
from wakeproof.judge.explore.options import Model
from wakeproof.judge.own.program import Program

FOLDER = locations.sources() / "tests" / "unmodified"
RACE = "race race race"
SHOWN = {
    "aba_stack": "assertion assertion assertion",
    "barrier_phases": "asleep asleep asleep",
    "bounded_buffer": "asleep asleep asleep",
    "futex_event": "asleep asleep asleep",
    "lazy_init": RACE,
    "mpsc_queue": RACE,
    "mutex_counter": RACE,
    "read_copy_update": "crash crash crash",
    "reference_count": RACE,
    "semaphore_result": RACE,
    "seqlock": "ended ended assertion",
    "thread_pool": "lost_wakeup lost_wakeup lost_wakeup",
    "wakeup_guard": "ended asleep asleep",
}
"""What the defect does, by model."""


def test_each_program_has_its_row() -> None:
    assert {file.stem for file in FOLDER.glob("*.c")} == SHOWN.keys()


@pytest.mark.parametrize("name", SHOWN)
def test_a_program_holds_under_each_model(name: str) -> None:
    for model, result in of_program(Program((FOLDER / f"{name}.c",))).items():
        assert result.verdicts == {"ended"}, model
        assert (result.exhaustive, result.duplicates) == (True, 0)


@pytest.mark.parametrize("name", SHOWN)
def test_the_defect_of_a_program_shows(name: str) -> None:
    results = of_program(Program((FOLDER / f"{name}.c",), ("-DBUG",)))
    assert verdicts(results) == SHOWN[name]
    assert all(result.exhaustive and not result.duplicates for result in results.values())


def test_a_lost_wakeup_says_who_sleeps_and_what_it_missed() -> None:
    results = of_program(Program((FOLDER / "wakeup_guard.c",), ("-DBUG",)))
    found = next(f for f in results[Model.TSO].outcomes if f.verdict != "ended")
    assert found.actors == ("main", "produce")
    steps = [(event.thread, event.site.what if event.site else "", event.location or "")
             for event in found.example]  # fmt: skip
    assert (0, "sem_wait", "is_woken") in steps
    assert (1, "exchange", "sleeps") in steps
