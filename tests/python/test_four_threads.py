# SPDX-License-Identifier: Apache-2.0
"""Four OS threads at one object at the same time lose nothing, with the GIL and without it.

Each case is a kind of public object.  The four threads call its methods in random order, and one of
them also whatever can be asked without arguments; then the case adds up.  WAKEPROOF_STRESS_S
(default 0.3) is how many seconds each case takes; `make free-threaded` gives it more.

Serves docs/inside/without-the-gil.md.
"""

from __future__ import annotations

import inspect
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty
from typing import Any

import pytest

import wakeproof
from wakeproof import (
    CarrierGroup,
    Channel,
    Condition,
    Latch,
    MpscQueue,
    Mutex,
    Parker,
    QueuedThreadPool,
    Scope,
    ScopedValue,
    Semaphore,
    VirtualThread,
    VirtualThreadExecutor,
    VirtualThreadPool,
    coroutine,
    sleep,
    yield_now,
)

SECONDS = float(os.environ.get("WAKEPROOF_STRESS_S", "0.3"))
THREADS, PATIENCE_S = 4, 120
pytestmark = pytest.mark.slow


@dataclass
class Case:
    """What the threads do; a thread is done when its action returns False, or the time is over."""

    each: list[Callable[[], object]]  # what a thread does, by turns at random
    objects: list[Any]  # asked for what they tell without arguments
    check: Callable[[Counter[str]], None]  # afterwards: how often each action was done
    ends: list[Callable[[], object]] = field(default_factory=list)


ASKED_NOT = {
    "close", "shutdown", "stop", "join", "result", "start", "run_step", "cancel", "interrupt",
    "park", "wait", "wait_for", "get", "get_nowait", "receive", "acquire", "release", "enter",
    "exit", "wakeup", "unpark", "open", "notify", "notify_all", "lease", "trace_on", "trace_off",
    "produce", "dispatch", "clear", "dump", "events",
}  # fmt: skip


def questions(thing: Any) -> list[Callable[[], object]]:
    """Return what can be asked of the object without arguments, and changes nothing."""
    found: list[Callable[[], object]] = [lambda: repr(thing)]
    for name in dir(type(thing)):
        member = inspect.getattr_static(type(thing), name)
        if name.startswith("_") or name in ASKED_NOT:
            continue
        if isinstance(member, property):
            found.append(lambda name=name: getattr(thing, name))  # type: ignore[misc]
        elif inspect.isfunction(member) and len(inspect.signature(member).parameters) == 1:
            found.append(getattr(thing, name))
    return found


def stress(case: Case, seconds: float = SECONDS) -> Counter[str]:
    """Let four threads do what the case says; raise what one of them raised, or that they hang."""
    end, begin = time.monotonic() + seconds, threading.Barrier(THREADS)
    done: list[Counter[str]] = [Counter() for _ in range(THREADS)]
    wrong: list[BaseException] = []
    asked = [question for thing in case.objects for question in questions(thing)]

    def body(number: int) -> None:
        chance = random.Random(number)
        try:
            begin.wait(PATIENCE_S)
            while time.monotonic() < end and not wrong:
                for _ in range(20):
                    act = chance.choice(case.each)
                    act()
                    done[number][act.__name__] += 1
                if number == 0:
                    chance.choice(asked or [lambda: None])()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=body, args=(n,), daemon=True) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S + seconds)
    assert not any(thread.is_alive() for thread in threads), "it hangs"
    if wrong:
        raise wrong[0]
    total = Counter[str]()
    for each in done:
        total.update(each)
    return total


class Unguarded:
    """A counter without a lock, with another thread's turn between the read and the write."""

    def __init__(self) -> None:
        self.value = 0

    def add(self) -> None:
        before = self.value
        time.sleep(0)
        self.value = before + 1


def counting(enter: Any) -> tuple[Callable[[], None], Unguarded]:
    """Return an action that counts in a `with` block."""
    counter = Unguarded()

    def count() -> None:
        with enter:
            counter.add()

    return count, counter


def of_nothing() -> Case:
    """The twin: a counter that nothing guards."""
    counter = Unguarded()

    def count() -> None:
        counter.add()

    return Case([count], [], lambda done: _same(counter.value, done["count"]))


def _same(found: object, expected: object) -> None:
    assert found == expected


