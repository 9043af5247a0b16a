# SPDX-License-Identifier: Apache-2.0
"""Scopes that are cancelled, late or interrupted, against specs/scope/Scope.tla.

Its claims are named in each test; owners are the main thread and a virtual one.
"""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from tests.support.subtasks import ends_when_interrupted
from tests.support.virtual import PATIENCE_S, Owner, interrupt, parked

import wakeproof
from wakeproof import CarrierGroup, Scope, ThreadInterruptedError, VirtualThread, joiner
from wakeproof._runtime.scope_children import ScopeChildren
from wakeproof.errors import (
    ClosedError,
    DeadlineError,
    StateError,
    SubtaskError,
    UsageError,
)


def test_a_fork_after_a_cancel_never_runs(owner: Owner, group: CarrierGroup) -> None:
    # NoForkRunsAfterCancel.
    ran: list[int] = []

    def body() -> None:
        with Scope(joiner.await_all(), group=group) as scope:
            scope.cancel()
            scope.cancel()
            subtask = scope.fork(ran.append, 1)
            scope.join()
        assert subtask.state == "unavailable"

    owner(body)
    assert ran == []


@pytest.mark.parametrize("timeout_s", [0, 0.001])
def test_a_scope_whose_time_is_over_is_cancelled(
    owner: Owner, group: CarrierGroup, timeout_s: float
) -> None:
    def body() -> None:
        with Scope(timeout_s=timeout_s, group=group) as scope:
            subtask = scope.fork(ends_when_interrupted, [])
            with pytest.raises(DeadlineError):
                scope.join()
        assert subtask.state == "unavailable"
        with Scope(joiner.all_until(lambda _: False), timeout_s=timeout_s, group=group) as scope:
            subtask = scope.fork(ends_when_interrupted, [])
            assert scope.join() == [subtask]

    owner(body)


def test_time_before_the_join_cancels_and_time_after_it_does_not(
    owner: Owner, group: CarrierGroup
) -> None:
    # TimerCancelled.
    def body() -> None:
        with Scope(timeout_s=0.001, group=group) as scope:
            subtask = scope.fork(ends_when_interrupted, [])
            assert subtask._thread.join(PATIENCE_S)
            with pytest.raises(DeadlineError):
                scope.join()
        with Scope(timeout_s=3600, group=group) as scope:
            scope.fork(int)
            scope.join()
        assert not scope.is_cancelled
        assert not scope._timer.is_alive()

    owner(body)


def test_an_interrupted_join_may_be_repeated(group: CarrierGroup) -> None:
    def body() -> tuple[str, object]:
        with Scope(joiner.all_successful_or_raise(), group=group[1]) as scope:
            subtask = scope.fork(wakeproof.park)
            with pytest.raises(ThreadInterruptedError):
                scope.join()
            with pytest.raises(StateError, match="fork after join"):
                scope.fork(int)
            subtask._thread.unpark()
            return scope.name, scope.join()

    thread = VirtualThread(body, group=group[0]).start()
    parked(thread)
    thread.interrupt()
    assert thread.result(PATIENCE_S) == ("scope", [True])


def test_a_close_ignores_interrupts_and_restores_them(group: CarrierGroup) -> None:
    begun = threading.Event()

    def stubborn() -> None:
        begun.set()
        for _ in range(2):
            try:
                wakeproof.sleep(0.02)
            except ThreadInterruptedError:
                continue

    def block(scope: Scope) -> None:
        scope.fork(stubborn)
        while not begun.is_set():
            wakeproof.yield_now()
        wakeproof.current().interrupt()  # type: ignore[union-attr]

    def body() -> tuple[int, bool]:
        with pytest.raises(StateError, match="not joined"), Scope(group=group[1]) as scope:
            block(scope)
        return len(scope._children._threads), wakeproof.interrupted()

    assert VirtualThread(body, group=group[0]).start().result(PATIENCE_S) == (0, True)


def test_a_group_that_is_closed_under_a_scope_fails_its_subtasks() -> None:
    group = CarrierGroup(1)
    with Scope(group=group) as scope:
        subtask = scope.fork(wakeproof.park)
        while subtask._thread.state != "parked":
            pass
        group.close(cancel=True)
        with pytest.raises(SubtaskError) as caught:
            scope.join()
        assert isinstance(caught.value.__cause__, ClosedError)
        assert subtask.state == "failed"
    with pytest.raises(ClosedError), Scope(group=group) as scope:
        scope.fork(int)


@pytest.mark.parametrize("bad", [-1, float("nan")])
def test_a_time_that_makes_no_sense_is_refused(bad: float) -> None:
    with pytest.raises(UsageError, match="timeout_s is"):
        Scope(timeout_s=bad)


@pytest.mark.slow
def test_ctrl_c_during_a_join_ends_all_subtasks_first() -> None:
    script = """
import wakeproof
def body():
    try:
        wakeproof.park()
    except wakeproof.ThreadInterruptedError:
        print("told")
try:
    with wakeproof.Scope() as scope:
        scope.fork(body)
        print("joins", flush=True)
        scope.join()
except KeyboardInterrupt:
    print("ended")
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "joins\n"
        told = interrupt(process)
    assert (told, process.returncode) in [("told\nended\n", 0), ("ended\n", 0)]


def test_the_twin_whose_last_subtask_is_silent_is_seen(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    # JoinWakes.
    subtasks: list[VirtualThread] = []

    def body() -> None:
        with Scope(group=group[1]) as scope:
            subtasks.append(scope.fork(wakeproof.park)._thread)
            scope.join()

    monkeypatch.setattr(ScopeChildren, "leave", lambda own, thread: own._threads.pop(thread, None))
    thread = VirtualThread(body, group=group[0]).start()
    parked(thread)
    subtasks[0].unpark()
    assert subtasks[0].join(PATIENCE_S)
    assert not thread.join(0.01)
    thread.interrupt()
    with pytest.raises(ThreadInterruptedError):
        thread.result(PATIENCE_S)


def test_the_twin_that_lets_forks_in_after_a_cancel_is_seen(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    # ChildrenWithinScope: the close finds no thread to wait for.
    monkeypatch.setattr(ScopeChildren, "enter", lambda *_: True)
    with Scope(joiner.await_all(), group=group) as scope:
        subtask = scope.fork(wakeproof.park)
        scope.join()
    assert subtask._thread.is_alive()
    subtask._thread.unpark()
    assert subtask._thread.join(PATIENCE_S)
