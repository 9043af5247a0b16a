# SPDX-License-Identifier: Apache-2.0
"""Scopes, against specs/scope/Scope.tla and Nesting.tla: their claims are named in each test.

Owners are the main thread and a virtual one.
"""

from __future__ import annotations

import os

import pytest
from tests.support.subtasks import fails
from tests.support.virtual import PATIENCE_S, Owner

import wakeproof
from wakeproof import CarrierGroup, Scope, VirtualThread, coroutine, joiner
from wakeproof.errors import (
    ForkedError,
    StateError,
    StructureError,
    SubtaskError,
    UsageError,
    WrongThreadError,
)


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
            with pytest.raises(StateError, match="the scope is not joined; join it first"):
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
    # ForkedImpliesJoined; an exception of the block comes first.
    def body() -> None:
        with pytest.raises(StateError, match="forked, but not joined"), Scope(group=group) as scope:
            scope.fork(wakeproof.park)
        with pytest.raises(KeyError, match="mine"), Scope(group=group) as scope:
            fails(f"mine {scope.fork(wakeproof.park)}")
        with Scope(group=group):
            pass

    owner(body)


def test_what_makes_no_sense_is_refused_where_it_is_given(group: CarrierGroup) -> None:
    for bad in (3, joiner.any_successful):
        with pytest.raises(UsageError, match=r"joiner is .*; allowed: what wakeproof.joiner"):
            Scope(bad)  # type: ignore[arg-type]
    mine = joiner.all_successful_or_raise()
    with Scope(mine, group=group) as scope:
        with pytest.raises(UsageError, match="fn is 3; allowed"):
            scope.fork(3)  # type: ignore[arg-type]
        scope.fork(int)
        assert scope.join() == [0]
    with pytest.raises(StateError, match="another scope's: make one for each"):
        Scope(mine)


def test_the_owner_alone_forks_joins_and_closes(group: CarrierGroup) -> None:
    # OwnerConfinement.
    with Scope(joiner.await_all(), group=group) as scope:
        uses = [scope.fork(use) for use in (lambda: scope.fork(int), scope.join, scope.close)]
        scope.join()
        for one in uses:
            assert isinstance(one.exception(), WrongThreadError)


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
