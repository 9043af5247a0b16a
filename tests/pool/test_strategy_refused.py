# SPDX-License-Identifier: Apache-2.0
"""Tasks that a pool refuses or cancels, against specs/pool/Strategy.tla (RejectionIsReported)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from functools import partial
from typing import Any

import pytest
from tests.support.producing import MODES, POOLS, Tasks

from wakeproof import ExecutionStrategy
from wakeproof.strategy import Mode


@pytest.fixture(params=POOLS)
def pool(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with POOLS[request.param]() as pool:
        yield pool


@pytest.mark.parametrize("mode", MODES)
def test_a_pool_that_refuses_is_reported(mode: Mode, pool: Executor) -> None:
    tasks = Tasks(20)
    strategy = ExecutionStrategy(mode, tasks.produce, pool, failed=tasks.told)
    pool.shutdown()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
            strategy.dispatch()
    assert tasks.calls == 0
    strategy.produce()
    assert strategy.is_idle
    assert not tasks.left
    assert sorted([*tasks.ran, *tasks.lost]) == list(range(20))
    assert bool(tasks.lost) is (mode != "produce-consume")


class Holds(Executor):
    """Runs and cancels calls only on request."""

    def __init__(self) -> None:
        self.given: deque[tuple[Future[Any], Callable[..., Any], Any]] = deque()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        self.given.append((Future(), fn, args))
        return self.given[-1][0]

    def run(self) -> None:
        _, fn, args = self.given.popleft()
        fn(*args)

    def cancel(self) -> None:
        self.given.popleft()[0].cancel()


@pytest.mark.parametrize("mode", MODES[:3])
def test_what_a_pool_cancels_is_reported_and_leaves_no_start_pending(mode: Mode) -> None:
    tasks, holds = Tasks(3), Holds()
    strategy = ExecutionStrategy(mode, tasks.produce, holds, failed=tasks.told)
    strategy.dispatch()
    strategy.dispatch()
    assert len(holds.given) == 1  # the next thread will produce
    holds.cancel()
    assert (tasks.calls, strategy.is_idle) == (0, True)
    strategy.dispatch()  # it asks again
    while holds.given:
        holds.run()
        if holds.given:
            holds.cancel()
    strategy.produce()
    while holds.given:
        holds.cancel()
    assert strategy.is_idle
    assert sorted([*tasks.ran, *tasks.lost]) == [0, 1, 2]
    assert all(isinstance(error, CancelledError | KeyError) for _, error in tasks.failed)


def test_a_helper_that_comes_late_does_nothing() -> None:
    tasks, holds = Tasks(2), Holds()
    strategy = ExecutionStrategy("execute-produce-consume", tasks.produce, holds, failed=tasks.told)
    # It leaves for each task, and comes back: one and the same start is to come all the time.
    strategy.produce()
    assert len(holds.given) == 1
    assert len(tasks.ran) == 2
    calls = tasks.calls
    holds.run()
    assert tasks.calls == calls + 1
    assert strategy.is_idle
    assert strategy.statistics().handed_over == 2


class Here(Executor):
    """Has no threads: runs a call where it is submitted, or cancels it."""

    def __init__(self, cancels: bool) -> None:
        self.cancels = cancels

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.cancels:
            future.cancel()
        else:
            future.set_result(fn(*args))
        return future

    def try_execute(self, fn: Callable[..., Any]) -> Future[Any]:
        return self.submit(fn)


@pytest.mark.parametrize("mode", MODES)
def test_an_executor_without_threads_runs_one_task_after_the_other(mode: Mode) -> None:
    ran: list[int] = []
    numbers = iter(range(3000))  # nested, they would be too deep
    strategy = ExecutionStrategy(
        mode, lambda: next((partial(ran.append, at) for at in numbers), None), Here(cancels=False)
    )
    strategy.dispatch()
    assert ran == list(range(3000))
    assert strategy.is_idle
    assert strategy.statistics().handed_over == 0


@pytest.mark.parametrize("mode", MODES[1:])
def test_nobody_follows_who_was_cancelled_at_once(mode: Mode) -> None:
    tasks = Tasks(3)
    strategy = ExecutionStrategy(mode, tasks.produce, Here(cancels=True), failed=tasks.told)
    strategy.produce()
    assert strategy.is_idle
    assert not tasks.ran
    assert sorted(tasks.lost) == [0, 1, 2]
