# SPDX-License-Identifier: Apache-2.0
"""Hypothesis draws schedules together with data, and shrinks both."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from wakeproof.errors import ScheduleError, UsageError
from wakeproof.judge.schedules.strategies import Schedule, schedules

pytestmark = pytest.mark.slow
HURRIED = settings(
    deadline=None, derandomize=True, max_examples=300, database=None,
    phases=(Phase.generate, Phase.shrink), suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip


def sums(amounts: list[int], *, is_locked: bool) -> None:
    """Two threads add the amounts; one above 9 is added in two steps, and not under the lock."""
    lock = threading.Lock()
    total: queue.SimpleQueue[int] = queue.SimpleQueue()
    total.put(0)

    def add(amount: int) -> None:
        if amount < 10 or is_locked:
            with lock:
                total.put(total.get() + amount)
        else:
            with lock:
                before = total.get()
                total.put(before)
            with lock:
                total.get()
                total.put(before + amount)

    threads = [threading.Thread(target=add, args=(amount,)) for amount in amounts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert total.get() == sum(amounts)


def smallest(program: Callable[[Any], None], data: Any, **options: Any) -> tuple[Any, str, str]:
    """Return the last data that fail, which hypothesis shows, their schedule, and the verdict."""
    last: list[Any] = []

    @HURRIED
    @given(data, schedules(**options))
    def test(drawn: Any, schedule: Schedule) -> None:
        try:
            schedule.run(lambda: program(drawn))
        except ScheduleError:
            last[:] = drawn, repr(schedule)
            raise

    with pytest.raises(ScheduleError) as raised:
        test()
    return last[0], last[1], raised.value.verdict


AMOUNTS = st.lists(st.integers(0, 20), min_size=1, max_size=3)


def test_data_and_schedule_shrink_together() -> None:
    amounts, schedule, verdict = smallest(lambda these: sums(these, is_locked=False), AMOUNTS)
    assert verdict == "assertion"
    assert max(amounts) == 10
    assert schedule.count("(") == 2  # Schedule, and one change


def test_what_holds_holds_in_all_schedules_that_are_drawn() -> None:
    @HURRIED
    @given(AMOUNTS, schedules())
    def test(amounts: list[int], schedule: Schedule) -> None:
        schedule.run(lambda: sums(amounts, is_locked=True))

    test()


def test_ways_of_a_loop_are_drawn_as_well() -> None:
    def program(count: int) -> None:
        async def main() -> None:
            seen: list[int] = []

            async def one(me: int) -> None:
                await asyncio.sleep(1)
                seen.append(me)

            await asyncio.gather(*(one(me) for me in range(count)))
            assert seen == sorted(seen)

        asyncio.run(main())

    assert smallest(program, st.integers(1, 3)) == (2, "Schedule([(0, 0)])", "assertion")


def test_threads_may_begin_late() -> None:
    def program(count: int) -> None:
        order: list[int] = []
        threads = [threading.Thread(target=order.append, args=(me,)) for me in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert order == sorted(order)

    count, schedule, verdict = smallest(program, st.integers(1, 3))
    assert (count, verdict) == (2, "assertion")
    assert schedule.endswith(", late)"), schedule


def test_options_that_mean_nothing() -> None:
    with pytest.raises(UsageError, match="steps is 0"):
        schedules(steps=0)
