# SPDX-License-Identifier: Apache-2.0
"""One program has the same results, errors and cancellation in `concurrent.futures` and ours."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    FIRST_EXCEPTION,
    Executor,
    Future,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from functools import partial
from typing import Any

import pytest
from tests.support.virtual import until

from wakeproof import CarrierGroup, QueuedThreadPool, VirtualThreadExecutor, VirtualThreadPool

PATIENCE_S = 60  # a lost call fails the test instead of hanging it
Make = Callable[[int], Executor]
Program = Callable[[Make], object]
CARRIERS = 4  # more than a program here blocks


@pytest.fixture(scope="module")
def carriers() -> Iterator[CarrierGroup]:
    with CarrierGroup(CARRIERS, work_stealing=True) as group:
        yield group


@pytest.fixture(params=["thread per task", "virtual", "queued"])
def ours(request: pytest.FixtureRequest, carriers: CarrierGroup) -> Make:
    """Make a pool that runs this many calls at once."""
    if request.param == "virtual":
        return partial(VirtualThreadPool, group=carriers)
    if request.param == "queued":
        return partial(QueuedThreadPool, min_threads=0)
    return lambda _: VirtualThreadExecutor(carriers)


@pytest.fixture
def bounded(ours: Make) -> Make:
    """Make a pool that has a bound."""
    if isinstance(ours(1), VirtualThreadExecutor):
        pytest.skip("it has no bound, behind which calls are pending")
    return ours


def outcome(future: Future[Any]) -> object:
    """Return the outcome of a future that is done."""
    assert future.done()
    assert not future.running()
    if future.cancelled():
        return "cancelled"
    error = future.exception(0)
    if error is None:
        return future.result(0)
    names = [error.__cause__, error.__context__]
    return type(error), error.args, [type(one) for one in names]


def fails(error: BaseException) -> None:
    raise error


def fails_with_cause() -> None:
    try:
        raise KeyError("first")
    except KeyError as error:
        raise ValueError("then") from error


def results(make: Make) -> object:
    with make(3) as executor:
        futures = [
            executor.submit(pow, 2, 10),
            executor.submit(dict, fn=1, self=2),
            executor.submit(lambda: None),
            executor.submit(fails, KeyError("lost")),
            executor.submit(fails, SystemExit(3)),
            executor.submit(fails, KeyboardInterrupt()),
            executor.submit(fails, GeneratorExit()),
            executor.submit(fails_with_cause),
            executor.submit(abs, "text"),  # type: ignore[arg-type]
            *(executor.submit(int, str(number)) for number in range(100)),
        ]
        assert not wait(futures, PATIENCE_S).not_done
        return [outcome(future) for future in futures]


def maps(make: Make) -> object:
    said: list[object] = []
    with make(3) as executor:
        said.append(list(executor.map(pow, range(9), range(9))))
        said.append(list(executor.map(pow, range(9), range(9), timeout=PATIENCE_S, chunksize=4)))
        each = executor.map(divmod, [1, 1, 1, 1], [2, 3, 0, 5])
        said += [next(each), next(each)]
        with pytest.raises(ZeroDivisionError):
            next(each)
        with pytest.raises(TypeError):
            executor.submit(fn=abs)  # type: ignore[call-arg]
    return said


def callbacks(make: Make) -> object:
    said: list[object] = []
    with make(2) as executor:
        for fn in (int, partial(fails, KeyError())):
            future = executor.submit(fn)
            future.add_done_callback(lambda one: said.append(outcome(one)))
            future.add_done_callback(lambda _: fails(ValueError("logged, not raised")))
            future.add_done_callback(lambda one: said.append(one.done()))
            wait([future], PATIENCE_S)
            until(lambda: len(said) in (2, 6))
            future.add_done_callback(lambda _: said.append("at once"))
            said.append(future.done())
    return said


def waits(make: Make) -> object:
    gate = threading.Event()
    with make(2) as executor:
        held = executor.submit(gate.wait, PATIENCE_S)
        until(held.running)
        quick = executor.submit(int)
        first = wait([held, quick], PATIENCE_S, FIRST_COMPLETED)
        failed = executor.submit(fails, KeyError())
        second = wait([held, failed], PATIENCE_S, FIRST_EXCEPTION)
        with pytest.raises(TimeoutError):
            held.result(0.001)
        with pytest.raises(TimeoutError):
            held.exception(0)
        with pytest.raises(TimeoutError):
            list(executor.map(lambda _: held.result(PATIENCE_S), [0], timeout=0.001))
        states = held.running(), held.done(), held.cancel(), held.cancelled()
        gate.set()
        every = {
            future: future.done() for future in as_completed([held, quick, failed], PATIENCE_S)
        }
    return (
        first.done == {quick}, first.not_done == {held}, second.done == {failed},
        second.not_done == {held}, states, list(every.values()), held.result(0),
    )  # fmt: skip


def asyncio_too(make: Make) -> object:
    async def main(executor: Executor) -> object:
        run = partial(asyncio.get_running_loop().run_in_executor, executor)
        calls = [run(abs, -1), run(fails, KeyError("lost")), run(divmod, 7, 2)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        return [repr(one) for one in done]

    with make(2) as executor:
        return asyncio.run(main(executor))


def shutdowns(make: Make) -> object:
    gate = threading.Event()
    executor = make(2)
    held = [executor.submit(gate.wait, PATIENCE_S) for _ in range(2)]
    until(lambda: all(future.running() for future in held))
    executor.shutdown(wait=False)
    with pytest.raises(RuntimeError):
        executor.submit(int)
    with pytest.raises(RuntimeError):
        executor.map(int, ["1"])
    said = [future.done() for future in held]
    gate.set()
    executor.shutdown()
    executor.shutdown()
    said += [future.done() for future in held]
    inner: list[Future[int]] = []
    with pytest.raises(KeyError):
        _leaves_a_block(make(1), inner)
    return said, [outcome(future) for future in inner]


def _leaves_a_block(executor: Executor, inner: list[Future[int]]) -> None:
    with executor:
        inner.append(executor.submit(executor.submit, int, "7").result(PATIENCE_S))
        fails(KeyError())


def cancellation(make: Make) -> object:
    gate = threading.Event()
    executor = make(2)
    held = [executor.submit(gate.wait, PATIENCE_S) for _ in range(2)]
    until(lambda: all(future.running() for future in held))
    pending = [executor.submit(abs, -number) for number in range(10)]
    said: list[object] = [(one.running(), one.done(), one.cancelled()) for one in pending]
    pending[1].add_done_callback(lambda one: said.append(outcome(one)))
    said += [one.cancel() for one in (*held, *pending[:4], pending[0])]
    said += [(one.running(), one.done(), one.cancelled()) for one in pending]
    said.append(wait(pending[4:], 0.001).done)
    assert asyncio.run(_cancelled(executor)) == "cancelled"
    gate.set()
    executor.shutdown()
    return said, [outcome(one) for one in (*held, *pending)]


async def _cancelled(executor: Executor) -> str:
    call = asyncio.get_running_loop().run_in_executor(executor, fails, KeyError())
    call.cancel()
    try:
        await call
    except asyncio.CancelledError:
        return "cancelled"
    return "ran"


def shutdown_that_cancels(make: Make) -> object:
    gate = threading.Event()
    executor = make(2)
    held = [executor.submit(gate.wait, PATIENCE_S) for _ in range(2)]
    until(lambda: all(future.running() for future in held))
    pending = [executor.submit(int) for _ in range(10)]
    executor.shutdown(wait=False, cancel_futures=True)
    said = [(one.running(), one.cancelled()) for one in (*held, *pending)]
    gate.set()
    executor.shutdown()
    return said, [outcome(one) for one in (*held, *pending)]


@pytest.mark.parametrize("program", [results, maps, callbacks, waits, asyncio_too, shutdowns])
def test_a_program_is_told_the_same(
    program: Program, ours: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL + 1):  # of callbacks that fail
        assert program(ours) == program(ThreadPoolExecutor)


@pytest.mark.parametrize("program", [cancellation, shutdown_that_cancels])
def test_a_program_that_cancels_is_told_the_same(program: Program, bounded: Make) -> None:
    assert program(bounded) == program(ThreadPoolExecutor)
