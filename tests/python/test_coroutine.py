# SPDX-License-Identifier: Apache-2.0
"""Coroutine functions as virtual threads, against specs/thread/VThread.tla."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import os
import pickle
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import partial
from typing import Any, cast

import pytest
from tests.support.virtual import PATIENCE_S, parked

import wakeproof
from wakeproof import CarrierGroup, ThreadInterruptedError, Unfinished, VirtualThread, coroutine
from wakeproof._runtime import core
from wakeproof.errors import WrongThreadError


@pytest.fixture
def group() -> Iterator[CarrierGroup]:
    group = CarrierGroup(2, work_stealing=True)
    yield group
    assert group.close(10) == []


def test_permits_times_and_turns(group: CarrierGroup) -> None:
    # UnparkNotLost, PermitOnlyConsumedByPark, StaleTimerHarmless.
    async def body() -> list[bool]:
        thread = wakeproof.current()
        assert thread is not None
        told = [await coroutine.park(0), await coroutine.park(0.001)]
        thread.unpark()
        await coroutine.yield_now()
        await coroutine.sleep(0.001)
        return [*told, await coroutine.park(3600), await coroutine.park(0)]

    thread = VirtualThread(body, group=group).start()
    assert thread.result(PATIENCE_S) == [False, False, True, False]
    assert sum(one.counts.pinned for one in group) == 0


def test_many_wake_one_another_on_any_carrier(group: CarrierGroup) -> None:
    threads: list[VirtualThread] = []

    async def body(n: int) -> int:
        await coroutine.park()
        await coroutine.yield_now()
        if n:
            threads[n - 1].unpark()
        return n

    threads += [VirtualThread(body, n, group=group) for n in range(300)]
    for thread in threads:
        thread.start()
    threads[-1].unpark()
    assert [thread.result(PATIENCE_S) for thread in threads] == list(range(300))


def test_one_that_waits_in_a_blocked_queue_is_stolen_between_steps(group: CarrierGroup) -> None:
    async def body() -> object:
        await coroutine.park()
        return group.running()

    thread = parked(VirtualThread(body, group=group[0]).start())
    hold = group[0].factory(pinned=True)
    blocker = hold(lambda: (thread.unpark(), _spin_until(thread)))
    assert thread.result(PATIENCE_S) is group[1]
    assert blocker.join(PATIENCE_S)


def _spin_until(thread: VirtualThread) -> None:
    while thread.is_alive():
        pass  # the carrier is busy, so a sibling must help


def test_what_it_raises_has_the_threads_name(group: CarrierGroup) -> None:
    async def fails() -> None:
        await coroutine.yield_now()
        raise KeyError("lost")

    thread = VirtualThread(fails, name="finder", group=group).start()
    with pytest.raises(KeyError) as caught:
        thread.result(PATIENCE_S)
    assert "in virtual thread 'finder'" in "".join(traceback.format_exception(caught.value))


def test_an_interrupt_ends_what_it_awaits(group: CarrierGroup) -> None:
    other = parked(VirtualThread(coroutine.park, group=group).start())

    async def body(kind: str) -> bool:
        waits = {
            "park": coroutine.park,
            "sleep": lambda: coroutine.sleep(9),
            "join": lambda: coroutine.join(other),
        }
        with pytest.raises(ThreadInterruptedError):
            await waits[kind]()
        return wakeproof.interrupted()

    for kind in ("park", "sleep", "join"):
        thread = parked(VirtualThread(body, kind, group=group).start())
        thread.interrupt()
        assert thread.result(PATIENCE_S) is False
    other.unpark()


def test_a_join_parks_and_leaves_no_permit(group: CarrierGroup) -> None:
    other = parked(VirtualThread(coroutine.park, group=group).start())

    async def body() -> tuple[bool, ...]:
        early = await coroutine.join(other, 0), await coroutine.join(other, 0.001)
        other.unpark()
        return *early, await coroutine.join(other), await coroutine.park(0)

    thread = VirtualThread(body, group=group).start()
    assert thread.result(PATIENCE_S) == (False, False, True, False)


def test_a_call_that_is_not_awaited_blocks_the_carrier_and_is_counted(group: CarrierGroup) -> None:
    async def body() -> tuple[bool, bool]:
        with wakeproof.pinned():
            await coroutine.yield_now()
            return wakeproof.park(0.001), await coroutine.park(0.001)

    thread = VirtualThread(body, group=group).start()
    assert thread.result(PATIENCE_S) == (False, False)
    assert sum(one.counts.pinned for one in group) == 2


def test_what_is_not_of_this_module_is_refused(group: CarrierGroup) -> None:
    async def body() -> None:
        await asyncio.sleep(0)

    thread = VirtualThread(body, group=group).start()
    with pytest.raises(TypeError, match=r"virtual-\d+: awaits None; allowed"):
        thread.result(PATIENCE_S)

    def plain() -> None:
        coroutine.park(0).send(None)

    thread = VirtualThread(plain, group=group).start()
    with pytest.raises(WrongThreadError, match=r"await park: .* is no coroutine function"):
        thread.result(PATIENCE_S)


def test_one_that_goes_on_after_the_refusal_returns_what_it_returns(group: CarrierGroup) -> None:
    class Foreign:
        def __await__(self) -> Iterator[None]:
            yield

    async def goes_on() -> str:
        with pytest.raises(TypeError, match="allowed"):
            await Foreign()
        return "done"

    async def waits_again() -> str:
        with pytest.raises(TypeError, match="allowed"):
            await Foreign()
        await coroutine.sleep(0.001)
        return "done"

    for fn in (goes_on, waits_again):
        assert VirtualThread(fn, group=group).start().result(PATIENCE_S) == "done"


def test_its_context_is_one_through_all_steps(group: CarrierGroup) -> None:
    variable = contextvars.ContextVar("variable", default=0)

    async def body() -> int:
        variable.set(variable.get() + 1)
        await coroutine.yield_now()
        return variable.get()

    variable.set(6)
    assert VirtualThread(body, group=group).start().result(PATIENCE_S) == 7
    assert variable.get() == 6


def test_a_close_hands_back_what_is_parked() -> None:
    group = CarrierGroup(1)
    thread = parked(VirtualThread(coroutine.park, name="stays", group=group).start())
    assert group.close(cancel=True) == [Unfinished("stays", "parked")]
    assert thread.state == "closed"


def test_a_child_that_it_forks_ends_where_the_step_does(group: CarrierGroup) -> None:
    async def body() -> int:
        child = os.fork()
        await coroutine.yield_now()
        return child

    child = VirtualThread(body, group=group).start().result(PATIENCE_S)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (0, 1)


# Those whose call makes no coroutine where the hot path is C; what they make is held to the same.
WAITS: dict[str, Callable[[VirtualThread], Awaitable[object]]] = {
    "park": lambda _: coroutine.park(0),
    "sleep": lambda _: coroutine.sleep(0.001),
    "yield_now": lambda _: coroutine.yield_now(),
    "join": lambda other: coroutine.join(other, 0),
}
waits = pytest.mark.parametrize("name", WAITS)


@pytest.fixture
def other(group: CarrierGroup) -> Iterator[VirtualThread]:
    """Yield a thread that is parked."""
    thread = parked(VirtualThread(coroutine.park, group=group).start())
    yield thread
    thread.unpark()
    thread.join()


def test_a_permit_that_comes_while_it_sleeps_is_left_for_the_next_park(
    group: CarrierGroup,
) -> None:
    async def body() -> tuple[bool, float]:
        began = time.monotonic()
        await coroutine.sleep(0.2)
        took = time.monotonic() - began
        return await coroutine.park(0), took

    thread = parked(VirtualThread(body, group=group).start())
    thread.unpark()
    had_permit, took = thread.result(PATIENCE_S)
    assert had_permit
    assert took >= 0.2


@waits
def test_one_that_is_never_awaited_is_told(
    group: CarrierGroup, other: VirtualThread, name: str
) -> None:
    async def body() -> None:
        with pytest.warns(RuntimeWarning, match=f"coroutine '{name}' was never awaited"):
            WAITS[name](other)

    VirtualThread(body, group=group).start().result(PATIENCE_S)


@waits
def test_one_is_awaited_once(group: CarrierGroup, other: VirtualThread, name: str) -> None:
    async def body() -> None:
        wait = WAITS[name](other)
        assert not await wait
        with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
            await wait

    VirtualThread(body, group=group).start().result(PATIENCE_S)


@waits
def test_one_that_is_closed_or_thrown_into_is_not_awaited(
    group: CarrierGroup, other: VirtualThread, name: str
) -> None:
    async def body() -> None:
        for is_closed in (True, False):
            wait = cast("Coroutine[Any, Any, object]", WAITS[name](other))
            if is_closed:
                wait.close()
            else:
                with pytest.raises(KeyError, match="thrown"):
                    wait.throw(KeyError("thrown"))
            with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
                wait.send(None)

    VirtualThread(body, group=group).start().result(PATIENCE_S)


@pytest.mark.skipif(not core.IN_C, reason="a coroutine says so in other words, or waits as well")
@pytest.mark.parametrize("name", ["park", "join"])
def test_one_is_awaited_by_one_thread(group: CarrierGroup, other: VirtualThread, name: str) -> None:
    made: list[Awaitable[bool]] = []

    async def first() -> bool:
        made.append(coroutine.park() if name == "park" else coroutine.join(other))
        return await made[0]

    async def second() -> None:
        with pytest.raises(RuntimeError, match="awaits what another one has called"):
            await made[0]

    waiter = parked(VirtualThread(first, group=group).start())
    VirtualThread(second, group=group).start().result(PATIENCE_S)
    (waiter if name == "park" else other).unpark()
    assert waiter.result(PATIENCE_S) is True


@pytest.mark.parametrize("fn", [coroutine.park, coroutine.yield_now, coroutine.join])
def test_it_is_a_coroutine_function_to_all_who_ask(fn: Callable[..., object]) -> None:
    assert inspect.iscoroutinefunction(fn)
    assert inspect.isfunction(fn)
    assert fn.__module__ == "wakeproof.coroutine"
    assert inspect.signature(fn).return_annotation in ("bool", "None")
    assert pickle.loads(pickle.dumps(fn)) is copy.copy(fn) is fn


def test_its_arguments_are_those_of_the_function_in_python(
    group: CarrierGroup, other: VirtualThread
) -> None:
    async def body() -> None:
        assert not await coroutine.park(timeout_s=0)
        assert not await coroutine.join(other, timeout_s=0)
        assert not await coroutine.join(other=other, timeout_s=0)
        with pytest.raises(TypeError, match=r"join\(\) missing 1 required positional argument"):
            await coroutine.join()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"yield_now\(\) takes 0 positional arguments"):
            await coroutine.yield_now(1)  # type: ignore[call-arg]
        with pytest.raises(wakeproof.UsageError, match="timeout_s is -1"):
            await coroutine.park(-1)
        with pytest.raises(wakeproof.UsageError, match="timeout_s is nan"):
            await coroutine.join(other, float("nan"))

    VirtualThread(body, group=group).start().result(PATIENCE_S)


def test_those_whose_call_is_c_run_as_bodies_and_in_a_partial(group: CarrierGroup) -> None:
    assert VirtualThread(coroutine.park, 0, group=group).start().result(PATIENCE_S) is False
    timed = partial(coroutine.park, timeout_s=0)
    assert VirtualThread(timed, group=group).start().result(PATIENCE_S) is False
    thread = VirtualThread(coroutine.yield_now, group=group).start()
    assert thread.result(PATIENCE_S) is None
