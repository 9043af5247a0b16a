# SPDX-License-Identifier: Apache-2.0
"""A process that hangs gets the verdict that it deserves, and its twin, which goes on, does not."""

from __future__ import annotations

import pytest
from tests.support import watching
from tests.support.watching import Case

from wakeproof.judge.watch.verdicts import Verdict

pytestmark = pytest.mark.slow
HANGS = [one for one in watching.cases() if one.file.suffix == ".c" and one.kind != "healthy"]


@pytest.mark.parametrize("case", HANGS, ids=[one.name for one in HANGS])
def test_a_hang_gets_its_verdict(case: Case) -> None:
    assert watching.judged(case).verdict == case.verdict


@pytest.mark.parametrize("case", HANGS, ids=[one.name for one in HANGS])
def test_its_twin_that_goes_on_only_waits(case: Case) -> None:
    assert watching.judged(case, is_fixed=True).verdict == case.fixed


def _named(name: str) -> Case:
    (found,) = (one for one in HANGS if one.name == name)
    return found


def test_a_deadlock_names_mutexes_owners_and_callers() -> None:
    found = watching.judged(_named("mutex_order"))
    first, second = sorted(found.threads, key=lambda one: one.tid)
    assert (first.object, second.object) == ("right (mutex_order)", "left (mutex_order)")
    assert (first.owner, second.owner) == (second.tid, first.tid)
    assert (first.called_by, second.called_by) == ("main (mutex_order)", "other (mutex_order)")
    assert first.why == f"each waits for the next: {first.tid} -> {second.tid} -> {first.tid}"


def test_one_look_alone_calls_nothing_missed() -> None:
    case = _named("sem_forgotten")
    with watching.running(watching.built(case, watching.folder(), is_fixed=False)) as pid:
        found = watching.looked(pid, seconds=0)
    assert (found.sweeps, found.verdict) == (1, Verdict.WAITS)
    assert [one.why for one in found.threads if one.waits_for == "semaphore"] == [
        "the semaphore counts 1"
    ]


def test_it_tells_how_long_a_thread_has_slept() -> None:
    with watching.running(["sleep", "1000"]) as pid:
        found = watching.looked(pid, seconds=1.8)
    (thread,) = found.threads
    assert thread.is_timed
    assert thread.since_s is not None
    assert 1.8 <= thread.since_s < 10
