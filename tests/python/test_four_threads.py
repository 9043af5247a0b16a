# SPDX-License-Identifier: Apache-2.0
"""Four OS threads at one object at the same time lose nothing, with the GIL and without it.

Each case is a kind of public object.  The four threads call its methods in random order, and now
and then whatever can be asked without arguments; then the case adds up.  WAKEPROOF_STRESS_S
(default 0.3) is how many seconds each case takes; `make free-threaded` gives it more.  A public
class without a case, and a public method that no case calls, fail a test, unless a table here says
why.

Serves docs/inside/without-the-gil.md.
"""

from __future__ import annotations

import inspect
import os
import random
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from ctypes import CFUNCTYPE, addressof, c_int, c_void_p, cast
from dataclasses import astuple, dataclass, field, is_dataclass
from functools import partial
from io import StringIO
from itertools import count
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, get_args

import pytest
from tests.support.virtual import until

import wakeproof
from wakeproof import (
    Carrier,
    CarrierGroup,
    Channel,
    Condition,
    DeadlineError,
    ExecutionStrategy,
    Joiner,
    Latch,
    MpscQueue,
    Mutex,
    NativeScheduler,
    Parker,
    Poller,
    PollerClosedError,
    QueuedThreadPool,
    RendezvousGuard,
    Scheduler,
    Scope,
    ScopedValue,
    Semaphore,
    StateError,
    Subtask,
    VirtualThread,
    VirtualThreadExecutor,
    VirtualThreadPool,
    WakeupGuard,
    WrongThreadError,
    coroutine,
    current,
    sleep,
    yield_now,
)
from wakeproof._runtime.brief import HAS_GIL
from wakeproof.strategy import Mode

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
    makes: tuple[type, ...] = ()  # classes of the objects that the actions make


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


def by_four(body: Callable[[int], object]) -> None:
    """Call it in four threads at once; raise what one of them raised, or that they hang."""
    begin, wrong = threading.Barrier(THREADS), list[BaseException]()

    def run(number: int) -> None:
        try:
            begin.wait(PATIENCE_S)
            body(number)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S + SECONDS)
    assert not any(thread.is_alive() for thread in threads), "it hangs"
    if wrong:
        raise wrong[0]


def stress(
    case: Case, seconds: float = SECONDS, profile: Callable[..., object] | None = None
) -> Counter[str]:
    """Let four threads do what the case says; return how often each action was done."""
    end, done = time.monotonic() + seconds, [Counter[str]() for _ in range(THREADS)]
    asked = [question for thing in case.objects for question in questions(thing)]

    def body(number: int) -> None:
        chance = random.Random(number)
        if profile:
            sys.setprofile(profile)
        is_over = False
        while not is_over:  # once at least, however slow the machine is
            for _ in range(20):
                act = chance.choice(case.each)
                act()
                done[number][act.__name__] += 1
            for question in asked:
                question()
            is_over = time.monotonic() >= end

    by_four(body)
    return sum(done, Counter[str]())


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

    def hold_both() -> None:
        assert semaphore.acquire(2)
        assert inside == [0]
        semaphore.release(2)

    def check(_: Counter[str]) -> None:
        assert most[0] <= 2
        assert semaphore.permits == 2

    return Case([hold, hold_both], [semaphore], check)


def of_condition() -> Case:
    condition, made, taken = Condition(), [0], [0]

    def give() -> None:
        with condition:
            made[0] += 1
            random.choice([condition.notify, condition.notify_all])()

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

    return Case([send, receive], [channel], check, [channel.close])


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
    group, shared = CarrierGroup(1), Parker()

    def meet() -> None:
        with Parker() as parker:
            unparked = group.submit(parker.unpark)
            assert parker.park(PATIENCE_S), "it was unparked, and not woken"
            unparked.result(PATIENCE_S)

    def unpark() -> None:
        shared.unpark()

    def check(_: Counter[str]) -> None:
        assert shared.park(0), "a permit is lost"
        assert not shared.park(0), "there is more than one permit"
        shared.close()

    return Case([meet, unpark], [], check, [group.close])


