# SPDX-License-Identifier: Apache-2.0
"""Python virtual threads against specs/VThread.tla: starts, ends, joins, closes; two processes."""

from __future__ import annotations

import contextvars
import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Iterator

import pytest

import wakeproof
from wakeproof import (
    CarrierGroup,
    ClosedError,
    ForkedError,
    Unfinished,
    VirtualThread,
    _jobs,
    _mount,
    park,
)
from wakeproof.errors import DeadlineError, StateError, UsageError, WrongThreadError

PATIENCE_S = 60  # a lost thread fails the test instead of hanging it


@pytest.fixture
def group() -> Iterator[CarrierGroup]:
    group = CarrierGroup(2)
    yield group
    assert group.close(10) == []


def parked(thread: VirtualThread) -> VirtualThread:
    thread.start()
    while thread.state != "parked":
        assert thread.is_alive()
    return thread


def finish_steps(group: CarrierGroup) -> None:
    """Return when each carrier has come back from the step that it was in."""
    for carrier in group:
        assert VirtualThread(int, group=carrier).start().join(PATIENCE_S)


def test_a_thread_is_new_then_runs_then_has_ended(group: CarrierGroup) -> None:
    seen: list[object] = []
    thread = VirtualThread(lambda: seen.append((thread.state, wakeproof.current())), group=group)
    assert (thread.state, thread.is_alive(), thread.is_virtual) == ("new", False, True)
    assert thread.start() is thread
    assert thread.join(PATIENCE_S)
    assert (thread.state, thread.is_alive()) == ("terminated", False)
    assert seen == [("running", thread)]
    assert thread.join(0)


def test_a_thread_starts_once(group: CarrierGroup) -> None:
    thread = VirtualThread(int, group=group).start()
    with pytest.raises(StateError, match=r"start virtual-\d+: it was started before"):
        thread.start()
    assert thread.result(PATIENCE_S) == 0


def test_arguments_go_to_the_callable_and_its_value_to_the_result(group: CarrierGroup) -> None:
    thread = VirtualThread(dict, [(1, 2)], group=group, name="maker", a=3)
    assert repr(thread) == "<VirtualThread maker new>"
    assert thread.start().result(PATIENCE_S) == {1: 2, "a": 3}


def test_it_stays_on_its_home(group: CarrierGroup) -> None:
    def body() -> list[object]:
        where = []
        for _ in range(50):
            where.append(group.running())
            wakeproof.yield_now()
        return where

    for carrier in group:
        thread = VirtualThread(body, group=carrier).start()
        assert thread.result(PATIENCE_S) == [carrier] * 50
        assert thread.home is carrier
    inner = VirtualThread(lambda: VirtualThread(body).home, group=group[1]).start()
    assert inner.result(PATIENCE_S) is group[1]


def test_one_that_was_not_begun_is_stolen_and_settles() -> None:
    # StaysSettled: its first carrier is blocked; it goes on where it began, when that is free too.
    group = CarrierGroup(2, work_stealing=True)

    def child() -> list[object]:
        where = [group.running(), group.home()]
        park()
        return [*where, group.running()]

    def parent() -> VirtualThread:
        thread = VirtualThread(child)
        assert thread.home is group[0]
        thread.start()
        deadline = time.monotonic() + PATIENCE_S
        while thread.state != "parked" and time.monotonic() < deadline:
            time.sleep(0.001)  # keeps its carrier
        return thread

    thread = VirtualThread(parent, group=group[0]).start().result(PATIENCE_S)
    assert thread.home is group[1]
    thread.unpark()
    assert thread.result(PATIENCE_S) == [group[1]] * 3
    assert group.close(10) == []


@pytest.mark.parametrize("state", ["parked", "queued"])
def test_a_close_hands_back_one_that_has_settled_elsewhere(state: str) -> None:
    # BackIsLeftAlone: it is on the list of one carrier, and queued at the other.
    group, leaves = CarrierGroup(2, work_stealing=True), threading.Event()

    def parent() -> VirtualThread:
        thread = VirtualThread(park, group=group, name="settled").start()
        while thread.state != "parked":
            time.sleep(0.001)
        return thread

    thread = VirtualThread(parent, group=group[0]).start().result(PATIENCE_S)
    assert thread.home is group[1]
    if state == "queued":  # behind the stop
        VirtualThread(leaves.wait, group=group[1]).start()
        threading.Timer(0.3, thread.unpark).start()
        threading.Timer(0.6, leaves.set).start()
    assert group.close(30, cancel=True) == [Unfinished("settled", state)]


