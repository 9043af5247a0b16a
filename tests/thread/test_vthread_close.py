# SPDX-License-Identifier: Apache-2.0
"""The state after a close, a fork and the end of Python virtual threads; VThread.tla."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import pytest
from tests.support.running import python
from tests.support.virtual import PATIENCE_S, interrupt, parked

import wakeproof
from wakeproof import (
    CarrierGroup,
    ClosedError,
    ForkedError,
    Unfinished,
    VirtualThread,
    coroutine,
    park,
)


def finish_steps(group: CarrierGroup) -> None:
    """Return when each carrier has returned from its current step."""
    for carrier in group:
        assert carrier.factory(pinned=True)(int).join(PATIENCE_S)


@pytest.mark.parametrize("state", ["parked", "queued"])
def test_a_close_hands_back_one_that_has_settled_elsewhere(state: str) -> None:
    # BackIsLeftAlone: it is on the list of one carrier, and queued at the other.
    group, leaves = CarrierGroup(2, work_stealing=True), threading.Event()

    def parent() -> VirtualThread:
        thread = VirtualThread(park, group=group, name="settled").start()
        while thread.state != "parked":
            time.sleep(0.001)
        return thread

    thread = group[0].factory(pinned=True)(parent).result(PATIENCE_S)
    assert thread.home is group[1]
    if state == "queued":  # behind the stop
        group[1].factory(pinned=True)(leaves.wait)
        threading.Timer(0.3, thread.unpark).start()
        threading.Timer(0.6, leaves.set).start()
    assert group.close(30, cancel=True) == [Unfinished("settled", state)]


def test_what_has_ended_is_let_go_of(group: CarrierGroup) -> None:
    class Big:
        """The data of the thread."""

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
    threads = [parked(VirtualThread(park, name=f"p{n}", group=group).start()) for n in range(3)]
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


def test_a_close_cleans_up_after_a_coroutine_and_not_after_a_callable() -> None:
    log: list[object] = []

    def parks() -> None:
        try:
            park()
        finally:
            log.append("callable")

    async def awaits() -> None:
        try:
            await coroutine.park()
        finally:
            log.append((threading.get_ident(), wakeproof.current()))

    group = CarrierGroup(1)
    for fn in (parks, awaits):
        parked(VirtualThread(fn, group=group).start())
    assert len(group.close(cancel=True)) == 2
    gc.collect()
    assert log == [(threading.get_ident(), None)]


def test_a_close_waits_for_threads_and_tells_those_of_other_groups(group: CarrierGroup) -> None:
    other = CarrierGroup(1)
    slow = VirtualThread(wakeproof.sleep, 0.01, group=other).start()
    assert other.close() == []
    assert slow.state == "terminated"
    other = CarrierGroup(1)
    left = parked(VirtualThread(park, name="left", group=other).start())
    joiner = parked(VirtualThread(left.join, group=group).start())
    assert other.close(cancel=True) == [Unfinished("left", "parked")]
    with pytest.raises(ClosedError, match="join left"):
        joiner.result(PATIENCE_S)


def test_a_close_out_of_time_tells_what_runs_on() -> None:
    group, go_on, begun = CarrierGroup(1), threading.Event(), threading.Event()
    thread = VirtualThread(lambda: (begun.set(), go_on.wait(PATIENCE_S)), name="on", group=group)
    thread.start()
    assert begun.wait(PATIENCE_S)
    queued = group[0].factory(name="waits", pinned=True)(int)
    assert group.close(0) == [Unfinished("on", "running"), Unfinished("waits", "queued")]
    go_on.set()
    assert group.close(cancel=True) == []  # it was queued before the stop, in the same queue
    assert (thread.state, queued.state) == ("terminated", "terminated")


@pytest.mark.rotates
def test_groups_and_threads_that_hold_one_another_are_freed() -> None:
    for _ in range(20):
        group = CarrierGroup(1)
        thread = parked(VirtualThread(park, group=group).start())
        group.keeps = thread, VirtualThread(int, group=group)  # type: ignore[attr-defined]
        group.close(cancel=True)
        gone = weakref.ref(group)
        del group, thread
        gc.collect()
        assert gone() is None


def test_a_forked_child_may_not_use_the_threads(group: CarrierGroup) -> None:
    thread = parked(VirtualThread(park, group=group).start())
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
        told = interrupt(process)
    assert (told, process.returncode) == ("stays\n", 0)


@pytest.mark.slow
def test_an_interpreter_that_ends_leaves_parked_threads_behind() -> None:
    script = """
import wakeproof
threads = [wakeproof.VirtualThread(wakeproof.park).start() for _ in range(100)]
while any(thread.state != "parked" for thread in threads):
    pass
"""
    ran = python(script)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)