def of_group() -> Case:
    group, total, futures = CarrierGroup(2), Unguarded(), []
    lock = threading.Lock()

    def call() -> None:
        futures.append(group.submit(add))

    def on_a_carrier() -> None:
        futures.append(group[random.randrange(2)].submit(add))

    def trace() -> None:
        group.trace_on(64)
        group.events()
        group.trace_off()

    def add() -> None:
        with lock:
            total.value += 1

    def check(done: Counter[str]) -> None:
        wait(futures, PATIENCE_S)
        assert total.value == done["call"] + done["on_a_carrier"]

    return Case([call, on_a_carrier, trace], [group, group[0]], check, [group.close])


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
    pool: Any = make(group)
    futures: list[Future[int]] = []

    def submit() -> None:
        futures.append(pool.submit(pow, 2, 3))

    def submit_and_wait() -> None:
        assert pool.submit(pow, 3, 2).result(PATIENCE_S) == 9

    def cancel() -> None:
        pool.submit(sleep, 0.0001).cancel()

    def map_some() -> None:
        assert list(pool.map(abs, [-1, 2])) == [1, 2]

    def attempt() -> None:
        future = pool.try_execute(pow, 3, 2)
        assert future is None or future.result(PATIENCE_S) == 9

    def dump() -> None:
        text = StringIO()
        pool.dump(text)
        assert text.getvalue()

    def lease() -> None:
        with suppress(StateError), pool.lease(1):  # no thread would be left for calls
            yield_now()

    def check(done: Counter[str]) -> None:
        assert [future.result(PATIENCE_S) for future in futures] == [8] * done["submit"]

    def stop() -> None:
        assert pool.stop()

    each: list[Callable[[], object]] = [submit, submit_and_wait, cancel, map_some]
    each += [attempt, dump] if hasattr(pool, "try_execute") else []
    each += [lease] if hasattr(pool, "lease") else []
    ends = [stop] if hasattr(pool, "stop") else []
    return Case(each, [pool], check, [*ends, partial(pool.shutdown, wait=True), group.close])


class Counted(Joiner):
    """A policy that counts the subtasks, each in its own thread."""

    def __init__(self) -> None:
        self._ended = list[Subtask]()

    def on_complete(self, subtask: Subtask) -> bool:
        self._ended.append(subtask)
        return False

    def result(self) -> int:
        return len(self._ended)


def of_scope() -> Case:
    group, value = CarrierGroup(2), ScopedValue[int]("value")

    def fork() -> None:
        counted = Counted()
        with value.bind(7), Scope(counted, group=group) as scope:
            assert value.get() == 7
            each = [scope.fork(value.get) for _ in range(5)]
            assert scope.join() == 5
        assert not scope.is_cancelled
        assert [(one.result(), callable(one.inner)) for one in each] == [(7, True)] * 5

    def cancel() -> None:
        with suppress(wakeproof.CancelledScopeError), Scope(group=group) as scope:
            scope.fork(sleep, 60)
            scope.cancel()
            assert scope.is_cancelled
            scope.join()

    def time_out() -> None:
        with Scope(Joiner(), group=group, timeout_s=0.0001) as scope:
            part = scope.fork(sleep, 60)
            with pytest.raises(DeadlineError):
                scope.join()
        assert part.state == "unavailable"
        with pytest.raises(StateError):
            part.exception()

    makes = (Scope, Subtask, Counted, Joiner, ScopedValue)
    return Case([fork, cancel, time_out], [value], lambda _: None, [group.close], makes)


class Item:
    """Something in a queue; `is_told` is true once the wakeup that belongs to it has returned."""

    is_told = False


def of_wakeup_guard(guard_class: type[WakeupGuard] = WakeupGuard) -> Case:
    """The threads take turns as the poller; the transport is a semaphore, which is sticky."""
    transport, queue = threading.Semaphore(0), list[Item]()
    guard = guard_class(transport.release)
    poller, woken, given, taken = threading.Lock(), list[bool](), list[Item](), list[Item]()

    def give() -> None:
        item = Item()
        queue.append(item)
        given.append(item)
        woken.append(guard.wakeup())
        item.is_told = True

    def take() -> None:
        if not poller.acquire(blocking=False):
            return
        while queue:
            taken.append(queue.pop(0))
        if guard.enter(lambda: not queue):
            transport.acquire(timeout=guard.max_block_s or random.choice([0, 0.001]))
            told = [item for item in queue.copy() if item.is_told]
            assert guard.exit() or not told, "work is there, and nobody wakes the poller"
        poller.release()

    def check(_: Counter[str]) -> None:
        assert Counter(map(id, [*taken, *queue])) == Counter(map(id, given))
        assert sum(woken) == guard.statistics().claims

    return Case([give, take], [guard], check)


