# SPDX-License-Identifier: Apache-2.0
"""wakeproof.CarrierGroup against specs/sched/Group.tla: NoTaskLost, HomeReturn, WaitsForAll."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from typing import Any

import pytest

from wakeproof import Carrier, CarrierGroup, ForkedError
from wakeproof._runtime import jobs

PATIENCE_S = 60  # a lost task fails the test instead of hanging it


@pytest.mark.parametrize("stealing", [False, True])
@pytest.mark.parametrize("carriers", [1, 2, 5])
def test_every_task_runs_exactly_once(carriers: int, stealing: bool) -> None:
    # NoTaskLost, EachRunsOnce.
    ran: list[int] = []
    with CarrierGroup(carriers, work_stealing=stealing) as group:
        futures = [group[n % carriers].submit(ran.append, n) for n in range(500)]
        assert not wait(futures, PATIENCE_S).not_done
    assert sorted(ran) == list(range(500))
    assert sum(carrier.counts.runs for carrier in group) == 500


def test_one_carrier_runs_its_tasks_in_the_order_of_their_submission() -> None:
    ran: list[int] = []
    with CarrierGroup(1) as group:
        for n in range(200):
            group.submit(ran.append, n)
    assert ran == list(range(200))


def test_without_stealing_a_task_runs_on_the_carrier_it_was_submitted_to() -> None:
    with CarrierGroup(3) as group:
        futures = [carrier.submit(lambda: group.running()) for carrier in group for _ in range(50)]
        found = [future.result(PATIENCE_S) for future in futures]
    assert found == [carrier for carrier in group for _ in range(50)]
    assert not any(carrier.counts.stolen for carrier in group)


def test_a_task_that_submits_keeps_its_child_on_its_own_carrier() -> None:
    with CarrierGroup(3) as group:

        def parent() -> tuple[Carrier | None, Future[Carrier | None]]:
            return group.running(), group.factory()(lambda: group.running())

        for carrier in group:
            here, child = carrier.submit(parent).result(PATIENCE_S)
            assert here is carrier
            assert child.result(PATIENCE_S) is carrier


def test_a_task_behind_a_long_one_is_run_by_an_idle_sibling() -> None:
    # Search!WorkConservation, on real threads: no other carrier would run it.
    go_on, begun = threading.Event(), Future[Carrier | None]()
    with CarrierGroup(2, work_stealing=True) as group:

        def long() -> None:
            begun.set_result(group.running())
            go_on.wait(PATIENCE_S)

        group[0].submit(long)
        busy = begun.result(PATIENCE_S)
        assert busy is not None
        for behind in [busy.submit(lambda: group.running()) for _ in range(5)]:
            assert behind.result(PATIENCE_S) not in (busy, None)
        go_on.set()
    assert sum(carrier.counts.stolen for carrier in group) >= 5


def test_without_stealing_a_task_behind_a_long_one_waits() -> None:
    go_on = threading.Event()
    with CarrierGroup(2) as group:
        group[0].submit(go_on.wait, PATIENCE_S)
        behind = group[0].submit(int)
        assert group[1].submit(int).result(PATIENCE_S) == 0
        assert not behind.done()
        go_on.set()
        assert behind.result(PATIENCE_S) == 0


def test_an_exception_comes_through_the_future() -> None:
    with CarrierGroup(1) as group:
        with pytest.raises(ValueError, match="invalid literal"):
            group.submit(int, "x").result(PATIENCE_S)
        assert group.submit(int, "7").result(PATIENCE_S) == 7


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_callback_that_exits_ends_its_task_alone() -> None:
    with CarrierGroup(1) as group:
        go_on = threading.Event()
        future = group.submit(go_on.wait, PATIENCE_S)
        future.add_done_callback(lambda _: sys.exit("not noticed"))
        go_on.set()
        assert group.submit(int, "7").result(PATIENCE_S) == 7
        assert group.close() == []
    assert not any(jobs.works)


def test_a_task_that_was_cancelled_before_it_began_does_not_run() -> None:
    go_on = threading.Event()
    with CarrierGroup(1) as group:
        group.submit(go_on.wait, PATIENCE_S)
        late = group.submit(int)
        assert late.cancel()
        go_on.set()
    with pytest.raises(CancelledError):
        late.result(PATIENCE_S)


def test_a_group_is_a_sequence_of_carriers_and_says_what_runs_where() -> None:
    with CarrierGroup(3) as group:
        assert len(group) == 3
        assert [carrier.index for carrier in group] == [0, 1, 2]
        assert group[1:] == (group[1], group[2])
        assert group.running() is None
        assert group[0].runnable_count == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"carriers": 0}, "carriers is 0; allowed: 1 to 1,024"),
        ({"carriers": 1025}, "carriers is 1025; allowed: 1 to 1,024"),
        ({"carriers": True}, "carriers is True; allowed: 1 to 1,024"),
        ({"placement": "two_choices"}, "placement is 'two_choices'; allowed: a Placement"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        CarrierGroup(**arguments)


def in_child(what: Callable[[], object]) -> str:
    """Fork, call `what` there, and return the exception, or the result."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = repr(what())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_forked_child_may_not_use_the_group_and_may_make_its_own() -> None:
    with CarrierGroup(2) as group:
        assert in_child(lambda: group.submit(int)).startswith(ForkedError.__name__)
        assert in_child(group.close).startswith(ForkedError.__name__)
        assert in_child(lambda: CarrierGroup(1).submit(int, "5").result(PATIENCE_S)) == "5"
        assert group.submit(int).result(PATIENCE_S) == 0


def test_what_a_group_prints_is_its_size_and_whether_it_is_closed() -> None:
    with CarrierGroup(2) as group:
        assert repr(group) == "<CarrierGroup of 2 carriers>"
    assert repr(group) == "<CarrierGroup of 2 carriers, closed>"