def of_mutex() -> Case:
    mutex = Mutex()
    count, counter = counting(mutex)

    def attempt() -> None:
        if mutex.acquire(timeout_s=0):
            counter.add()
            counter.value -= 1
            mutex.release()

    return Case([count, attempt], [mutex], lambda done: _same(counter.value, done["count"]))


def of_semaphore() -> Case:
    semaphore, inside, most = Semaphore(2), [0], [0]

    def hold() -> None:
        with semaphore:
            inside.append(1)
            most[0] = max(most[0], len(inside) - 1)
            time.sleep(0)
            inside.pop()

    def check(_: Counter[str]) -> None:
        assert most[0] <= 2
        assert semaphore.permits == 2

    return Case([hold], [semaphore], check)


def of_condition() -> Case:
    condition, made, taken = Condition(), [0], [0]

    def give() -> None:
        with condition:
            made[0] += 1
            condition.notify()

    def take() -> None:
        with condition:
            if condition.wait_for(lambda: made[0] > taken[0], timeout_s=0.001):
                taken[0] += 1

    return Case([give, take], [condition], lambda done: _same(made[0], done["give"]))


def of_channel(capacity: int) -> Case:
    channel: Channel[object] = Channel(capacity)
    sent, got = [], []

    def send() -> None:
        item = object()
        if channel.send(item, timeout_s=0.001):
            sent.append(item)

    def receive() -> None:
        with suppress(wakeproof.DeadlineError):
            got.append(channel.receive(timeout_s=0.001))

    def check(_: Counter[str]) -> None:
        while channel.count:
            got.append(channel.receive(timeout_s=0))
        assert Counter(map(id, got)) == Counter(map(id, sent))

    return Case([send, receive], [channel], check)


def of_mpsc_queue() -> Case:
    queue: MpscQueue[object] = MpscQueue()
    put, got = [], []

    def give() -> None:
        item = object()
        queue.put(item)
        put.append(item)

    def take() -> None:
        with suppress(Empty):
            got.append(queue.get(timeout_s=0))

    def check(_: Counter[str]) -> None:
        while queue.statistics().held:
            got.append(queue.get(timeout_s=PATIENCE_S))
        assert Counter(map(id, got)) == Counter(map(id, put))

    return Case([give, take], [queue], check, [queue.close])


def of_latch() -> Case:
    group, shared = CarrierGroup(1), [Latch()]

    def meet() -> None:
        latch = Latch()
        group.submit(latch.open)
        assert latch.wait(PATIENCE_S), "it was opened, and nobody was woken"

    def open_one() -> None:
        shared[0].open()
        shared[0] = Latch()

    def wait_one() -> None:
        latch = shared[0]
        assert not latch.wait(0.0001) or latch.is_open

    return Case([meet, open_one, wait_one], [shared[0]], lambda _: None, [group.close])


def of_parker() -> Case:
    group = CarrierGroup(1)

    def meet() -> None:
        with Parker() as parker:
            unparked = group.submit(parker.unpark)
            assert parker.park(PATIENCE_S), "it was unparked, and not woken"
            unparked.result(PATIENCE_S)

    return Case([meet], [], lambda _: None, [group.close])


def of_group() -> Case:
    group, total, futures = CarrierGroup(2), Unguarded(), []
    lock = threading.Lock()

    def call() -> None:
        futures.append(group.submit(add))

    def on_a_carrier() -> None:
        futures.append(group[random.randrange(2)].submit(add))

    def add() -> None:
        with lock:
            total.value += 1

    def check(done: Counter[str]) -> None:
        wait(futures, PATIENCE_S)
        assert total.value == done["call"] + done["on_a_carrier"]

    return Case([call, on_a_carrier], [group, group[0]], check, [group.close])


def of_threads() -> Case:
    group = CarrierGroup(2, work_stealing=True)
    values, lock, count = threading.local(), threading.RLock(), [0]
    waiting: list[VirtualThread[Any]] = []

    def body(value: object) -> object:
        values.x = value
        with lock, lock:
            seen = count[0]
            yield_now()
            count[0] = seen + 1
        assert values.x is value
        return value

    async def steps(value: object) -> object:
        await coroutine.yield_now()
        return value

    def run() -> None:
        value = object()
        thread = VirtualThread(body, value, group=group).start()
        assert thread.result(PATIENCE_S) is value

    def run_steps() -> None:
        value = object()
        assert VirtualThread(steps, value, group=group).start().result(PATIENCE_S) is value

    def park() -> None:
        waiting.append(VirtualThread(wakeproof.park, group=group).start())

    def unpark() -> None:
        with suppress(IndexError):
            thread = waiting.pop()
            thread.unpark()
            thread.join(PATIENCE_S)
            assert not thread.is_alive()

    def check(done: Counter[str]) -> None:
        while waiting:
            unpark()
        assert count[0] == done["run"]

    some = VirtualThread(sleep, 0, group=group).start()
    return Case([run, run_steps, park, unpark], [some, group], check, [group.close])