class LooksFirst(WakeupGuard):
    """The twin: it looks at the queue before it announces that it sleeps."""

    def enter(self, idle: Callable[[], bool]) -> bool:
        if not idle():
            return False
        time.sleep(0)
        return super().enter(lambda: True)


def of_rendezvous_guard(guard_class: type[RendezvousGuard] = RendezvousGuard) -> Case:
    group, shared = CarrierGroup(1), guard_class()

    def meet() -> None:
        guard, queue = guard_class(), list[int]()

        def give() -> None:
            queue.append(1)
            guard.wakeup()

        group.submit(give)
        while not queue:
            assert guard.wait(lambda: not queue, PATIENCE_S), "work is there, and nobody was woken"

    def wake() -> None:
        shared.wakeup()

    return Case([meet, wake], [shared], lambda _: None, [group.close])


def of_poller() -> Case:
    """Both carriers sleep in a poller of the case, so each call has to wake one."""
    group, ended = CarrierGroup(2), list[str]()

    def begin(carrier: Carrier) -> Poller:
        transport, begun = threading.Semaphore(0), list[Poller]()

        def body(poller: Poller) -> None:
            begun.append(poller)
            with suppress(PollerClosedError):
                while True:
                    poller.maybe_yield(had_io=False)
                    with poller.try_park() as parked:
                        if parked and poller.can_park():
                            transport.acquire(timeout=poller.until())
                        poller.unpark()
            ended.append(poller.carrier.name)

        carrier.register_poller(transport.release, body)
        group.submit(int).result(PATIENCE_S)
        while not begun:
            time.sleep(0.001)
        return begun[0]

    pollers = [begin(carrier) for carrier in group]

    def call() -> None:
        assert group[random.randrange(2)].submit(pow, 3, 2).result(PATIENCE_S) == 9

    def wait_for_timer() -> None:
        VirtualThread(sleep, 0.0001, group=group).start().result(PATIENCE_S)

    def refused() -> None:
        poller = random.choice(pollers)
        for method in (
            partial(poller.maybe_yield, False), poller.try_park, poller.can_park,
            poller.until, poller.unpark,
        ):  # fmt: skip
            with pytest.raises(WrongThreadError):
                method()
        with pytest.raises(StateError):  # it has one
            poller.carrier.register_poller(int, repr)

    def check(_: Counter[str]) -> None:
        group.close()
        assert sorted(ended) == ["carrier-0", "carrier-1"]

    makes = (Poller, Carrier)
    return Case([call, wait_for_timer, refused], [], check, [group.close], makes)


def of_strategy(mode: Any, guard: Callable[[], AbstractContextManager[object]]) -> Case:
    """`guard` is held while the function that produces runs; nobody has to hold anything there."""
    pool, tasks, done, given = QueuedThreadPool(4), deque[int](), list[int](), count()

    def produce() -> Callable[[], None] | None:
        with guard():
            return partial(done.append, tasks.popleft()) if tasks else None

    strategy = ExecutionStrategy(mode, produce, pool, kind="either")

    def give_and_produce() -> None:
        tasks.append(next(given))
        strategy.produce()

    def give_and_dispatch() -> None:
        tasks.append(next(given))
        strategy.dispatch()

    def check(acts: Counter[str]) -> None:
        until(lambda: len(done) == acts.total() and strategy.is_idle)
        assert sorted(done) == list(range(acts.total()))
        assert sum(astuple(strategy.statistics())) == len(done)

    return Case([give_and_produce, give_and_dispatch], [strategy], check, [pool.stop])


class InTurn(Scheduler):
    """A scheduler that keeps the threads in a queue."""

    def __init__(self) -> None:
        self.waiting: SimpleQueue[VirtualThread[Any]] = SimpleQueue()

    def submit(self, thread: VirtualThread[Any]) -> None:
        self.waiting.put(thread)

    def give_back(self) -> None:
        """Do nothing: this scheduler has kept no thread to itself."""


