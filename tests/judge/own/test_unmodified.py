# SPDX-License-Identifier: Apache-2.0
"""Programs of ``tests/unmodified`` are judged as they are; each has a defect, -DBUG, that shows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.own import CXX, RUST, of_program, verdicts

from wakeproof import locations
from wakeproof.judge.explore.options import Model
from wakeproof.judge.own.program import Program

FOLDER = locations.sources() / "tests" / "unmodified"
RACE = "race race race"
SHOWN = {
    "bounded_queue.rs": "asleep asleep asleep",
    "channel.rs": "asleep asleep asleep",
    "lock_free_stack.rs": "crash crash crash",
    "once_config.rs": RACE,
    "parked_waiter.rs": "asleep asleep asleep",
    "rwlock_pair.rs": "asleep asleep asleep",
    "scoped_counter.rs": RACE,
    "seqlock.rs": "ended ended assertion",
    "shared_count.rs": RACE,
    "spsc_ring.rs": RACE,
    "atomic_wait.cpp": "lost_wakeup lost_wakeup lost_wakeup",
    "call_once.cpp": RACE,
    "exceptions.cpp": "assertion assertion assertion",
    "intrusive_pointer.cpp": RACE,
    "lock_guard.cpp": RACE,
    "shared_lock.cpp": RACE,
    "shared_pointer.cpp": RACE,
    "spsc_ring.cpp": RACE,
    "static_local.cpp": RACE,
    "string_queue.cpp": "asleep asleep asleep",
    "aba_stack.c": "assertion assertion assertion",
    "barrier_phases.c": "asleep asleep asleep",
    "bounded_buffer.c": "asleep asleep asleep",
    "futex_event.c": "asleep asleep asleep",
    "lazy_init.c": RACE,
    "mpsc_queue.c": RACE,
    "mutex_counter.c": RACE,
    "read_copy_update.c": "crash crash crash",
    "reference_count.c": RACE,
    "semaphore_result.c": RACE,
    "seqlock.c": "ended ended assertion",
    "thread_pool.c": "lost_wakeup lost_wakeup lost_wakeup",
    "wakeup_guard.c": "ended asleep asleep",
}
"""What the defect does, by model."""
MARKS = {".cpp": CXX, ".rs": RUST}
FLAGS = {".cpp": ("-std=c++20",)}
DEFECT = {".rs": ("--cfg=bug",)}
NAMED = [
    pytest.param(name, marks=MARKS.get(Path(name).suffix, ())) for name in SHOWN
]  # fmt: skip


def test_each_program_has_its_row() -> None:
    assert {file.name for file in FOLDER.iterdir()} == SHOWN.keys()


def _program(name: str, *flags: str) -> Program:
    return Program((FOLDER / name,), FLAGS.get(Path(name).suffix, ()) + flags)


def _with_defect(name: str) -> Program:
    return _program(name, *DEFECT.get(Path(name).suffix, ("-DBUG",)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_a_program_holds_under_each_model(name: str) -> None:
    results = of_program(_program(name))
    for model, result in results.items():
        assert result.verdicts == {"ended"}, model
        assert (result.exhaustive, result.duplicates) == (True, 0)
    counts = [results[model].executions for model in (Model.SC, Model.TSO, Model.RC11)]
    assert counts == sorted(counts)  # what a model allows, the weaker ones allow


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_the_defect_of_a_program_shows(name: str) -> None:
    if name == "shared_pointer.cpp" and "clang" in os.environ.get("CC", ""):
        pytest.skip("clang has no hooks for parts of variables on the stack; there is a warning")
    results = of_program(_with_defect(name))
    assert verdicts(results) == SHOWN[name]
    assert all(result.exhaustive and not result.duplicates for result in results.values())


def test_a_lost_wakeup_says_who_sleeps_and_what_it_missed() -> None:
    results = of_program(_program("wakeup_guard.c", "-DBUG"))
    found = next(f for f in results[Model.TSO].outcomes if f.verdict != "ended")
    assert found.actors == ("main", "produce")
    steps = [(event.thread, event.site.what if event.site else "", event.location or "")
             for event in found.example]  # fmt: skip
    assert (0, "sem_wait", "is_woken") in steps
    assert (1, "exchange", "sleeps") in steps
