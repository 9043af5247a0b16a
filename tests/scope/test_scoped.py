# SPDX-License-Identifier: Apache-2.0
"""Scoped values, against specs/scope/Nesting.tla: BindingsInherited."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import wakeproof
from wakeproof import CarrierGroup, Scope, ScopedValue, VirtualThread, joiner, scoped
from wakeproof.errors import StructureError

PATIENCE_S = 60
user: ScopedValue[str] = ScopedValue("user")
depth: ScopedValue[int] = ScopedValue("depth")


@pytest.fixture
def group() -> Iterator[CarrierGroup]:
    group = CarrierGroup(1)
    yield group
    assert group.close(10) == []


def test_a_value_is_bound_for_a_block_and_bindings_nest() -> None:
    assert not user.is_bound()
    with pytest.raises(LookupError, match="user: not bound here"):
        user.get()
    with user.bind("ada"), depth.bind(1):
        with user.bind("bob"):
            assert (user.get(), depth.get()) == ("bob", 1)
        assert user.get() == "ada"
    assert not user.is_bound()


def test_a_binding_ends_with_its_block_whatever_it_raises() -> None:
    with pytest.raises(KeyError), user.bind("ada"):
        raise KeyError
    assert not user.is_bound()


def test_bindings_that_end_out_of_order_are_told_and_leave_nothing() -> None:
    # The outer binding came back when the inner one ended, and stayed for ever.
    outer, inner = user.bind("ada"), user.bind("bob")
    outer.__enter__()
    inner.__enter__()
    for one in (outer, inner):
        with pytest.raises(StructureError, match="user: its binding ended out of order"):
            one.__exit__(None, None, None)
        assert not user.is_bound()


def test_a_binding_does_not_end_in_another_thread(group: CarrierGroup) -> None:
    binding = user.bind("ada")
    binding.__enter__()
    ends = VirtualThread(lambda: binding.__exit__(None, None, None), group=group).start()
    with pytest.raises(StructureError, match="or in another thread"):
        ends.result(PATIENCE_S)
    assert user.get() == "ada"
    mine = scoped.bindings()
    assert mine is not None
    scoped._unwind(mine, "user")
    assert not user.is_bound()


def test_forks_of_a_scope_inherit_and_other_threads_do_not(group: CarrierGroup) -> None:
    # BindingsInherited.
    with user.bind("ada"), Scope(joiner.all_successful_or_raise(), group=group) as scope:
        scope.fork(user.get)
        assert scope.join() == ["ada"]
        assert VirtualThread(user.is_bound, group=group).start().result(PATIENCE_S) is False


def test_a_fork_may_bind_for_itself_and_its_own_scopes(group: CarrierGroup) -> None:
    def inside() -> tuple[str, list[str]]:
        with user.bind("bob"), Scope(joiner.all_successful_or_raise(), group=group) as scope:
            scope.fork(user.get)
            inner = scope.join()
        return user.get(), inner

    with user.bind("ada"), Scope(joiner.all_successful_or_raise(), group=group) as scope:
        scope.fork(inside)
        assert scope.join() == [("ada", ["bob"])]


def test_a_fork_under_other_bindings_is_refused(group: CarrierGroup) -> None:
    with Scope(group=group) as scope:
        with user.bind("ada"), pytest.raises(StructureError, match="other bindings"):
            scope.fork(int)
        scope.fork(int)
        scope.join()


def test_bindings_stay_with_a_thread_that_parks(group: CarrierGroup) -> None:
    def body(name: str) -> str:
        with user.bind(name):
            for _ in range(5):
                wakeproof.yield_now()
            return user.get()

    threads = [VirtualThread(body, name, group=group).start() for name in "abc"]
    assert [thread.result(PATIENCE_S) for thread in threads] == ["a", "b", "c"]
