# SPDX-License-Identifier: Apache-2.0
"""Scopes, against specs/Scope.tla and Nesting.tla: their claims are named in each test.

Owners are the main thread and a virtual one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

import wakeproof
from wakeproof import CarrierGroup, Scope, ThreadInterruptedError, VirtualThread, coroutine, joiner
from wakeproof._flock import Flock
from wakeproof.errors import (
    ClosedError,
    DeadlineError,
    ForkedError,
    StateError,
    StructureError,
    SubtaskError,
    UsageError,
    WrongThreadError,
)

PATIENCE_S = 60  # a lost wake fails the test instead of hanging it
Owner = Callable[[Callable[[], object]], object]


@pytest.fixture
def group() -> Iterator[CarrierGroup]:
    group = CarrierGroup(2)
    yield group
    assert group.close(10) == []


@pytest.fixture(params=["main", "virtual"])
def owner(request: pytest.FixtureRequest, group: CarrierGroup) -> Owner:
    """Run the test's body in the main thread, or in a virtual one."""
    if request.param == "main":
        return lambda body: body()
    return lambda body: VirtualThread(body, group=group[0]).start().result(PATIENCE_S)


def fails(what: str) -> None:
    raise KeyError(what)


def ends_when_interrupted(log: list[str]) -> None:
    try:
        wakeproof.park(PATIENCE_S)
    except ThreadInterruptedError:
        log.append("interrupted")
        raise


def test_subtasks_end_before_their_block(owner: Owner, group: CarrierGroup) -> None:
    # ChildrenWithinScope, ScopeHB.
    def body() -> list[object]:
        ended: list[int] = []
        with Scope(group=group) as scope:
            for n in range(50):
                scope.fork(lambda n=n: (wakeproof.sleep(0.001), ended.append(n)))
            assert scope.join() is None
        return sorted(ended)

    assert owner(body) == list(range(50))


def test_a_subtask_tells_its_outcome_after_the_join(owner: Owner, group: CarrierGroup) -> None:
    def body() -> None:
        with Scope(joiner.await_all(), name="both", group=group) as scope:
            good, bad = scope.fork(abs, -3), scope.fork(fails, "x")
            with pytest.raises(StateError, match="ask it after the join"):
                good.result()
            scope.join()
        assert (good.state, good.result(), good.exception()) == ("success", 3, None)
        assert bad.state == "failed"
        assert isinstance(bad.exception(), KeyError)
        with pytest.raises(SubtaskError, match="KeyError") as caught:
            bad.result()
        assert caught.value.__cause__ is bad.exception()
        assert "in virtual thread" in caught.value.__cause__.__notes__[0]

    owner(body)


def test_all_successful_gives_results_in_the_order_of_forks(
    owner: Owner, group: CarrierGroup
) -> None:
    def body() -> object:
        with Scope(joiner.all_successful_or_raise(), group=group) as scope:
            scope.fork(lambda: wakeproof.sleep(0.002) or "slow")
            scope.fork(lambda: "quick")
            return scope.join()

    assert owner(body) == ["slow", "quick"]


@pytest.mark.parametrize(
    "policy", [joiner.all_successful_or_raise, joiner.await_all_successful_or_raise]
)
def test_the_first_failure_cancels_the_others(
    owner: Owner, group: CarrierGroup, policy: Callable[[], joiner.Joiner]
) -> None:
    # FirstFailureWins, CancelOnce, NoResultAfterCancel.
    def body() -> object:
        log: list[str] = []
        with Scope(policy(), group=group) as scope:
            other = scope.fork(ends_when_interrupted, log)
            scope.fork(fails, "first")
            with pytest.raises(SubtaskError, match="first") as caught:
                scope.join()
            assert isinstance(caught.value.__cause__, KeyError)
        assert (other.state, scope.is_cancelled) == ("unavailable", True)
        with pytest.raises(StateError, match="cancelled before it ended"):
            other.result()
        return log

    assert owner(body) in (["interrupted"], [])  # [] if it was cancelled before it began


def test_one_of_many_failures_wins(owner: Owner, group: CarrierGroup) -> None:
    # FirstFailureWins: one on_complete alone says true.
    said: list[bool] = []

    class Counts(joiner._FirstFailure):
        def on_complete(self, subtask: wakeproof.Subtask) -> bool:
            said.append(super().on_complete(subtask))
            return False

    def body() -> None:
        with Scope(Counts(lambda _: None), group=group) as scope:
            for n in range(40):
                scope.fork(fails, str(n))
            with pytest.raises(SubtaskError):
                scope.join()

    owner(body)
    assert (len(said), sum(said)) == (40, 1)


def test_the_first_success_cancels_the_others(owner: Owner, group: CarrierGroup) -> None:
    def body() -> object:
        with Scope(joiner.any_successful(), group=group) as scope:
            scope.fork(ends_when_interrupted, [])
            scope.fork(fails, "no")
            scope.fork(lambda: wakeproof.sleep(0.001) or "won")
            return scope.join()

    assert owner(body) == "won"


def test_without_a_success_a_failure_is_raised_and_without_forks_a_lookup_error(
    owner: Owner, group: CarrierGroup
) -> None:
    def body() -> None:
        with Scope(joiner.any_successful(), group=group) as scope:
            scope.fork(fails, "all")
            with pytest.raises(SubtaskError, match="all"):
                scope.join()
        with Scope(joiner.any_successful(), group=group) as scope:
            with pytest.raises(SubtaskError) as caught:
                scope.join()
            assert isinstance(caught.value.__cause__, LookupError)

    owner(body)


