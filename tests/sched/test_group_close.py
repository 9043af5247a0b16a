# SPDX-License-Identifier: Apache-2.0
"""Closing a group, against Group.tla: NoTaskLost, WaitsForAll, NothingRunsAfterClose."""

from __future__ import annotations

import gc
import re
import sys
import threading
from concurrent.futures import Future, wait

import pytest
from tests.support.cases import IN_CHECKOUT, Compiled
from tests.support.running import python, run

from wakeproof import CarrierGroup, ClosedError, Unfinished
from wakeproof._native.ffi import lib
from wakeproof._runtime import group_registry
from wakeproof.errors import WrongThreadError

PATIENCE_S = 60  # a lost task fails the test instead of hanging it


def all_of(futures: list[Future[int]]) -> list[int]:
    assert not wait(futures, PATIENCE_S).not_done
    return [future.result() for future in futures]


def test_a_close_waits_for_what_was_accepted_and_refuses_what_comes_later() -> None:
    # WaitsForAll; start_unlocked, first_list.
    group = CarrierGroup(2)
    futures = [group.submit(lambda n=n: n) for n in range(300)]
    assert group.close() == []
    assert all_of(futures) == list(range(300))
    with pytest.raises(ClosedError, match="int: the group is closed"):
        group.submit(int)
    assert group.close() == []
    assert group.closed


def test_a_close_that_cancels_hands_back_what_is_queued() -> None:
    # NoTaskLost: each task ran or was handed back, and none both.
    group, go_on = CarrierGroup(1), threading.Event()
    begun = threading.Event()
    group.submit(lambda: (begun.set(), go_on.wait(PATIENCE_S)))
    futures = [group.submit(lambda n=n: n) for n in range(20)]
    assert begun.wait(PATIENCE_S)
    closer: Future[list[Unfinished]] = Future()
    thread = threading.Thread(target=lambda: closer.set_result(group.close(cancel=True)))
    thread.start()
    while not group.closed:
        pass
    go_on.set()
    back = closer.result(PATIENCE_S)
    thread.join()
    ran = [future for future in futures if not future.cancelled()]
    assert len(back) + len(ran) == 20
    assert {one.state for one in back} <= {"queued"}
    assert all(future.done() for future in futures)


def test_a_close_whose_time_is_over_names_what_runs_and_what_waits() -> None:
    group, go_on = CarrierGroup(1), threading.Event()
    group.submit(go_on.wait, PATIENCE_S)
    behind = group.factory(name="behind")(int)
    unfinished = group.close(0.01)
    assert Unfinished("Event.wait", "running") in unfinished
    assert Unfinished("behind", "queued") in unfinished
    go_on.set()
    assert group.close() in ([Unfinished("behind", "queued")], [])
    assert not behind.is_alive()


def test_a_second_close_keeps_its_own_deadline() -> None:
    group, go_on = CarrierGroup(1), threading.Event()
    future = group.submit(go_on.wait, PATIENCE_S)
    first = threading.Thread(target=group.close)
    first.start()
    while not group.closed:
        pass
    assert group.close(0.01) == [Unfinished("Event.wait", "running")]
    go_on.set()
    first.join(PATIENCE_S)
    assert future.result(PATIENCE_S)
    assert group.close() == []


@pytest.mark.slow
def test_a_close_that_gives_up_lets_the_one_that_waits_go_on() -> None:
    # GroupClose!TurnIsPassedOn; leaves_silent.  The second close waits for its turn, then for all.
    group, go_on, begun = CarrierGroup(1), threading.Event(), threading.Event()
    last = group.submit(lambda: (begun.set(), go_on.wait(PATIENCE_S)))
    assert begun.wait(PATIENCE_S)
    results: list[Future[list[Unfinished]]] = [Future(), Future()]

    def closes(index: int, timeout_s: float | None) -> threading.Thread:
        close = threading.Thread(
            target=lambda: results[index].set_result(group.close(timeout_s)), daemon=True
        )
        close.start()
        return close

    hasty = closes(0, 0.3)
    while not group.closed:
        pass
    patient = closes(1, None)
    assert [one.state for one in results[0].result(PATIENCE_S)] == ["running"]
    go_on.set()
    assert results[1].result(PATIENCE_S) == []
    assert last.done()
    for thread in (hasty, patient):
        thread.join(PATIENCE_S)


