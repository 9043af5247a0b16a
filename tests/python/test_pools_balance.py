# SPDX-License-Identifier: Apache-2.0
"""Counts of pools balance, whatever is submitted, ends, fails and is cancelled at once.

Specs: specs/pool/Pool.tla (QtpCounterBalance), Semaphore.tla (PermitBalance).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, wait
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.virtual import PATIENCE_S, until

from wakeproof import CarrierGroup, QueuedThreadPool, Semaphore, VirtualThreadPool
from wakeproof._runtime.here import here

Step = Literal["run", "fail", "hold", "let go", "cancel", "try"]
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.sampled_from(["run", "fail", "hold", "let go", "cancel", "try"]), max_size=30
)
MOST = 3


class Cycle:
    """The actions of one example on a pool, from two threads."""

    def __init__(self, pool: Executor, look: Callable[[], None]) -> None:
        self.pool, self.look = pool, look
        self.gate, self.holds = Semaphore(0), 0
        self.ran: Counter[int] = Counter()
        self.futures: list[list[Future[Any]]] = [[], []]
        self.wrong: list[BaseException] = []

    def call(self, key: int, step: Step) -> None:
        self.ran[key] += 1  # each key belongs to one call
        if step == "hold":
            self.gate.acquire()
        if step == "fail":
            raise KeyError(key)

    def go(self, side: int, steps: list[Step]) -> None:
        mine = self.futures[side]
        try:
            for at, step in enumerate(steps):
                self.look()
                if step == "cancel":
                    for future in mine[-2:]:
                        future.cancel()
                elif step == "let go":
                    self.gate.release()
                else:
                    begin = self.pool.try_execute if step == "try" else self.pool.submit  # type: ignore[attr-defined]
                    future = begin(self.call, 100 * at + side, step)
                    if future is not None:
                        mine.append(future)
        except BaseException as error:
            self.wrong.append(error)

    def run(self, steps: tuple[list[Step], list[Step]]) -> int:
        """Return how many calls have run, when all is over."""
        sides = [threading.Thread(target=self.go, args=side) for side in enumerate(steps)]
        for thread in sides:
            thread.start()
        for thread in sides:
            thread.join(PATIENCE_S)
        self.gate.release(100)  # more than hold
        futures = [future for mine in self.futures for future in mine]
        assert not wait(futures, PATIENCE_S).not_done
        assert self.wrong == []
        ran = sum(not future.cancelled() for future in futures)
        assert set(self.ran.values()) <= {1}
        assert len(self.ran) == ran
        return ran


@pytest.fixture(scope="module")
def carriers() -> Iterator[CarrierGroup]:
    with CarrierGroup(2, work_stealing=True) as group:
        yield group


SETTINGS = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def balances(pool: VirtualThreadPool, steps: tuple[list[Step], list[Step]]) -> None:
    assert pool._permits is not None
    permits = pool._permits

    def look() -> None:
        assert pool.statistics().running <= MOST
        assert 0 <= permits.permits <= MOST

    with pool:
        cycle = Cycle(pool, look)
        cycle.run(steps)
    told = pool.statistics()
    assert told.submitted == told.ended == sum(len(mine) for mine in cycle.futures)
    assert (told.running, told.waiting, permits.permits) == (0, 0, MOST)


@SETTINGS
@given(steps=st.tuples(STEPS, STEPS))
def test_a_pool_of_virtual_threads_balances(
    steps: tuple[list[Step], list[Step]], carriers: CarrierGroup
) -> None:
    balances(VirtualThreadPool(MOST, group=carriers), steps)


class Loses(VirtualThreadPool):
    """A twin: a call that fails keeps its permit."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        def loses() -> Any:
            try:
                return fn(*args, **kwargs)
            except BaseException:
                call = here.thread._permitted  # type: ignore[union-attr]
                call.has_permit = False  # type: ignore[union-attr]
                raise

        return super().submit(loses)


@SETTINGS
@given(steps=st.tuples(STEPS, STEPS))
def test_a_pool_of_os_threads_balances(steps: tuple[list[Step], list[Step]]) -> None:
    def look() -> None:
        told = pool.statistics()
        assert told.threads <= MOST
        assert told.threads == told.ready + told.leased + told.utilized
        assert told.accepted >= told.finished + told.closed + told.queued

    with QueuedThreadPool(MOST, min_threads=0, reserved_threads=1) as pool:
        cycle = Cycle(pool, look)
        cycle.run(steps)
        until(lambda: pool.statistics().queued == 0)
    told = pool.statistics()
    assert (told.threads, told.queued, told.closed) == (0, 0, 0)
    assert told.accepted == told.finished
