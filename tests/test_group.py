# SPDX-License-Identifier: Apache-2.0
"""wakeproof.CarrierGroup against specs/Group.tla: NoTaskLost, HomeReturn, WaitsForAll."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait

import pytest

from wakeproof import Carrier, CarrierGroup, ClosedError, ForkedError, Unfinished
from wakeproof import group as module
from wakeproof._ffi import lib
from wakeproof.errors import WrongThreadError

PATIENCE_S = 60  # a lost task fails the test instead of hanging it


def all_of(futures: list[Future[int]]) -> list[int]:
    assert not wait(futures, PATIENCE_S).not_done
    return [future.result() for future in futures]


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
        futures = [carrier.submit(lambda: group.running) for carrier in group for _ in range(50)]
        found = [future.result(PATIENCE_S) for future in futures]
    assert found == [carrier for carrier in group for _ in range(50)]
    assert not any(carrier.counts.directed or carrier.counts.probed for carrier in group)


def test_a_task_that_submits_keeps_its_child_on_its_own_carrier() -> None:
    with CarrierGroup(3) as group:

        def parent() -> tuple[Carrier | None, Future[Carrier | None]]:
            return group.running, group.factory()(lambda: group.running)

        for carrier in group:
            here, child = carrier.submit(parent).result(PATIENCE_S)
            assert here is carrier
            assert child.result(PATIENCE_S) is carrier


def test_a_task_behind_a_long_one_is_run_by_an_idle_sibling() -> None:
    # Search!WorkConservation, on real threads: nobody else would run it.
    go_on, begun = threading.Event(), Future[Carrier | None]()
    with CarrierGroup(2, work_stealing=True) as group:

        def long() -> None:
            begun.set_result(group.running)
            go_on.wait(PATIENCE_S)

        group[0].submit(long)
        busy = begun.result(PATIENCE_S)
        assert busy is not None
        for behind in [busy.submit(lambda: group.running) for _ in range(5)]:
            assert behind.result(PATIENCE_S) not in (busy, None)
        go_on.set()
    assert sum(carrier.counts.directed + carrier.counts.probed for carrier in group) >= 5


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
    # NoTaskLost: each task ran or was handed back, none both.
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
    behind = group.submit(int)
    unfinished = group.close(0.01)
    assert Unfinished("Event.wait", "running") in unfinished
    assert Unfinished("int", "queued") in unfinished
    go_on.set()
    assert group.close() in ([Unfinished("int", "queued")], [])
    assert behind.done()


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_callback_that_exits_ends_its_task_alone() -> None:
    with CarrierGroup(1) as group:
        go_on = threading.Event()
        future = group.submit(go_on.wait, PATIENCE_S)
        future.add_done_callback(lambda _: sys.exit("not noticed"))
        go_on.set()
        assert group.submit(int, "7").result(PATIENCE_S) == 7
        assert group.close() == []
    assert not module._works


def test_a_closed_group_is_freed_when_nobody_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    freed: list[object] = []
    monkeypatch.setattr(module, "_free", lambda native, _: freed.append(native))
    group = CarrierGroup(1)
    native = group._native
    assert [group.close(), group.close(), freed] == [[], [], []]
    del group
    gc.collect()
    assert freed == [native]
    lib.wp_group_free(native)


def test_a_carrier_cannot_close_its_own_group() -> None:
    with CarrierGroup(1) as group, pytest.raises(WrongThreadError, match="wait for itself"):
        group.submit(group.close).result(PATIENCE_S)


def test_a_carrier_may_close_another_group() -> None:
    with CarrierGroup(1) as outer, CarrierGroup(1) as inner:
        assert outer.submit(inner.close).result(PATIENCE_S) == []


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
        assert group.running is None
        assert group[0].runnable_count == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"carriers": 0}, "carriers is 0; allowed: 1 to 1,024"),
        ({"carriers": 1025}, "carriers is 1025; allowed: 1 to 1,024"),
        ({"carriers": True}, "carriers is True; allowed: 1 to 1,024"),
        ({"yield_us": 0}, "yield_us is 0; allowed: 1 to 1,000,000"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(arguments: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        CarrierGroup(**arguments)  # type: ignore[arg-type]


def in_child(what: Callable[[], object]) -> str:
    """Fork, call `what` there; return what it raised, or its result."""
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


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )


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
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    go_on.wait(60)\n"
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