class Forgets(InTurn):
    """The twin: it keeps some of the threads to itself."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = list[VirtualThread[Any]]()

    def submit(self, thread: VirtualThread[Any]) -> None:
        (self.kept.append if random.random() < 0.02 else self.waiting.put)(thread)

    def give_back(self) -> None:
        with suppress(IndexError):  # another thread has given the last one back
            while self.kept:
                self.waiting.put(self.kept.pop())


def of_scheduler(scheduler_class: type[InTurn] = InTurn, patience_s: float = PATIENCE_S) -> Case:
    """Each thread gives coroutines to the scheduler, and runs steps of all of them."""
    group, scheduler = CarrierGroup(1), scheduler_class()
    start, started = group.factory(scheduler=scheduler), list[VirtualThread[object]]()

    async def steps(value: object) -> object:
        await coroutine.yield_now()
        await coroutine.sleep(0.0001)
        return value

    def begin() -> None:
        started.append(start(steps, len(started)))

    def run() -> None:
        with suppress(Empty):
            assert scheduler.waiting.get_nowait().run_step(), "given once, and not run once"

    def check(_: Counter[str]) -> None:
        end = time.monotonic() + patience_s
        for thread in started:
            while thread.is_alive():
                assert time.monotonic() < end, "given once, and not run once"
                run()
        assert all(isinstance(thread.result(), int) for thread in started)

    def close() -> None:
        for thread in started:
            while thread.is_alive():
                scheduler.give_back()
                run()
        group.close()

    return Case([begin, run], [scheduler], check, [close], (InTurn, VirtualThread))


def of_native_scheduler() -> Case:
    """As `of_scheduler`, with C's pointers; ctypes stands in for a scheduler in C."""
    group, waiting = CarrierGroup(1), SimpleQueue[int]()
    submit = CFUNCTYPE(None, c_void_p, c_void_p)(lambda _, thread: waiting.put(thread))
    memory = (c_void_p * 2)(cast(submit, c_void_p), None)
    scheduler = NativeScheduler(addressof(memory), keeps=(memory, submit))
    start, started = group.factory(scheduler=scheduler), list[VirtualThread[int]]()

    async def steps() -> int:
        await coroutine.yield_now()
        return 7

    def begin() -> None:
        started.append(start(steps))

    def run() -> None:
        with suppress(Empty):
            assert CFUNCTYPE(c_int, c_void_p)(scheduler.run_address)(waiting.get_nowait()) == 0

    def check(_: Counter[str]) -> None:
        for thread in started:
            while thread.is_alive():
                run()
        assert [thread.result() for thread in started] == [7] * len(started)

    return Case([begin, run], [scheduler], check, [group.close])


def of_factory() -> Case:
    group = CarrierGroup(2, work_stealing=True)
    of_group = group.factory(name="any")

    def body(*, name: object) -> tuple[object, VirtualThread[Any] | None]:
        return name, current()

    def start() -> None:
        value = object()
        start = random.choice([of_group, group.factory(name="any")])
        thread = start(body, name=value)
        assert thread.name == "any"
        assert thread.result(PATIENCE_S) == (value, thread)

    def start_later() -> None:
        thread = group[1].factory(pinned=True).unstarted(group.running)
        assert thread.state == "new"
        assert thread.start().result(PATIENCE_S) is group[1]

    makes = (CarrierGroup, Carrier)
    return Case([start, start_later], [of_group], lambda _: None, [group.close], makes)


