# SPDX-License-Identifier: Apache-2.0
"""Python virtual threads against specs/thread/VThread.tla: starts, results, joins."""

from __future__ import annotations

import contextvars
import copy
import pickle
import re
import threading
import time
import traceback
from collections.abc import Callable

import pytest
from tests.support.virtual import PATIENCE_S, parked

import wakeproof
from wakeproof import CarrierGroup, Channel, Condition, Mutex, Semaphore, VirtualThread, park
from wakeproof._runtime import jobs
from wakeproof.errors import DeadlineError, StateError, UsageError, WrongThreadError


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
        thread = carrier.factory(pinned=True)(body)
        assert thread.result(PATIENCE_S) == [carrier] * 50
        assert thread.home is carrier
    inner = group[1].factory(pinned=True)(lambda: VirtualThread(body).home)
    assert inner.result(PATIENCE_S) is group[1]


def test_one_that_was_not_begun_is_stolen_and_settles() -> None:
    # StaysSettled: its first carrier is blocked; it goes on where it began, when that is free
    # again.
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

    thread = group[0].factory(pinned=True)(parent).result(PATIENCE_S)
    assert thread.home is group[1]
    thread.unpark()
    assert thread.result(PATIENCE_S) == [group[1]] * 3
    assert group.close(10) == []


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
    thread = parked(VirtualThread(park, name="late", group=group).start())
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
    assert not jobs.threads


@pytest.mark.parametrize("bad", [{"name": 3}, {"name": "a\0b"}, {"group": 7}])
def test_what_makes_no_sense_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"(name|group) is .*; allowed"):
        VirtualThread(int, **bad)
    with pytest.raises(UsageError, match="fn is 3; allowed"):
        VirtualThread(3)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_one_without_a_callable_says_so_once() -> None:
    with pytest.raises(TypeError, match="fn"):
        VirtualThread()  # type: ignore[call-arg]


@pytest.mark.parametrize("copies", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_the_kernel_has_once_is_not_copied(
    group: CarrierGroup, copies: Callable[[object], object]
) -> None:
    # A copied thread was freed twice; then two new ones had one handle.
    one = VirtualThread(int, group=group)
    for unique in (one, group, Mutex(), Condition(), Semaphore(), Channel[int]()):
        with pytest.raises(TypeError, match="cannot be copied or pickled: there is one"):
            copies(unique)
    del one
    made = [VirtualThread(int, group=group) for _ in range(2)]
    assert made[0]._native != made[1]._native


def test_the_twin_that_forgets_its_joiners_is_seen(group: CarrierGroup) -> None:
    thread = parked(VirtualThread(park, group=group).start())
    joiner = parked(VirtualThread(thread.join, group=group).start())
    waited_for, thread._signal = thread._signal, None  # with its list of joiners
    thread.unpark()
    while thread.is_alive():
        pass
    assert not joiner.join(0.01)
    assert not re.search("terminated", joiner.state)
    waited_for.set()
    assert joiner.join(PATIENCE_S)