def of_pool(make: Callable[[CarrierGroup], Executor]) -> Case:
    group = CarrierGroup(2)
    pool, futures = make(group), []

    def submit() -> None:
        futures.append(pool.submit(pow, 2, 3))

    def submit_and_wait() -> None:
        assert pool.submit(pow, 3, 2).result(PATIENCE_S) == 9

    def cancel() -> None:
        pool.submit(sleep, 0.0001).cancel()

    def check(done: Counter[str]) -> None:
        assert [future.result(PATIENCE_S) for future in futures] == [8] * done["submit"]

    ends = [lambda: pool.shutdown(wait=True), group.close]
    return Case([submit, submit_and_wait, cancel], [pool], check, ends)


def of_scope() -> Case:
    group, value = CarrierGroup(2), ScopedValue[int]("value")

    def fork() -> None:
        with value.bind(7), Scope(group=group) as scope:
            each = [scope.fork(value.get) for _ in range(5)]
            scope.join()
        assert [one.result() for one in each] == [7] * 5

    def cancel() -> None:
        with suppress(wakeproof.CancelledScopeError), Scope(group=group) as scope:
            scope.fork(sleep, 60)
            scope.cancel()
            scope.join()

    return Case([fork, cancel], [], lambda _: None, [group.close])


CASES: dict[str, Callable[[], Case]] = {
    "Mutex": of_mutex, "Semaphore": of_semaphore, "Condition": of_condition,
    "Channel(0)": lambda: of_channel(0), "Channel(3)": lambda: of_channel(3),
    "MpscQueue": of_mpsc_queue, "Latch": of_latch, "Parker": of_parker,
    "CarrierGroup": of_group, "VirtualThread": of_threads, "Scope": of_scope,
    "VirtualThreadPool": lambda: of_pool(lambda group: VirtualThreadPool(8, group=group)),
    "VirtualThreadExecutor": lambda: of_pool(VirtualThreadExecutor),
    "QueuedThreadPool": lambda: of_pool(lambda _: QueuedThreadPool(4)),
}  # fmt: skip


@pytest.fixture
def made() -> Iterator[Callable[[Callable[[], Case]], Case]]:
    cases: list[Case] = []

    def make(of: Callable[[], Case]) -> Case:
        cases.append(of())
        return cases[-1]

    yield make
    for case in cases:
        for end in case.ends:
            end()


@pytest.mark.parametrize("name", CASES)
def test_four_threads_lose_nothing(name: str, made: Callable[..., Case]) -> None:
    case = made(CASES[name])
    done = stress(case)
    assert all(done[act.__name__] for act in case.each), f"not all was done: {done}"
    case.check(done)


def starters(start: Callable[[], object]) -> int:
    """Let four threads start the same thing; return how many could."""
    begin, ok = threading.Barrier(THREADS), list[int]()

    def body() -> None:
        begin.wait(PATIENCE_S)
        with suppress(wakeproof.StateError):
            start()
            ok.append(1)

    threads = [threading.Thread(target=body) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    return len(ok)


def test_one_of_four_threads_starts_a_virtual_thread() -> None:
    end, ran = time.monotonic() + SECONDS, list[int]()
    with CarrierGroup(2) as group:
        while time.monotonic() < end:
            thread = VirtualThread(ran.append, 1, group=group)
            assert starters(thread.start) == 1
            thread.join(PATIENCE_S)
            assert len(ran) == 1
            ran.clear()


class StartedTwice:
    """The twin: another thread may come between the look and the start."""

    is_started = False

    def start(self) -> None:
        if self.is_started:
            raise wakeproof.StateError("it was started before")
        time.sleep(0.001)
        self.is_started = True


def test_what_looks_and_then_starts_is_started_twice() -> None:
    assert starters(StartedTwice().start) > 1


def test_a_counter_that_nothing_guards_loses_some(made: Callable[..., Case]) -> None:
    case = made(of_nothing)
    done = stress(case)
    with pytest.raises(AssertionError):
        case.check(done)
