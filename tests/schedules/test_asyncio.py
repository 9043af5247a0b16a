# SPDX-License-Identifier: Apache-2.0
"""What of asyncio is explored, and what is said of it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import queue
import re
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import wakeproof
from wakeproof.errors import ScheduleError, UnsupportedError
from wakeproof.judge.schedules import loop
from wakeproof.judge.schedules.explore import Found, Options, explore

from .bugs import together

THREE = set(itertools.permutations(range(3)))


def each(main: Callable[[list[Any]], Coroutine[Any, Any, object]], **options: Any) -> set[Any]:
    """Return what the runs of a program have seen, each in its order."""
    found: set[Any] = set()

    def program() -> None:
        seen: list[Any] = []
        asyncio.run(main(seen))
        found.add(tuple(seen))

    assert explore(program, Options(**options)).verdict == "holds"
    return found


def failure(
    main: Callable[[], Coroutine[Any, Any, object]], **options: Any
) -> tuple[str, str, Found]:
    found = explore(lambda: asyncio.run(main()), Options(**options))
    assert found.failure is not None, str(found)
    return found.verdict, found.failure.said, found


async def three(seen: list[Any], delay: float) -> None:
    async def one(me: int) -> None:
        await asyncio.sleep(delay)
        seen.append(me)

    await asyncio.gather(*(one(me) for me in range(3)))


def test_callbacks_run_in_the_order_of_call_soon() -> None:
    assert each(lambda seen: three(seen, 0)) == {(0, 1, 2)}


def test_callbacks_run_in_any_order_if_told_so() -> None:
    assert each(lambda seen: three(seen, 0), any_order=True) == THREE


def test_timers_of_equal_time_run_in_any_order() -> None:
    assert each(lambda seen: three(seen, 1)) == THREE


def test_timers_run_in_the_order_of_their_times() -> None:
    async def main(seen: list[Any]) -> None:
        async def one(me: int) -> None:
            await asyncio.sleep(me)
            seen.append(me)

        await asyncio.gather(one(2), one(3), one(1))

    assert each(main) == {(1, 2, 3)}


async def in_time(seen: list[Any]) -> None:
    try:
        async with asyncio.timeout(1):
            for _ in range(3):
                await asyncio.sleep(0)
        seen.append("in time")
    except TimeoutError:
        seen.append("late")


def test_a_timeout_comes_or_does_not() -> None:
    assert each(in_time) == {("in time",), ("late",)}


def test_a_loop_that_is_never_late_misses_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LATE", 0)
    assert each(in_time) == {("in time",)}


def test_a_thread_s_callback_comes_at_any_time() -> None:
    async def main(seen: list[Any]) -> None:
        this, come = asyncio.get_running_loop(), asyncio.Event()

        def called() -> None:
            seen.append("called")
            come.set()

        thread = threading.Thread(target=lambda: this.call_soon_threadsafe(called))
        thread.start()
        for at in range(2):
            await asyncio.sleep(0)
            seen.append(at)
        await come.wait()
        thread.join()

    assert each(main) == {("called", 0, 1), (0, "called", 1), (0, 1, "called")}


def test_calls_in_executors_end_in_any_order() -> None:
    async def main(seen: list[Any]) -> None:
        async def one(me: int) -> None:
            await asyncio.to_thread(int)
            seen.append(me)

        await asyncio.gather(one(0), one(1))

    found: set[Any] = set()

    def program() -> None:
        seen: list[Any] = []
        asyncio.run(main(seen))
        found.add(tuple(seen))

    explore(program, Options(preemptions=1))
    assert found == {(0, 1), (1, 0)}


def test_two_threads_have_a_loop_each() -> None:
    def program() -> None:
        async def main() -> None:
            mine = asyncio.get_running_loop()
            await asyncio.sleep(1)
            assert asyncio.get_running_loop() is mine
            task = asyncio.current_task()
            assert task is not None
            assert task.get_loop() is mine

        together(lambda: asyncio.run(main()), lambda: asyncio.run(main()))

    assert explore(program).verdict == "holds"


def test_time_is_virtual() -> None:
    async def main(seen: list[Any]) -> None:
        this = asyncio.get_running_loop()
        begin = this.time()
        await asyncio.sleep(3600)
        seen.append(this.time() - begin)

    began = time.perf_counter()
    assert each(main) == {(3600.0,)}
    assert time.perf_counter() - began < 60


def test_a_task_is_cancelled_at_each_await() -> None:
    async def main(seen: list[Any]) -> None:
        async def task() -> None:
            for at in range(3):
                seen.append(at)
                await asyncio.sleep(0)

        await asyncio.wait([asyncio.ensure_future(task())])

    assert each(main) == {(0, 1, 2)}
    assert each(main, cancels=1) == {(), (0,), (0, 1), (0, 1, 2)}


def test_that_a_cancelled_task_is_awaited_is_no_failure() -> None:
    async def main() -> None:
        await asyncio.gather(asyncio.sleep(1), asyncio.sleep(1))

    assert explore(lambda: asyncio.run(main()), Options(cancels=1)).verdict == "holds"


def test_a_task_that_cancels_itself_without_being_told_is_a_failure() -> None:
    async def main() -> None:
        raise asyncio.CancelledError

    assert failure(main)[0] == "exception"


def test_tasks_that_wait_in_a_circle_are_named() -> None:
    async def main() -> None:
        a, b = asyncio.Lock(), asyncio.Lock()

        async def take(first: asyncio.Lock, second: asyncio.Lock) -> None:
            async with first:
                await asyncio.sleep(0)
                async with second:
                    pass

        async with asyncio.TaskGroup() as group:
            group.create_task(take(a, b), name="left")
            group.create_task(take(b, a), name="right")

    verdict, said, _ = failure(main)
    assert verdict == "deadlock"
    assert said.startswith("left waits for right waits for left")
    assert "left waits in asyncio.Lock.acquire at test_asyncio.py:" in said


def test_a_task_that_waits_for_itself_is_a_circle() -> None:
    async def main() -> None:
        async def one() -> None:
            await tasks[1]

        async def other() -> None:
            await tasks[0]

        tasks = [asyncio.ensure_future(one()), asyncio.ensure_future(other())]
        await tasks[0]

    verdict, said, _ = failure(main)
    assert verdict == "deadlock"
    assert said.startswith("task 2 waits for task 3 waits for task 2")


def test_a_future_that_nobody_sets_is_a_deadlock() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    verdict, said, _ = failure(main)
    assert verdict == "deadlock"
    assert "task 1 waits in a future at test_asyncio.py:" in said
    assert "nobody is left who could wake them" in said


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (asyncio.Queue, "asyncio.Queue.get"),
        (lambda: asyncio.Semaphore(0), "asyncio.Semaphore.acquire"),
        (asyncio.Event, "asyncio.Event.wait"),
    ],
)
def test_what_has_come_without_a_wakeup_is_lost(kind: Callable[[], Any], what: str) -> None:
    """As code does that changes what is inside of these objects."""

    async def main() -> None:
        one = kind()

        async def wait() -> None:
            await getattr(one, what.rpartition(".")[2])()

        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        if isinstance(one, asyncio.Queue):
            one._queue.append(1)  # type: ignore[attr-defined]
        else:
            one._value = 1
        await task

    verdict, said, _ = failure(main)
    assert verdict == "lost wakeup"
    assert f"{what.removeprefix('asyncio.')} need not wait any more" in said


def test_a_wakeup_that_a_cancelled_task_has_swallowed_is_named() -> None:
    class Gate:
        is_shut = True

        def __init__(self) -> None:
            self.waiters: list[asyncio.Future[None]] = []

        async def enter(self) -> None:
            waiter = asyncio.get_running_loop().create_future()
            self.waiters.append(waiter)
            await waiter

    async def main() -> None:
        gate = Gate()
        tasks = [asyncio.ensure_future(gate.enter()) for _ in range(2)]
        await asyncio.sleep(0)
        gate.waiters[0].set_result(None)
        tasks[0].cancel()
        await asyncio.wait(tasks)

    verdict, said, _ = failure(main)
    assert verdict == "lost wakeup"
    assert "task 2 had been woken there, was cancelled before it ran, and woke nobody" in said


def test_what_a_task_has_raised_and_nobody_looked_at_is_a_failure() -> None:
    async def fails() -> None:
        raise ValueError("lost")

    async def dropped() -> None:
        asyncio.ensure_future(fails())  # noqa: RUF006
        await asyncio.sleep(1)

    async def kept() -> None:
        tasks.append(asyncio.ensure_future(fails()))
        await asyncio.sleep(1)

    tasks: list[Any] = []
    for main in dropped, kept:
        verdict, said, _ = failure(main)
        assert verdict == "exception"
        assert said == "ValueError in task 2: lost (Task exception was never retrieved)"


def test_what_a_callback_raises_is_a_failure_unless_there_is_a_handler() -> None:
    handled: list[str] = []

    async def main(*, handles: bool) -> None:
        this = asyncio.get_running_loop()
        if handles:
            this.set_exception_handler(lambda _, context: handled.append(context["message"]))
        this.call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)

    verdict, said, _ = failure(lambda: main(handles=False))
    assert verdict == "exception"
    assert said.startswith("ZeroDivisionError in a callback: division by zero (Exception in")
    assert explore(lambda: asyncio.run(main(handles=True))).verdict == "holds"
    assert len(handled) == 1


def test_a_schedule_has_a_lane_for_each_task_and_can_be_replayed() -> None:
    async def main() -> None:
        seen: list[int] = []
        await three(seen, 1)
        assert seen == [0, 1, 2]

    verdict, _, found = failure(main)
    assert verdict == "assertion"
    assert found.failure is not None
    assert found.failure.lanes.splitlines()[0].split(" | ")[1].strip() == "task 1"
    token = found.failure.token
    again = explore(lambda: asyncio.run(main()), Options(replay=token))
    assert again.failure is not None
    assert (again.schedules, again.failure.token) == (1, token)
    assert explore(lambda: asyncio.run(main()), Options(replay="0")).failure is None


def test_a_schedule_by_lot_takes_other_ways() -> None:
    async def main() -> None:
        seen: list[int] = []
        await three(seen, 1)
        assert seen != [2, 1, 0]

    verdict, _, found = failure(main, preemptions=0, random=100)
    assert verdict == "assertion"
    assert found.failure is not None
    assert ":" in found.failure.token


def test_sets_of_tasks_have_the_same_order_in_each_run() -> None:
    async def main(seen: list[Any]) -> None:
        tasks = {asyncio.ensure_future(asyncio.sleep(0, at)) for at in range(20)}
        done, _ = await asyncio.wait(tasks)
        seen += [task.result() for task in done]

    assert len(each(main, cancels=0)) == 1


def test_a_coroutine_function_is_a_test() -> None:
    ran: list[int] = []

    @wakeproof.schedules
    async def test(one: int) -> None:
        await asyncio.sleep(1)
        ran.append(one)

    test(1)
    assert ran == [1]


@pytest.mark.filterwarnings("ignore:'asyncio.*' is deprecated:DeprecationWarning")  # from 3.14 on
def test_code_that_asks_for_another_loop_gets_this_one() -> None:
    class Policy(asyncio.DefaultEventLoopPolicy):
        pass

    async def main() -> None:
        assert type(asyncio.get_running_loop()) is loop.Loop

    def program() -> None:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(main())

    asyncio.set_event_loop_policy(Policy())
    try:
        assert explore(lambda: asyncio.run(main())).verdict == "holds"
    finally:
        asyncio.set_event_loop_policy(None)
    assert explore(program).verdict == "holds"


def test_sockets_and_processes_are_refused() -> None:
    async def connects() -> None:
        await asyncio.open_connection("127.0.0.1", 1)

    async def caught() -> None:
        try:
            await asyncio.create_subprocess_exec("true")
        except Exception as error:
            del error

    async def reads() -> None:
        with socket.socket() as one:
            asyncio.get_running_loop().add_reader(one, int)

    for main, name in (
        (connects, "create_connection"), (caught, "subprocess_exec"), (reads, "add_reader"),
    ):  # fmt: skip
        with pytest.raises(UnsupportedError, match=rf"loop\.{name} waits for something outside"):
            explore(lambda main=main: asyncio.run(main()))  # type: ignore[misc]


def test_a_loop_that_polls_by_itself_is_refused() -> None:
    def program() -> None:
        other = asyncio.SelectorEventLoop()
        try:
            other.run_until_complete(other.create_future())
        finally:
            other.close()

    with pytest.raises(UnsupportedError, match="as a selector of asyncio does"):
        explore(program)


def test_a_task_that_goes_on_for_ever_is_a_livelock() -> None:
    async def main() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(ScheduleError) as raised:
        wakeproof.schedules(steps=300)(main)()
    failed = raised.value.failure
    assert failed.verdict == "livelock"
    assert failed.said.startswith("no end after 300 steps; last: task 1 at test_asyncio.py:")
    assert "?" not in failed.said
    lines = failed.lanes.splitlines()
    assert len(lines) < 70
    assert re.fullmatch(r"\.\.\. \d+ rows \.\.\.", lines[32])


def test_code_of_a_stuck_run_is_ended() -> None:
    ended: list[str] = []

    async def main() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("finally")

    verdict, _, found = failure(main)
    assert verdict == "deadlock"
    assert len(ended) == found.schedules


def test_asyncio_is_as_it_was_afterwards() -> None:
    async def main() -> str:
        await asyncio.sleep(0)
        return type(asyncio.get_running_loop()).__name__

    explore(lambda: asyncio.run(main()))
    assert asyncio.run(main()) != "Loop"


def test_the_decorator_says_how_a_task_fails() -> None:
    @wakeproof.schedules(cancels=1)
    async def test() -> None:
        async def task() -> None:
            await asyncio.sleep(1)
            done.append(1)

        done: list[int] = []
        await asyncio.wait([asyncio.ensure_future(task())])
        assert done

    with pytest.raises(ScheduleError, match=r"assertion: AssertionError in test[^|]*") as raised:
        test()
    assert "(cancelled)" in str(raised.value)


@pytest.mark.parametrize("of", ["event", "future", "queue", "task"])
def test_what_another_thread_does_comes_at_any_time(of: str) -> None:
    """Also if nobody waits for it, so that the loop is not called."""

    async def main(seen: list[Any]) -> None:
        event, future = asyncio.Event(), asyncio.get_running_loop().create_future()
        line: asyncio.Queue[int] = asyncio.Queue()
        task = asyncio.ensure_future(three([], 0))
        do, has_come = {
            "event": (event.set, event.is_set),
            "future": (lambda: future.set_result(1), future.done),
            "queue": (lambda: line.put_nowait(1), lambda: not line.empty()),
            "task": (task.cancel, lambda: bool(task.cancelling())),
        }[of]
        thread = threading.Thread(target=do)
        thread.start()
        for _ in range(2):
            await asyncio.sleep(0)
            seen.append(has_come())
        thread.join()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    assert each(main) >= {(True, True), (False, True), (False, False)}


def test_what_another_thread_does_to_a_queue_that_a_task_waits_for_fails() -> None:
    async def main() -> None:
        line: asyncio.Queue[int] = asyncio.Queue()
        work: queue.SimpleQueue[int] = queue.SimpleQueue()
        thread = threading.Thread(target=lambda: line.put_nowait(work.get()))
        thread.start()
        work.put(1)
        await asyncio.sleep(0)
        await line.get()
        thread.join()

    verdict, said, _ = failure(main)
    assert verdict == "exception"
    assert "Non-thread-safe operation" in said


def test_as_completed_begins_coroutines_in_their_order() -> None:
    """A set of them, which asyncio makes, has the order of their addresses."""

    async def main(seen: list[Any]) -> None:
        async def one(me: int) -> None:
            seen.append(me)

        for done in asyncio.as_completed([one(me) for me in range(8)]):
            await done

    assert each(main) == {tuple(range(8))}


def test_a_wait_is_called_what_the_program_calls() -> None:
    async def joins() -> None:
        line: asyncio.Queue[int] = asyncio.Queue()
        line.put_nowait(1)
        await line.join()

    async def waits() -> None:
        await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())])

    assert "waits in asyncio.Queue.join at" in failure(joins)[1]
    assert "waits in asyncio.wait at" in failure(waits)[1]


def test_a_lock_that_a_task_has_kept_is_said_to_be_that_of_a_task_that_has_ended() -> None:
    async def main() -> None:
        lock = asyncio.Lock()
        await asyncio.ensure_future(lock.acquire())
        await lock.acquire()

    assert "asyncio.Lock.acquire" in failure(main)[1]
    assert "for task 2, which has ended" in failure(main)[1]


def test_a_loop_whose_thread_waits_is_said_to_stand_still(recwarn: Any) -> None:
    async def main() -> None:
        async def one() -> None:
            pass

        asyncio.run_coroutine_threadsafe(one(), asyncio.get_running_loop()).result()

    assert "Future.result (so its event loop stands still)" in failure(main)[1]
    assert not [one for one in recwarn if "never awaited" in str(one.message)]


async def _shielded() -> None:
    tasks, done = [], []

    async def inner() -> None:
        await asyncio.sleep(1)
        done.append(1)

    async def outer() -> None:
        tasks.append(asyncio.ensure_future(inner()))
        await asyncio.shield(tasks[0])

    await asyncio.gather(outer(), return_exceptions=True)
    if tasks:  # `outer` was not cancelled before it began
        await asyncio.wait(tasks)
        assert done


def test_what_is_shielded_is_not_cancelled() -> None:
    found = explore(lambda: asyncio.run(_shielded()), Options(cancels=1))
    assert found.verdict == "holds", str(found)
    assert found.schedules > 2


def test_an_event_that_was_set_and_cleared_before_the_task_waits_is_a_lost_wakeup() -> None:
    async def main() -> None:
        event = asyncio.Event()

        async def waits() -> None:
            await event.wait()

        task = asyncio.ensure_future(waits())
        event.set()
        event.clear()
        await task

    verdict, said, _ = failure(main)
    assert verdict == "lost wakeup"
    assert re.search(r"it was set at .*, and cleared at .* before anybody saw it", said), said


def test_a_task_that_waits_sees_an_event_that_is_cleared_before_it_runs() -> None:
    async def main() -> None:
        event = asyncio.Event()
        task = asyncio.ensure_future(event.wait())
        await asyncio.sleep(0)
        event.set()
        event.clear()
        assert await task

    assert explore(lambda: asyncio.run(main())).verdict == "holds"


def test_an_event_that_somebody_has_seen_is_no_lost_wakeup() -> None:
    async def main() -> None:
        event = asyncio.Event()
        event.set()
        await event.wait()
        event.clear()
        await event.wait()

    verdict, said, _ = failure(main)
    assert (verdict, "it was set" in said) == ("deadlock", False)
