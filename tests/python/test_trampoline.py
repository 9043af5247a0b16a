# SPDX-License-Identifier: Apache-2.0
"""Greenlets of a carrier: callables use them one after the other, and leave nothing in them.

Serves specs/thread/VThread.tla: the step of a Python thread.
"""

from __future__ import annotations

import contextvars
import gc
import os
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from greenlet import GreenletExit, getcurrent

from wakeproof import CarrierGroup, VirtualThread, yield_now
from wakeproof._runtime import process
from wakeproof._runtime.core import IN_C, greenlets_here
from wakeproof._runtime.plain_core import IDLE_MOST

CARRIERS = 1  # of `group`
PATIENCE_S = 20.0
word: contextvars.ContextVar[object] = contextvars.ContextVar("word")


class Value:
    """An object that can be referred to weakly."""


def inside(group: CarrierGroup, fn: Callable[[], Any]) -> Any:
    """Do it in a callable, so that one is alive meanwhile."""
    return VirtualThread(fn, group=group).start().result(PATIENCE_S)


def test_callables_one_after_the_other_take_one_greenlet(group: CarrierGroup) -> None:
    def each() -> set[int]:
        return {id(VirtualThread(getcurrent).start().result()) for _ in range(10)}

    assert len(inside(group, each)) == 1


def test_no_more_greenlets_wait_than_stated(group: CarrierGroup) -> None:
    def many() -> tuple[int, int]:
        for thread in [VirtualThread(yields).start() for _ in range(2 * IDLE_MOST)]:
            thread.join()
        return greenlets_here()

    def yields() -> None:
        all_there.append(1)
        while len(all_there) < 2 * IDLE_MOST:
            yield_now()

    all_there: list[int] = []
    assert inside(group, many) == (1, IDLE_MOST)


def test_a_greenlet_ends_with_its_carrier() -> None:
    with CarrierGroup(1) as group:
        first = inside(group, lambda: weakref.ref(getcurrent()))
        second = inside(group, lambda: weakref.ref(getcurrent()))
        if IN_C:  # it stays while its carrier lives
            assert first() is second()
            assert group.submit(greenlets_here).result(PATIENCE_S) == (0, 1)
        else:
            assert group.submit(greenlets_here).result(PATIENCE_S) == (0, 0)
    assert (first(), second()) == (None, None)


def test_a_greenlet_that_waits_keeps_nothing_of_the_last_callable(group: CarrierGroup) -> None:
    def body() -> weakref.ref[Value]:
        mine = Value()
        word.set(mine)
        return weakref.ref(mine)

    def both() -> object:
        ref = VirtualThread(body).start().result()
        gc.collect()
        return ref(), VirtualThread(lambda: word.get(None)).start().result()

    assert inside(group, both) == (None, None)


def test_a_callable_that_failed_leaves_a_greenlet_that_works(group: CarrierGroup) -> None:
    def fails() -> None:
        raise SystemExit(3)

    def both() -> int:
        with pytest.raises(SystemExit):
            VirtualThread(fails).start().result()
        return int(VirtualThread(int, "7").start().result())

    assert inside(group, both) == 7


@pytest.mark.skipif(not IN_C, reason="a greenlet of Python asserts that it has a thread")
def test_an_idle_greenlet_that_others_switch_to_ends(group: CarrierGroup) -> None:
    def switches() -> None:
        VirtualThread(getcurrent).start().result().switch()

    with pytest.raises(GreenletExit):  # it is left behind: the carrier goes on without it
        inside(group, switches)
    assert [inside(group, lambda: greenlets_here()[0]) for _ in range(3)] == [1, 1, 1]


def test_a_forked_child_knows_that_it_is_another_process() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0 if process.pid == os.getpid() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert process.pid == os.getpid()


@pytest.mark.parametrize("is_coroutine", [False, True])
def test_an_exception_is_named_once_and_may_take_no_name(
    group: CarrierGroup, is_coroutine: bool
) -> None:
    # One without arguments came out as another, and its greenlet counted as alive for ever.
    class BareError(Exception):
        def add_note(self, _: str) -> None:
            raise TypeError

    def failure_of(error: BaseException) -> BaseException | None:
        def fails() -> None:
            raise error

        async def fails_as_well() -> None:
            raise error

        fn = fails_as_well if is_coroutine else fails
        try:
            VirtualThread(fn, group=group, name="same").start().result(PATIENCE_S)
        except BaseException as raised:
            return raised
        return None

    bare, shared = BareError(), KeyError()
    assert failure_of(bare) is bare
    for _ in range(3):
        assert failure_of(shared) is shared
    assert shared.__notes__ == ["in virtual thread 'same'"]
    assert inside(group, lambda: greenlets_here()[0]) == 1