def test_threads_of_a_group_take_its_carriers_in_turn(group: CarrierGroup) -> None:
    homes = [VirtualThread(int, group=group).home.index for _ in range(4)]
    assert homes in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_what_it_raises_comes_to_the_result_with_its_name(group: CarrierGroup) -> None:
    def fails() -> None:
        wakeproof.yield_now()
        raise KeyError("lost")

    thread = VirtualThread(fails, name="finder", group=group).start()
    with pytest.raises(KeyError, match="lost") as caught:
        thread.result(PATIENCE_S)
    text = "".join(traceback.format_exception(caught.value))
    assert "in virtual thread 'finder'" in text
    assert "in fails" in text
    for leaves in (SystemExit, KeyboardInterrupt):
        thread = VirtualThread(lambda kind=leaves: (_ for _ in ()).throw(kind), group=group)
        with pytest.raises(leaves):
            thread.start().result(PATIENCE_S)


def test_a_join_before_the_start_or_of_itself_is_refused(group: CarrierGroup) -> None:
    thread = VirtualThread(lambda: thread.join(), group=group)
    with pytest.raises(StateError, match="it was not started"):
        thread.join()
    with pytest.raises(WrongThreadError, match="it would wait for itself"):
        thread.start().result(PATIENCE_S)


def test_a_wait_for_the_result_has_an_end(group: CarrierGroup) -> None:
    thread = parked(VirtualThread(park, name="late", group=group))
    assert not thread.join(0)
    assert not thread.join(0.001)
    with pytest.raises(DeadlineError, match="result of late: not within 0 s"):
        thread.result(0)
    with pytest.raises(UsageError, match="timeout_s is -1"):
        thread.join(-1)
    thread.unpark()
    assert thread.join(PATIENCE_S)


def test_many_join_one(group: CarrierGroup) -> None:
    # TerminationVisible, for virtual and OS threads.
    other, told = VirtualThread(lambda: park() and [7], group=group).start(), []
    joiners = [VirtualThread(other.result, group=group).start() for _ in range(50)]
    below = [threading.Thread(target=lambda: told.append(other.result())) for _ in range(5)]
    for thread in below:
        thread.start()
    other.unpark()
    assert [thread.result(PATIENCE_S) for thread in joiners] == [[7]] * 50
    for thread in below:
        thread.join(PATIENCE_S)
    assert told == [[7]] * 5


def test_the_starters_context_is_copied(group: CarrierGroup) -> None:
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(1)

    def body() -> tuple[int, int]:
        before = variable.get()
        variable.set(2)
        wakeproof.yield_now()
        return before, variable.get()

    thread = VirtualThread(body, group=group)
    variable.set(3)
    assert thread.start().result(PATIENCE_S) == (3, 2)
    assert variable.get() == 3


@pytest.mark.slow
def test_ten_thousand_park_and_end(group: CarrierGroup) -> None:
    threads = [VirtualThread(park, group=group).start() for _ in range(10_000)]
    for thread in threads:
        thread.unpark()
    assert all(thread.result(PATIENCE_S) for thread in threads)
    assert not _jobs.threads


def test_what_has_ended_is_let_go_of(group: CarrierGroup) -> None:
    class Big:
        """What the thread worked with."""

    big = Big()
    gone = weakref.ref(big)
    thread = VirtualThread(lambda _: wakeproof.yield_now(), big, group=group).start()
    assert thread.join(PATIENCE_S)
    del big
    finish_steps(group)
    assert gone() is None
    gone = weakref.ref(thread)  # type: ignore[assignment]
    del thread
    assert gone() is None


def test_a_thread_that_failed_is_let_go_of(group: CarrierGroup) -> None:
    def fails() -> None:
        raise KeyError

    async def fails_as_well() -> None:
        raise KeyError

    gc.disable()
    try:
        for fn in (fails, fails_as_well):
            thread = VirtualThread(fn, group=group).start()
            with pytest.raises(KeyError):
                thread.result(PATIENCE_S)
            gone = weakref.ref(thread)
            del thread
            finish_steps(group)
            assert gone() is None
    finally:
        gc.enable()


def test_a_close_returns_the_names_of_those_that_are_parked() -> None:
    group = CarrierGroup(1)
    threads = [parked(VirtualThread(park, name=f"p{n}", group=group)) for n in range(3)]
    back = group.close(cancel=True)
    assert sorted(back, key=lambda one: one.name) == [
        Unfinished(f"p{n}", "parked") for n in range(3)
    ]
    for thread in threads:
        assert (thread.state, thread.is_alive()) == ("closed", False)
        with pytest.raises(ClosedError, match=r"join p\d: its group was closed"):
            thread.join()
        thread.unpark()  # does nothing
    with pytest.raises(ClosedError, match=r"start .*: the group is closed"):
        VirtualThread(int, group=group).start()