def test_what_is_handed_back_may_close_the_group_again() -> None:
    group, go_on = CarrierGroup(1), threading.Event()
    begun = threading.Event()
    group.submit(lambda: (begun.set(), go_on.wait(PATIENCE_S)))
    again: list[object] = []
    behind = [group.submit(int) for _ in range(3)]  # the first may still run
    behind[1].add_done_callback(lambda _: again.append(group.close()))
    behind[1].add_done_callback(lambda _: sys.exit("not noticed"))
    assert begun.wait(PATIENCE_S)
    assert group.close(0.01)
    go_on.set()
    with pytest.raises(SystemExit):
        group.close()
    assert again == [[]]
    assert [future.cancelled() for future in behind[1:]] == [True, True]


def test_a_closed_group_is_freed_when_nobody_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    freed: list[object] = []
    monkeypatch.setattr(group_registry, "_free", lambda native, *_: freed.append(native))
    group = CarrierGroup(1)
    native = group._native
    assert [group.close(), group.close(), freed] == [[], [], []]
    del group
    gc.collect()
    assert freed == [native]
    lib.wp_group_free(native)


@pytest.mark.slow
@IN_CHECKOUT
@pytest.mark.parametrize(
    ("build", "twin", "pushed"), [("address", "", 0), ("plain", "-DWP_TWIN_task_unpark_busy=1", 6)]
)
def test_an_unpark_of_what_was_handed_back_queues_nothing(
    build: str, twin: str, pushed: int, compiled: Compiled
) -> None:
    # BackIsLeftAlone; its user may start it again.  One that was queued may still have run.
    ended = run(compiled("handed_back", build, *filter(None, [twin])))
    assert (ended.returncode, ended.stderr) == (0, "")
    found = re.fullmatch(
        r"handed back ([89]), of these parked 3\nqueued by an unpark (\d)\n"
        r"run by another group 9\n",
        ended.stdout,
    )
    assert found, ended.stdout
    assert int(found[2]) == (pushed and pushed + int(found[1]) - 9)


def test_a_carrier_cannot_close_its_own_group() -> None:
    with CarrierGroup(1) as group, pytest.raises(WrongThreadError, match="wait for itself"):
        group.submit(group.close).result(PATIENCE_S)


def test_a_carrier_may_close_another_group() -> None:
    with CarrierGroup(1) as outer, CarrierGroup(1) as inner:
        assert outer.submit(inner.close).result(PATIENCE_S) == []


@pytest.mark.slow
@pytest.mark.parametrize("task", ["int", "time.sleep, 60", "print, 'ran'"])
def test_the_interpreter_ends_while_carriers_run(task: str) -> None:
    ended = python(
        "import time\nfrom wakeproof import CarrierGroup\ngroup = CarrierGroup(2)\n"
        f"group.submit({task})\nprint('main is over')"
    )
    assert ended.returncode == 0, ended.stderr
    assert "main is over" in ended.stdout
    assert ended.stderr == ""


@pytest.mark.slow
def test_ctrl_c_ends_a_close_that_waits() -> None:
    code = (
        "import os, signal, threading\nfrom wakeproof import CarrierGroup\n"
        "go_on = threading.Event()\n"
        "def task():\n"
        "    while not go_on.is_set():\n"  # CPython may sleep although a signal has come
        "        os.kill(os.getpid(), signal.SIGINT)\n        go_on.wait(10)\n"
        "group = CarrierGroup(1)\n"
        "try:\n    group.submit(task)\n    group.close()\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
        "go_on.set()\nprint(group.close())"
    )
    ended = python(code)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "interrupted\n[]\n"


@pytest.mark.slow
def test_tasks_that_start_tasks_while_the_group_closes_are_refused_or_run() -> None:
    # start_unlocked: a start that meets the close is refused, or waited for.
    for _ in range(30):
        spawn_until_closed()


def spawn_until_closed() -> None:
    group = CarrierGroup(2, work_stealing=True)
    ran: list[int] = []
    accepted: list[int] = []

    def spawn(depth: int) -> None:
        ran.append(depth)
        for _ in range(2):
            try:
                group.submit(spawn, depth + 1)
            except ClosedError:
                return
            accepted.append(depth + 1)

    group.submit(spawn, 0)
    while len(ran) < 20:
        pass
    assert group.close() == []
    assert len(ran) == 1 + len(accepted)