def test_all_until_stops_when_told(owner: Owner, group: CarrierGroup) -> None:
    def body() -> object:
        enough = joiner.all_until(lambda subtask: subtask.result() == 3)
        with Scope(enough, group=group) as scope:
            scope.fork(ends_when_interrupted, [])
            scope.fork(lambda: 3)
            return [one.state for one in scope.join()]

    assert owner(body) == ["unavailable", "success"]


def test_a_joiner_that_fails_is_told_to_the_owner(owner: Owner, group: CarrierGroup) -> None:
    def body() -> None:
        with Scope(joiner.all_until(lambda _: 1 / 0 > 0), group=group) as scope:
            scope.fork(int)
            with pytest.raises(SubtaskError, match="its joiner failed") as caught:
                scope.join()
            assert isinstance(caught.value.__cause__, ZeroDivisionError)

    owner(body)


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


def test_a_fork_after_the_join_or_outside_the_block_is_refused(
    owner: Owner, group: CarrierGroup
) -> None:
    def body() -> None:
        scope = Scope(group=group)
        with pytest.raises(StateError, match="fork before its block"):
            scope.fork(int)
        with scope:
            scope.join()
            for late in (lambda: scope.fork(int), scope.join):
                with pytest.raises(StateError, match="join"):
                    late()
        with pytest.raises(StateError, match="fork after join"):
            scope.fork(int)
        with pytest.raises(StateError, match="entered before"), scope:
            pass
        scope.close()

    owner(body)


def test_who_forks_must_join(owner: Owner, group: CarrierGroup) -> None:
    # ForkedImpliesJoined; an exception of the block goes first.
    def body() -> None:
        with pytest.raises(StateError, match="forked, but not joined"), Scope(group=group) as scope:
            scope.fork(wakeproof.park)
        with pytest.raises(KeyError, match="mine"), Scope(group=group) as scope:
            fails(f"mine {scope.fork(wakeproof.park)}")
        with Scope(group=group):
            pass

    owner(body)


def test_the_owner_alone_forks_joins_and_closes(group: CarrierGroup) -> None:
    # OwnerConfinement.
    with Scope(joiner.await_all(), group=group) as scope:
        uses = [scope.fork(use) for use in (lambda: scope.fork(int), scope.join, scope.close)]
        scope.join()
        for one in uses:
            assert isinstance(one.exception(), WrongThreadError)


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
    while thread.state != "parked":
        assert thread.is_alive()
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
        return len(scope._flock._threads), wakeproof.interrupted()

    assert VirtualThread(body, group=group[0]).start().result(PATIENCE_S) == (0, True)


def test_scopes_nest_and_close_in_order(owner: Owner, group: CarrierGroup) -> None:
    # LifoClose.
    def body() -> None:
        with Scope(name="outer", group=group) as outer:
            inner = Scope(name="inner", group=group).__enter__()
            subtask = inner.fork(wakeproof.park)
            assert (outer.parent, inner.parent) == (None, outer)
            with pytest.raises(StructureError, match="outer: closed before inner"):
                outer.close()
            assert not subtask._thread.is_alive()
            inner.close()

    owner(body)


def test_a_subtasks_scope_is_the_childs_parent(group: CarrierGroup) -> None:
    def inside() -> object:
        with Scope(group=group) as inner:
            return inner.parent

    with Scope(joiner.all_successful_or_raise(), group=group) as outer:
        outer.fork(inside)
        assert outer.join() == [outer]


def test_subtasks_may_be_coroutine_functions(owner: Owner, group: CarrierGroup) -> None:
    async def body_of(n: int) -> int:
        await coroutine.sleep(0.001)
        return n

    def body() -> object:
        with Scope(joiner.all_successful_or_raise(), group=group) as scope:
            for n in range(3):
                scope.fork(body_of, n)
            return scope.join()

    assert owner(body) == [0, 1, 2]

    async def owns() -> None:
        with Scope():
            pass

    with pytest.raises(WrongThreadError, match="would block the carrier of a coroutine"):
        VirtualThread(owns, group=group).start().result(PATIENCE_S)


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


def test_a_forked_child_leaves_the_block_with_an_error(group: CarrierGroup) -> None:
    def child() -> None:
        with Scope(group=group) as scope:
            inside = os.fork()
            if inside == 0:
                os._exit(int(_raises_forked(scope)))
            scope.join()
        assert os.waitstatus_to_exitcode(os.waitpid(inside, 0)[1]) == 1

    child()


def _raises_forked(scope: Scope) -> bool:
    try:
        scope.close()
    except ForkedError:
        return True
    return False


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
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=PATIENCE_S)
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

    monkeypatch.setattr(Flock, "leave", lambda flock, thread: flock._threads.discard(thread))
    thread = VirtualThread(body, group=group[0]).start()
    while thread.state != "parked":
        assert thread.is_alive()
    subtasks[0].unpark()
    assert subtasks[0].join(PATIENCE_S)
    assert not thread.join(0.01)
    thread.interrupt()
    with pytest.raises(ThreadInterruptedError):
        thread.result(PATIENCE_S)


def test_the_twin_that_lets_forks_in_after_a_cancel_is_seen(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    # ChildrenWithinScope: the close finds nobody to wait for.
    monkeypatch.setattr(Flock, "enter", lambda *_: True)
    with Scope(joiner.await_all(), group=group) as scope:
        subtask = scope.fork(wakeproof.park)
        scope.join()
    assert subtask._thread.is_alive()
    subtask._thread.unpark()
    assert subtask._thread.join(PATIENCE_S)