CASES: dict[str, Callable[[], Case]] = {
    "Mutex": of_mutex, "Semaphore": of_semaphore, "Condition": of_condition,
    "Channel(0)": lambda: of_channel(0), "Channel(3)": lambda: of_channel(3),
    "MpscQueue": of_mpsc_queue, "Latch": of_latch, "Parker": of_parker,
    "CarrierGroup": of_group, "VirtualThread": of_threads, "Scope": of_scope,
    "VirtualThreadPool": lambda: of_pool(lambda group: VirtualThreadPool(8, group=group)),
    "VirtualThreadExecutor": lambda: of_pool(VirtualThreadExecutor),
    "QueuedThreadPool": lambda: of_pool(lambda _: QueuedThreadPool(4)),
    "WakeupGuard": of_wakeup_guard, "RendezvousGuard": of_rendezvous_guard, "Poller": of_poller,
    **{f"ExecutionStrategy({mode})": partial(of_strategy, mode, nullcontext)
       for mode in get_args(Mode)},
    "Scheduler": of_scheduler, "NativeScheduler": of_native_scheduler, "ThreadFactory": of_factory,
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
    ok = list[int]()

    def body(number: int) -> None:
        with suppress(StateError):
            start()
            ok.append(number)

    by_four(body)
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
            raise StateError("it was started before")
        time.sleep(0.001)
        self.is_started = True


def test_what_looks_and_then_starts_is_started_twice() -> None:
    assert any(starters(StartedTwice().start) > 1 for _ in range(1000))


def test_a_counter_that_nothing_guards_loses_some(made: Callable[..., Case]) -> None:
    case = made(of_nothing)
    done = stress(case)
    with pytest.raises(AssertionError):
        case.check(done)


@pytest.mark.parametrize(
    "of",
    [
        partial(of_wakeup_guard, LooksFirst),
        partial(of_scheduler, Forgets, 0.5),
    ],
)
def test_a_broken_object_is_found(of: Callable[[], Case], made: Callable[..., Case]) -> None:
    end = time.monotonic() + PATIENCE_S

    def tries() -> None:
        while time.monotonic() < end:  # one try may be too short on a busy machine
            case = made(of)
            case.check(stress(case))

    with pytest.raises(AssertionError, match=r"nobody wakes the poller|given once"):
        tries()


# What the four threads do not call, and why.
LEFT_OUT = {
    "Joiner.on_complete": "the virtual threads of the subtasks call it, at once",
    "LinuxTopology": "the thread that makes a group calls it",
    "Topology": "as LinuxTopology",
}


def public_classes() -> list[type]:
    """Return the public classes with objects that change."""
    found = [getattr(wakeproof, name) for name in vars(wakeproof)["__all__"]]
    return [
        one for one in found
        if isinstance(one, type) and not issubclass(one, BaseException)
        and not (is_dataclass(one) and one.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    ]  # fmt: skip


def left_out(classes: list[type], used: set[type], called: set[object] | None) -> Iterator[str]:
    """Yield each class of which no object was used, and each method that was not called.

    `called` is None if nobody has noted what was called.
    """
    for one in classes:
        kinds = [kind for kind in used if one in kind.__mro__]
        if not kinds:
            yield one.__name__
        if not kinds or called is None:
            continue
        for name in (name for name in dir(one) if not name.startswith("_")):
            members = [inspect.getattr_static(kind, name) for kind in kinds]
            members = [
                member.fget if isinstance(member, property) else member for member in members
            ]
            members = [inspect.unwrap(member) for member in members if callable(member)]
            codes = {member.__code__ for member in members if inspect.isfunction(member)}
            if codes and not codes & called:
                yield f"{one.__name__}.{name}"


def test_no_public_class_and_no_public_method_is_left_out(made: Callable[..., Case]) -> None:
    used, called = set[type](), set[object]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_code)

    # Profiles that several threads set and use at once crash CPython 3.13 without the GIL
    # (python/cpython#126884, #137400): there only the classes are checked.
    profile = note if HAS_GIL else None

    def ends(end: Callable[[], object], _: int) -> None:
        if profile:
            sys.setprofile(profile)
        end()

    for name, of in CASES.items():
        case = made(of)
        used |= {getattr(wakeproof, name.split("(")[0]), *case.makes, *map(type, case.objects)}
        case.check(stress(case, 0.1, profile))
        for end in case.ends:
            by_four(partial(ends, end))
    found = dict.fromkeys(left_out(public_classes(), used, called if profile else None))
    assert found == {name: None for name in LEFT_OUT if profile or "." not in name}


def test_what_is_left_out_is_named() -> None:
    class New(Latch):
        def turn(self) -> None:
            """Stand for a new method of a class that has a case."""

    assert list(left_out([New], {Latch}, set())) == ["New"]
    parts: Any = Latch.wait, Latch.open, vars(Latch)["is_open"].fget
    called = {part.__code__ for part in parts}
    assert list(left_out([Latch], {Latch}, called)) == []
    assert list(left_out([New], {New}, called)) == ["New.turn"]
