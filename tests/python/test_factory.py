# SPDX-License-Identifier: Apache-2.0
"""Factories of virtual threads, and the carriers of their threads."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
from tests.support.virtual import PATIENCE_S, held

import wakeproof
from wakeproof import (
    Carrier,
    CarrierGroup,
    Mutex,
    Scope,
    ThreadFactory,
    UnsupportedError,
    UsageError,
    VirtualThread,
    coroutine,
    park,
)


def test_submissions_from_outside_spread_over_the_carriers() -> None:
    with CarrierGroup(4) as group:
        ran = [group.submit(group.running) for _ in range(8)]
        assert {future.result(PATIENCE_S) for future in ran} == set(group)


def test_what_a_factory_runs_is_a_virtual_thread_and_can_park() -> None:
    with CarrierGroup(1) as group:
        make = group[0].factory(name="made")
        thread = make(wakeproof.current)
        assert thread.result(PATIENCE_S) is thread
        assert thread.name == "made"
        assert make(park, 0.0).result(PATIENCE_S) is False
        assert make(coroutine.park, 0.0).result(PATIENCE_S) is False


def test_a_factorys_thread_that_waits_for_a_mutex_leaves_its_carrier() -> None:
    mutex = Mutex()
    with CarrierGroup(1) as group:
        mutex.acquire()
        waits = group[0].factory()(mutex.acquire)
        assert group[0].submit(int).result(PATIENCE_S) == 0
        assert waits.is_alive()
        mutex.release()
        assert waits.result(PATIENCE_S) is True


def test_values_cannot_be_forbidden_where_they_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wakeproof.factory.ARE_OWN", False)
    with CarrierGroup(1) as group, pytest.raises(UnsupportedError, match="thread_locals is False"):
        group.factory(thread_locals=False)


def test_keywords_of_a_factorys_call_are_the_callables() -> None:
    with CarrierGroup(1) as group:
        thread = group.factory(name="mine")(dict, group=1, name=2)
        assert (thread.name, thread.result(PATIENCE_S)) == ("mine", {"group": 1, "name": 2})


@pytest.mark.parametrize("kind", ["callable", "coroutine"])
def test_a_thread_of_a_busy_carrier_is_stolen_until_it_begins(kind: str) -> None:
    with CarrierGroup(2, work_stealing=True) as group:

        async def where() -> Carrier | None:
            return group.running()

        fn: Any = where if kind == "coroutine" else group.running
        with held(group[0]):
            threads = [VirtualThread(fn, group=group[0]).start() for _ in range(10)]
            assert {thread.result(PATIENCE_S) for thread in threads} == {group[1]}


@pytest.mark.parametrize("kind", ["callable", "coroutine"])
def test_a_pinned_thread_of_a_busy_carrier_waits_for_it(kind: str) -> None:
    with CarrierGroup(2, work_stealing=True) as group:

        async def where() -> Carrier | None:
            return group.running()

        fn: Any = where if kind == "coroutine" else group.running
        with held(group[0]):
            threads = [group[0].factory(pinned=True)(fn) for _ in range(10)]
            for _ in range(10):  # the sibling looks, and sleeps, and looks again
                group[1].submit(int).result(PATIENCE_S)
            assert all(thread.is_alive() for thread in threads)
        assert {thread.result(PATIENCE_S) for thread in threads} == {group[0]}


def test_a_scope_with_a_carriers_factory_forks_there() -> None:
    with CarrierGroup(3) as group:
        with Scope(factory=group[2].factory(name="part"), timeout_s=PATIENCE_S) as scope:
            parts = [scope.fork(lambda: (group.running(), wakeproof.current())) for _ in range(5)]
            scope.join()
        for carrier, thread in [part.result() for part in parts]:
            assert carrier is group[2]
            assert thread is not None
            assert thread.name == "part"


def test_a_scope_takes_any_callable_that_makes_virtual_threads() -> None:
    with CarrierGroup(2) as group:
        make = partial(VirtualThread, name="own", group=group[1])
        with Scope(factory=make) as scope:

            async def coroutines_too() -> Carrier | None:
                return group.running()

            parts = [scope.fork(group.running), scope.fork(coroutines_too)]
            scope.join()
        assert [part.result() for part in parts] == [group[1]] * 2


def test_a_scope_refuses_what_makes_no_new_virtual_thread() -> None:
    with CarrierGroup(1) as group:
        wrongs: tuple[Any, ...] = (group[0].factory().__call__, lambda _: threading.Thread())
        for wrong in wrongs:
            with (
                Scope(factory=wrong) as scope,
                pytest.raises(UsageError, match="its factory returned"),
            ):
                scope.fork(int)
        givens: tuple[dict[str, Any], ...] = (
            {"factory": 5},
            {"factory": group.factory(), "group": group},
        )
        for given in givens:
            with pytest.raises(UsageError, match="factory is"):
                Scope(**given)


def test_an_unstarted_thread_is_started_by_its_caller() -> None:
    with CarrierGroup(1) as group:
        make = group.factory()
        assert isinstance(make, ThreadFactory)
        thread = make.unstarted(int, "7")
        assert thread.state == "new"
        assert thread.start().result(PATIENCE_S) == 7