def test_a_close_waits_for_threads_and_tells_those_of_other_groups(group: CarrierGroup) -> None:
    other = CarrierGroup(1)
    slow = VirtualThread(wakeproof.sleep, 0.01, group=other).start()
    assert other.close() == []
    assert slow.state == "terminated"
    other = CarrierGroup(1)
    left = parked(VirtualThread(park, name="left", group=other))
    joiner = parked(VirtualThread(left.join, group=group))
    assert other.close(cancel=True) == [Unfinished("left", "parked")]
    with pytest.raises(ClosedError, match="join left"):
        joiner.result(PATIENCE_S)


def test_a_close_out_of_time_tells_what_runs_on() -> None:
    group, go_on, begun = CarrierGroup(1), threading.Event(), threading.Event()
    thread = VirtualThread(lambda: (begun.set(), go_on.wait(PATIENCE_S)), name="on", group=group)
    thread.start()
    assert begun.wait(PATIENCE_S)
    queued = VirtualThread(int, name="waits", group=group).start()
    assert group.close(0) == [Unfinished("on", "running"), Unfinished("waits", "queued")]
    go_on.set()
    assert group.close(cancel=True) == []  # it was queued before the stop
    assert (thread.state, queued.state) == ("terminated", "terminated")


def test_groups_and_threads_that_hold_one_another_are_freed() -> None:
    for _ in range(20):
        group = CarrierGroup(1)
        thread = parked(VirtualThread(park, group=group))
        group.keeps = thread, VirtualThread(int, group=group)  # type: ignore[attr-defined]
        group.close(cancel=True)
        gone = weakref.ref(group)
        del group, thread
        gc.collect()
        assert gone() is None


@pytest.mark.parametrize("bad", [{"name": 3}, {"name": "a\0b"}, {"group": 7}])
def test_what_makes_no_sense_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"(name|group) is .*; allowed"):
        VirtualThread(int, **bad)
    with pytest.raises(UsageError, match="fn is 3; allowed"):
        VirtualThread(3)  # type: ignore[arg-type]


def test_a_forked_child_may_not_use_the_threads(group: CarrierGroup) -> None:
    thread = parked(VirtualThread(park, group=group))
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (thread.unpark, thread.interrupt, thread.join, lambda: VirtualThread(int)):
            try:
                use()
            except ForkedError:
                refused += 1
            except BaseException:
                os._exit(99)
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3  # it has its own default group
    thread.unpark()
    assert thread.join(PATIENCE_S)


@pytest.mark.parametrize(("ends", "code"), [(lambda: 1, 0), (lambda: sys.exit(5), 5), (park, 1)])
def test_a_child_that_a_thread_forks_ends_where_it_returns(
    group: CarrierGroup, ends: object, code: int
) -> None:
    def body() -> int:
        child = os.fork()
        if child == 0:
            sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - the child's
            return ends()  # type: ignore[operator, no-any-return]
        return child

    child = VirtualThread(body, group=group).start().result(PATIENCE_S)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code


@pytest.mark.slow
def test_ctrl_c_ends_a_join_of_the_main_thread() -> None:
    script = """
import wakeproof
thread = wakeproof.VirtualThread(wakeproof.park, name="stays").start()
try:
    print("joins", flush=True)
    thread.join()
except KeyboardInterrupt:
    print(wakeproof.default_group().close(cancel=True)[0].name)
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "joins\n"
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=PATIENCE_S)
    assert (told, process.returncode) == ("stays\n", 0)


@pytest.mark.slow
def test_an_interpreter_that_ends_leaves_parked_threads_behind() -> None:
    script = """
import wakeproof
threads = [wakeproof.VirtualThread(wakeproof.park).start() for _ in range(100)]
while any(thread.state != "parked" for thread in threads):
    pass
"""
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)


def test_the_twin_that_forgets_its_joiners_is_seen(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(thread: VirtualThread) -> None:
        _jobs.threads.pop(thread._number)
        thread._done.is_set = True

    thread = parked(VirtualThread(park, group=group))
    joiner = parked(VirtualThread(thread.join, group=group))
    with monkeypatch.context() as patched:
        patched.setattr(_mount, "forget", forget)
        thread.unpark()
        while not thread._done.is_set:
            pass
    assert not joiner.join(0.01)
    assert not re.search("terminated", joiner.state)
    thread._done.set()
    assert joiner.join(PATIENCE_S)
