# SPDX-License-Identifier: Apache-2.0
"""Our own runtime, seen from outside: what a broken kernel has lost is named, and a good one is not
blamed."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from tests.judge.watch import twins
from tests.judge.watch.twins import Kernels
from tests.support import watching
from tests.support.ringed import needs_uring

from wakeproof.judge.watch.process import Process
from wakeproof.judge.watch.verdicts import Verdict

pytestmark = pytest.mark.slow
PARKED = """
import wakeproof
mutex = wakeproof.Mutex()
mutex.acquire()
threads = [wakeproof.VirtualThread(mutex.acquire).start() for _ in range(10)]
wakeproof.Parker().park()
"""
WAITING = "each thread waits, without limit, for this process: only a signal helps"


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return Kernels(watching.folder())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("parker_wake_forgotten", "its permit was given, and it sleeps on"),
        ("carrier_no_recheck", "it is parked although its "),
        ("semaphore_serves_one", "the semaphore has 3 permits, and it sleeps on"),
        ("poller_wakeup_forgotten", "it was woken: its word says so, and it sleeps on"),
        ("search_silent_internal", "a task is queued at a busy carrier, and no carrier searches"),
        ("search_unserved", "a search token is taken, and no carrier searches"),
        ("descriptor_poller_silent", " is readable, and it sleeps on"),
        (
            "descriptor_close_silent",
            "a task of v_reads (descriptor_close_silent): the descriptor is closed",
        ),
        ("descriptor_ends_silent", "the poller of descriptor "),
        ("poller_close_unseen", "it is to stop, and its poller sleeps"),
        (
            "condition_moved_is_deaf",
            "a task of v_awaits (condition_moved_is_deaf): the mutex is free",
        ),
        ("reserve_dismisses_silently", "its pool is stopped"),
        ("pool_chooses_silently", "its pool has chosen it for a job"),
        ("pool_one_wake", "a job is queued in its pool"),
        ("pool_close_silent", "its pool "),
        ("pool_leaves_silently", "the pool's threads have left"),
        ("scope_leaves_silent", "no subtask of the scope is left"),
        ("scope_grants_none", "a wait for the end of a scope was taken off its queue"),
        ("scope_cancel_silent", "the scope that it joins was cancelled"),
        ("spare_thread_keeps", "its carrier, which is parked, was asked for its role"),
        ("spare_thread_exits_first", "its carrier has ended"),
        ("spare_thread_lends_nothing", "no spare thread was started"),
        ("group_placement_ring_left", "a task is queued at a carrier that is marked as blocked"),
        ("spare_carrier_unwoken", "a task of a blocked carrier is to run, and it is parked"),
        ("group_placement_suspect_keeps", "a task is queued at a carrier that is marked as blocke"),
        ("spare_carrier_group_watched_silent", "to run, and no spare carrier was brought in"),
        pytest.param(
            "file_queue_unseen",
            "an operation on a file is listed, and it is parked",
            marks=needs_uring,
        ),
        pytest.param(
            "file_queue_submits_here",
            "a task of v_writes_file (file_queue_submits_here): its operation on a file is in no",
            marks=needs_uring,
        ),
        pytest.param("file_queue_cancel_ignored", " was cancelled", marks=needs_uring),
        ("wait_queue_leave_stays", "a close has handed back the thread that stands first in its"),
        ("wait_queue_leave_holds", "a close has handed back the thread that holds the mutex"),
        ("wait_queue_leave_exit_silent", "no thread is inside the group any more"),
        ("group_close_leaves_silent", "no other close is inside"),
        ("group_close_stops_forgotten", "a task is left that no carrier and no scheduler runs"),
        ("group_close_parks_silently", "a task is left that no carrier and no scheduler runs"),
        ("carrier_tasks_finish_silent", "the tasks of the group that it closes have ended"),
    ],
)
def test_what_a_twin_has_lost_is_named(kernels: Kernels, name: str, why: str) -> None:
    found = twins.watch(kernels.program(name), twins.TWINS[name], run_s=60)
    assert found is not None, "it has not hung"
    assert found.verdict == Verdict.MISSED
    assert any(why in one.why for one in found.threads if one.verdict == Verdict.MISSED)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("vthread_park_split", "it was unparked by parks_in_ring (vthread_park_split)"),
        ("condition_wakes_one", "condition (condition_wakes_one) was broadcast by condition_of"),
    ],
)
def test_a_wake_that_left_no_trace_is_hinted_at_by_the_recorder(
    kernels: Kernels, name: str, why: str
) -> None:
    found = twins.watch(kernels.program(name), twins.TWINS[name], run_s=60)
    assert found is not None, "it has not hung"
    assert found.verdict == Verdict.STUCK
    assert any(one.kind == "after" and one.why.startswith(why) and one.who.startswith("a task of ")
               for one in found.hints)  # fmt: skip


def test_the_kernel_without_a_defect_has_missed_nothing(kernels: Kernels) -> None:
    program = kernels.program()
    for mode in ("parker", "submit", "semaphore", "poll", "conserve_out", "io", "io_group_close",
                 "pool_idle", "pool_close", "scope", "lent", "lent_close", "placed", "replaced",
                 "watched", "back", "group_free", "close_twice", "close_parks"):  # fmt: skip
        with watching.running([str(program), mode, "60"]) as pid:
            found = watching.looked(pid, seconds=1.5, every_s=0.1)
        assert found.verdict not in (Verdict.MISSED, Verdict.DEADLOCK), found


def test_threads_that_wait_for_what_does_not_come_have_missed_nothing(kernels: Kernels) -> None:
    with watching.running([str(kernels.program()), "rest", "60"], is_recorded=True) as pid:
        found = watching.looked(pid)
    # That an earlier wake of a carrier reached nobody is usual (recorded.py). No other hint is.
    usual = [one for one in found.hints if one.kind == "nobody" and "(carrier-" in one.who]
    assert [hint for hint in found.hints if hint not in usual] == []
    assert {one.verdict for one in found.threads} == {Verdict.STUCK}
    waits = {one.waits_for for one in found.threads}
    assert waits == {"a mutex", "a semaphore", "a receive", "the end of a thread",
                     "park of a carrier"}  # fmt: skip
    (group,) = found.groups
    assert (group.tasks, group.parked_tasks, group.parked, group.signs) == (5, 5, 3, ())


def test_descriptors_scopes_and_pools_in_which_nothing_happens_have_missed_nothing(
    kernels: Kernels,
) -> None:
    with watching.running([str(kernels.program()), "rest_outside", "60"]) as pid:
        found = watching.looked(pid)
    assert {one.verdict for one in found.threads} <= {Verdict.WAITS, Verdict.STUCK}
    waits = Counter(one.waits_for for one in found.threads)
    assert waits == {"a read": 1, "epoll": 3, "the end of a pool": 1, "park": 4}
    (group,) = found.groups
    assert (group.tasks, group.parked_tasks, group.parked, group.signs) == (3, 3, 3, ())


def test_roles_closes_blocked_carriers_and_files_in_which_nothing_happens_have_missed_nothing(
    kernels: Kernels,
) -> None:
    with watching.running([str(kernels.program()), "rest_replaced", "60"]) as pid:
        found = watching.looked(pid)
    assert {one.verdict for one in found.threads} == {Verdict.WAITS}
    waits = Counter(one.waits_for for one in found.threads)
    assert waits == {"pinned park": 2, "the turn to close a group": 1, "the tasks of a group": 1,
                     "park": 4, "park of a carrier": 3, "epoll": 3,
                     "the next look of a monitor": 1, "the end of a thread": 1}  # fmt: skip
    assert [(one.carriers, one.parked, one.signs) for one in found.groups] == [
        (1, 1, ()), (4, 2, ()), (3, 3, ()), (2, 0, ())]  # fmt: skip


def test_a_reader_whose_poller_is_kept_from_running_has_missed_nothing(kernels: Kernels) -> None:
    with watching.running([str(kernels.program()), "io_blocked", "60"]) as pid:
        found = watching.looked(pid)
    assert {one.verdict for one in found.threads} == {Verdict.WAITS}
    assert [one.waits_for for one in found.threads].count("a read") == 1


def test_carriers_that_all_sleep_in_their_pollers_are_found(kernels: Kernels) -> None:
    with watching.running([str(kernels.program()), "poll_rest", "60"]) as pid:
        found = watching.looked(pid)
    (group,) = found.groups
    assert (group.carriers, group.parked, group.tasks, group.signs) == (3, 3, 0, ())
    assert {one.verdict for one in found.threads} == {Verdict.WAITS}
    assert {one.object for one in found.threads if one.tid != pid} == {
        f"carrier {index}, 2 descriptors" for index in range(3)
    }


def test_virtual_threads_of_python_are_counted() -> None:
    with watching.running([sys.executable, "-c", PARKED]) as pid:
        with Process(pid) as process:
            watching.come_to_rest(process, at_least=3)
        found = watching.looked(pid, seconds=1.8)
    (group,) = found.groups
    assert (group.tasks, group.parked_tasks) == (10, 10)
    assert group.parked == group.carriers > 0
    assert group.signs == ()
    assert {one.verdict for one in found.threads} == {Verdict.STUCK}
    assert {one.waits_for for one in found.threads} == {"park", "park of a carrier"}
    assert {one.why for one in found.threads} == {WAITING}
