# SPDX-License-Identifier: Apache-2.0
"""Under `install` virtual threads park in the locks of `threading`, and no wakeup is lost.

Serves ``_runtime/stdlib/locks.py``, ``_runtime/line.py``, ``_native/own.c``.
"""

from __future__ import annotations

import concurrent.futures
import functools
import gc
import os
import queue
import random
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.support.virtual import until

from wakeproof import (
    CarrierGroup,
    ThreadInterruptedError,
    VirtualThread,
    coroutine,
    current,
    sleep,
    uninstall,
    yield_now,
)
from wakeproof._native import exchange
from wakeproof._runtime import line
from wakeproof._runtime.line import IS_OWN, Waiter

CARRIERS = 1  # of `group`
PATIENCE_S = 60
pytestmark = pytest.mark.skipif(not IS_OWN, reason="built without Python.h")
lock_before = threading.Lock()
took_before, gave_before = lock_before.acquire, lock_before.release


class Named(type(threading.RLock())):  # type: ignore[misc] # only CPython's own may be derived from
    """An RLock with a name."""

    name = "mine"


LOCKS: dict[str, Callable[[], Any]] = {
    "Lock": threading.Lock, "RLock": threading.RLock, "class of RLock": Named,
}  # fmt: skip


@pytest.fixture(autouse=True)
def left(installed: None) -> Iterator[None]:  # noqa: ARG001 - its uninstall comes after
    yield
    assert line.own.first(lock_before) is None


# ---- OS threads and virtual threads on one object: counts come out, and nothing hangs ----

TURNS = 300
VIRTUAL, OS = 6, 2
Body = Callable[[], None]


def pause(number: int) -> None:
    """Let others come in between, now and then."""
    if number % 8 == 0:
        (yield_now if current() else functools.partial(time.sleep, 0))()


class Counter:
    """Counts in two steps, between which others may run."""

    def __init__(self) -> None:
        self.at = 0

    def add(self) -> None:
        seen = self.at
        pause(seen)
        self.at = seen + 1


def of_lock(lock: Any) -> tuple[Body, Callable[[], bool]]:
    counter = Counter()

    def body() -> None:
        for _ in range(TURNS):
            with lock:
                counter.add()

    return body, lambda: counter.at == TURNS * (VIRTUAL + OS)


def of_timeouts() -> tuple[Body, Callable[[], bool]]:
    lock, counter = threading.Lock(), Counter()

    def body() -> None:
        for _ in range(TURNS):
            while not lock.acquire(timeout=0.002):
                pass
            counter.add()
            lock.release()

    return body, lambda: counter.at == TURNS * (VIRTUAL + OS)


def of_condition() -> tuple[Body, Callable[[], bool]]:
    condition, whose = threading.Condition(), Counter()
    numbers = iter(range(VIRTUAL + OS))

    def body() -> None:
        mine = next(numbers)
        for _ in range(TURNS // 5):
            with condition:
                condition.wait_for(lambda: whose.at % (VIRTUAL + OS) == mine)
                whose.at += 1
                condition.notify_all()

    return body, lambda: whose.at == TURNS // 5 * (VIRTUAL + OS)


def of_events() -> tuple[Body, Callable[[], bool]]:
    events = [threading.Event() for _ in range(TURNS)]
    numbers, passed = iter(range(VIRTUAL + OS)), Counter()

    def body() -> None:
        mine = next(numbers)
        for at, event in enumerate(events):
            if at % (VIRTUAL + OS) == mine:
                pause(at)
                event.set()
            event.wait()
        passed.at += 1

    return body, lambda: passed.at == VIRTUAL + OS


def of_semaphore() -> tuple[Body, Callable[[], bool]]:
    semaphore = threading.BoundedSemaphore(3)
    inside, seen = [0], [0]  # lists: several threads are inside at once, perhaps without a GIL

    def body() -> None:
        for at in range(TURNS):
            with semaphore:
                inside.append(at)
                seen.append(len(inside) - 1)
                pause(at)
                inside.pop()

    return body, lambda: max(seen) in (2, 3) and len(seen) - 1 == TURNS * (VIRTUAL + OS)


def of_barrier() -> tuple[Body, Callable[[], bool]]:
    barrier, rounds = threading.Barrier(VIRTUAL + OS), Counter()

    def body() -> None:
        for at in range(TURNS // 5):
            pause(at)
            if barrier.wait() == 0:
                rounds.at += 1

    return body, lambda: rounds.at == TURNS // 5


def of_queue(made: Any) -> tuple[Body, Callable[[], bool]]:
    numbers, sums = iter(range(VIRTUAL + OS)), list[int]()

    def body() -> None:
        mine, got = next(numbers), 0
        for at in range(TURNS):
            if mine % 2:
                made.put(at)
                pause(at)
            else:
                got += made.get()
        sums.append(got)

    return body, lambda: sum(sums) == (VIRTUAL + OS) // 2 * sum(range(TURNS))


OBJECTS: dict[str, Callable[[], tuple[Body, Callable[[], bool]]]] = {
    "Lock": lambda: of_lock(threading.Lock()),
    "Lock of before": lambda: of_lock(lock_before),
    "RLock": lambda: of_lock(threading.RLock()),
    "timeouts": of_timeouts,
    "Condition": of_condition,
    "Event": of_events,
    "Semaphore": of_semaphore,
    "Barrier": of_barrier,
    "Queue": lambda: of_queue(queue.Queue()),
    "Queue of two": lambda: of_queue(queue.Queue(2)),
    "SimpleQueue": lambda: of_queue(queue.SimpleQueue()),
}


def comes_out(kind: str, carriers: int, patience_s: float) -> bool:
    body, is_right = OBJECTS[kind]()
    until_s = time.monotonic() + patience_s
    group = CarrierGroup(carriers)
    os_threads = [threading.Thread(target=body, daemon=True) for _ in range(OS)]
    virtual = [VirtualThread(body, group=group) for _ in range(VIRTUAL)]
    for one in [*virtual, *os_threads]:
        one.start()
    for one in [*virtual, *os_threads]:
        one.join(max(0.0, until_s - time.monotonic()))
    ended = not any(one.is_alive() for one in [*virtual, *os_threads])
    if ended:
        for one in virtual:
            one.result()
    group.close(0.1, cancel=True)
    return ended and is_right()


@pytest.mark.parametrize("carriers", [1, 2])
@pytest.mark.parametrize("kind", OBJECTS)
def test_os_threads_and_virtual_threads_on_one_object_come_out(kind: str, carriers: int) -> None:
    assert comes_out(kind, carriers, PATIENCE_S)


def looks_first(of: Any, thread: Any, attempt: Any, timeout_s: Any, why: int) -> bool:
    """Wait as `line.stand`, but look before standing in line."""
    waiter = Waiter(of, thread._number, why)
    while attempt(waiter) or not waiter.has:
        exchange.original(time.sleep)(0.0001)  # without the GIL
        line.own.stand(of, waiter)
        waiter.signal.wait(timeout_s)
        line.own.step_out(of, waiter)
    return True


def wakes_nobody(_: Waiter) -> None:
    """Forget to wake, as `line._wake_once` does not."""


DEFECTS = {"stand": looks_first, "_wake_once": wakes_nobody}


class Favoured(Waiter):
    """A waiter that each release gives the lock, as if it had been bypassed often."""

    __slots__ = ()
    bypasses = property(lambda _: 16, lambda *_: None)  # type: ignore[assignment]


def takes_meanwhile(lock: Any, waiter: Waiter) -> None:
    """Try a lock, while a release may be giving it to the waiter."""
    waiter.has = lock.acquire(False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Lock", "RLock"])
def test_a_lock_that_is_given_to_a_waiter_as_it_tries_is_not_lost(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line, "Waiter", Favoured)
    assert all(comes_out(kind, 2, PATIENCE_S) for _ in range(50))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Lock", "RLock"])
def test_a_lock_that_is_tried_without_the_lock_of_the_lines_is_lost(kind: str) -> None:
    # In a process of its own, because threads that wait for ever are left.
    program = f"""if True:
        import os, sys
        from tests.python import test_standard_locks as tests
        from wakeproof import install
        install()
        sys.setswitchinterval(1e-6)
        tests.line.Waiter, tests.line.own.take_in_line = tests.Favoured, tests.takes_meanwhile
        os._exit(all(tests.comes_out({kind!r}, 2, 2.0) for _ in range(10_000)))
    """
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Lock", "Condition", "Queue", "SimpleQueue"])
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_wakeup_that_is_lost_is_seen(kind: str, defect: str) -> None:
    # In a process of its own, because threads that wait for ever are left.
    program = f"""if True:
        import os
        from tests.python import test_standard_locks as tests
        from wakeproof import install
        install()
        setattr(tests.line, {defect!r}, tests.DEFECTS[{defect!r}])
        os._exit(all(tests.comes_out({kind!r}, 2, 2.0) for _ in range(50)))
    """
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# ---- one claim each ----


def starts(group: CarrierGroup, body: Callable[..., Any], *args: Any) -> VirtualThread[Any]:
    return VirtualThread(body, *args, group=group).start()


@pytest.mark.parametrize("lock", [threading.Lock(), lock_before], ids=["new", "before"])
def test_whoever_waits_for_a_lock_leaves_its_carrier(group: CarrierGroup, lock: Any) -> None:
    with lock:
        waits = starts(group, lock.acquire)
        until(lambda: waits.state == "parked")
        assert starts(group, int).result(PATIENCE_S) == 0
    assert waits.result(PATIENCE_S) is True
    lock.release()


def test_methods_bound_before_wait_as_well(group: CarrierGroup) -> None:
    took_before()
    waits = starts(group, took_before)
    until(lambda: waits.state == "parked")
    gave_before()
    assert waits.result(PATIENCE_S) is True
    gave_before()


def test_without_install_the_carrier_is_blocked(group: CarrierGroup) -> None:
    uninstall()
    lock = threading.Lock()
    with lock:
        waits = starts(group, lock.acquire)
        other = starts(group, int)
        assert not other.join(0.05)
        assert waits.state == "running"
    assert waits.result(PATIENCE_S) is True


def test_a_lock_held_across_a_park_does_not_block_the_carrier(group: CarrierGroup) -> None:
    lock, order = threading.Lock(), list[int]()

    def body(number: int) -> None:
        with lock:
            order.append(number)
            sleep(0.001)
            order.append(number)

    for one in [starts(group, body, number) for number in range(5)]:
        one.result(PATIENCE_S)
    assert order == [n for number in order[::2] for n in (number, number)]
    assert sorted(order[::2]) == [0, 1, 2, 3, 4]


def test_a_non_blocking_acquire_never_parks(group: CarrierGroup) -> None:
    lock = threading.Lock()
    with lock:
        for arguments in [(False,), (True, 0)]:
            steps = group[0].counts.runs
            assert starts(group, lock.acquire, *arguments).result(PATIENCE_S) is False
            assert group[0].counts.runs - steps == 1


@pytest.mark.parametrize("kind", LOCKS)
def test_a_timeout_ends_the_wait_and_the_next_in_line_gets_it(
    group: CarrierGroup, kind: str
) -> None:
    lock = LOCKS[kind]()
    with lock:
        begin = time.monotonic()
        assert starts(group, lock.acquire, True, 0.05).result(PATIENCE_S) is False
        assert time.monotonic() - begin >= 0.05
        stays = starts(group, lock.acquire, True, 30)
        hurt = starts(group, lock.acquire)
        until(lambda: (stays.state, hurt.state) == ("parked", "parked"))
        hurt.interrupt()
        with pytest.raises(ThreadInterruptedError):
            hurt.result(PATIENCE_S)
    assert stays.result(PATIENCE_S) is True


@pytest.mark.parametrize("kind", LOCKS)
@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"timeout": -2}, ValueError),
        ({"timeout": "1"}, TypeError),
        ({"blocking": False, "timeout": 1}, ValueError),
        ({"timeout": 1e300}, OverflowError),
        ({"wrong": 1}, TypeError),
    ],
)
def test_a_lock_refuses_what_it_did(group: CarrierGroup, given: Any, error: Any, kind: str) -> None:
    lock = LOCKS[kind]()
    with pytest.raises(error):
        starts(group, functools.partial(lock.acquire, **given)).result(PATIENCE_S)
    assert lock.acquire(False)
    lock.release()
    with pytest.raises(RuntimeError, match=r"release un.* lock"):
        starts(group, lock.release).result(PATIENCE_S)


@pytest.mark.parametrize("kind", LOCKS)
def test_who_takes_a_lock_again_and_again_does_not_starve_who_waits(
    group: CarrierGroup, kind: str
) -> None:
    lock = LOCKS[kind]()
    # On one carrier it always finds the lock free, before the woken waiter has run.
    served: list[int] = []

    def takes(number: int) -> None:
        with lock:
            served.append(number)

    def hogs() -> int:
        waiters = [starts(group, takes, number) for number in range(3)]
        for turn in range(1000):
            with lock:
                yield_now()
            if len(served) == len(waiters):
                return turn
        return -1

    assert 0 <= starts(group, hogs).result(PATIENCE_S) < 100
    assert served == [0, 1, 2]


def test_without_bypasses_that_are_counted_it_would_starve(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Patient(Waiter):
        bypasses = property(lambda _: 0, lambda *_: None)  # type: ignore[assignment]

    monkeypatch.setattr(line, "Waiter", Patient)
    lock = threading.Lock()

    def hogs() -> bool:
        waiter = starts(group, lock.acquire)
        for _ in range(1000):
            with lock:
                yield_now()
        return waiter.is_alive()

    assert starts(group, hogs).result(PATIENCE_S) is True


@pytest.mark.parametrize("lock", [threading.Lock(), threading.RLock()], ids=["Lock", "RLock"])
def test_whoever_is_given_a_lock_just_as_it_is_interrupted_frees_it(
    group: CarrierGroup, lock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, wait = list[Waiter](), line.Signal.wait

    def waits(self: line.Signal, *args: Any) -> bool:
        said = wait(self, *args)
        if current() and given and given[0].has:
            raise ThreadInterruptedError("just now")
        return said

    monkeypatch.setattr(line.Signal, "wait", waits)

    def hogs() -> VirtualThread[bool]:
        lock.acquire()
        waiter = starts(group, lock.acquire)
        yield_now()
        given.append(line.own.first(lock))
        while not given[0].has:
            yield_now()
            lock.release()
            lock.acquire(given[0].has is False)
        return waiter

    waiter = starts(group, hogs).result(PATIENCE_S)
    with pytest.raises(ThreadInterruptedError, match="just now"):
        waiter.result(PATIENCE_S)
    assert lock.acquire(timeout=PATIENCE_S)
    lock.release()


@pytest.mark.parametrize("lock", [threading.Lock(), threading.RLock()], ids=["Lock", "RLock"])
def test_a_close_takes_waiters_out_of_the_line(lock: Any) -> None:
    gone, stays = CarrierGroup(1), CarrierGroup(1)
    with lock:
        first = starts(gone, lock.acquire)
        until(lambda: first.state == "parked")
        second = starts(stays, lambda: (lock.acquire(), lock.release()))
        until(lambda: second.state == "parked")
        gone.close(0, cancel=True)
    assert second.join(PATIENCE_S)
    stays.close(1)
    assert lock.acquire(timeout=PATIENCE_S)
    lock.release()


def test_waiters_of_an_uninstall_are_woken_and_then_all_is_as_before(group: CarrierGroup) -> None:
    lock, items = threading.Lock(), queue.SimpleQueue[int]()
    with lock:
        waits = [starts(group, lambda: (lock.acquire(), lock.release())) for _ in range(2)]
        gets = starts(group, items.get)
        until(lambda: {one.state for one in [*waits, gets]} == {"parked"})
        uninstall()
        until(lambda: {one.state for one in [*waits, gets]} == {"parked"})
    assert all(one.join(PATIENCE_S) for one in waits)
    items.put(5)
    assert gets.result(PATIENCE_S) == 5
    with lock:  # and now it blocks
        blocked = starts(group, lock.acquire)
        assert not starts(group, int).join(0.05)
    assert blocked.join(PATIENCE_S)


def test_a_coroutine_blocks_its_carrier_and_is_woken() -> None:
    lock = threading.Lock()

    async def body() -> bool:
        await coroutine.yield_now()
        return lock.acquire()

    with CarrierGroup(1) as group, lock:
        waits = VirtualThread(body, group=group).start()
        until(lambda: waits.state == "pinned")
        lock.release()
        assert waits.result(PATIENCE_S) is True


def test_a_forked_child_has_no_line(group: CarrierGroup) -> None:
    lock = threading.Lock()
    with lock:
        waits = starts(group, lock.acquire)
        until(lambda: waits.state == "parked")
        child = os.fork()
        if child == 0:
            lock.release()
            os._exit(0 if line.own.first(lock) is None and lock.acquire(False) else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert waits.result(PATIENCE_S) is True


def test_a_finaliser_inside_of_a_wait_blocks_instead_of_parking(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A second park in the middle of the first one would disturb it.
    lock, outer, states = threading.Lock(), threading.Lock(), list[str]()

    class Finalised:
        def __del__(self) -> None:
            states.append("begins")
            with lock:
                states.append("has it")

    signal_wait = line.Signal.wait

    def waits(self: Any, *args: Any) -> bool:
        if states == []:
            trash: Any = Finalised()
            trash.cycle = trash
            del trash
            gc.collect()
        return signal_wait(self, *args)

    monkeypatch.setattr(line.Signal, "wait", waits)
    monkeypatch.setattr(line, "_WAITS", line._WAITS | {waits.__code__})
    with outer:
        with lock:
            thread = starts(group, lambda: (outer.acquire(), outer.release()))
            until(lambda: states == ["begins"])
            other = starts(group, int)
            assert not other.join(0.05)
            assert thread.state == "running"
        until(lambda: states == ["begins", "has it"])
    assert thread.join(PATIENCE_S)
    assert other.join(PATIENCE_S)


# ---- what is built on locks ----


def test_futures_and_their_waits_park(group: CarrierGroup) -> None:
    futures = [concurrent.futures.Future[int]() for _ in range(3)]

    def waits() -> tuple[int, int, int]:
        done, _ = concurrent.futures.wait(futures)
        completed = list(concurrent.futures.as_completed(futures))
        return futures[0].result(), len(done), len(completed)

    thread = starts(group, waits)
    until(lambda: thread.state == "parked")
    for number, future in enumerate(futures):
        starts(group, future.set_result, number + 7).result(PATIENCE_S)
    assert thread.result(PATIENCE_S) == (7, 3, 3)


def test_a_pool_of_os_threads_serves_virtual_threads(group: CarrierGroup) -> None:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:

        def asks(number: int) -> int:
            return pool.submit(pow, number, 2).result()

        threads = [starts(group, asks, number) for number in range(50)]
        assert [one.result(PATIENCE_S) for one in threads] == [n * n for n in range(50)]


def test_a_timer_and_a_join_of_an_os_thread_park(group: CarrierGroup) -> None:
    go_on, called = threading.Event(), threading.Event()

    def body() -> bool:
        timer = threading.Timer(0.01, lambda: (go_on.wait(PATIENCE_S), called.set()))
        timer.start()
        timer.join()
        return called.is_set() and not timer.is_alive()

    thread = starts(group, body)
    until(lambda: thread.state == "parked")
    assert starts(group, int).result(PATIENCE_S) == 0
    go_on.set()
    assert thread.result(PATIENCE_S) is True


def test_queue_timeouts_and_errors_are_as_ever(group: CarrierGroup) -> None:
    items = queue.SimpleQueue[int]()

    def gets(*args: Any) -> Any:
        return starts(group, items.get, *args).result(PATIENCE_S)

    begin = time.monotonic()
    with pytest.raises(queue.Empty):
        gets(True, 0.05)
    assert time.monotonic() - begin >= 0.05
    with pytest.raises(queue.Empty):
        gets(False)
    with pytest.raises(ValueError, match="'timeout' must be a non-negative number"):
        gets(True, -1)
    with pytest.raises(TypeError):
        gets(True, "1")
    with pytest.raises(TypeError):
        gets(True, 1, 2)
    items.put(5)
    assert gets(True, 0.05) == 5


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("is_virtual", [False, True], ids=["OS thread", "virtual thread"])
def test_items_leave_a_queue_in_their_order_and_are_not_kept(
    group: CarrierGroup, is_virtual: bool, most: int
) -> None:
    class Item:
        pass

    def uses() -> None:
        chosen = random.Random(most)
        items, expected = queue.SimpleQueue[Item](), deque[Item]()
        gone: list[weakref.ref[Item]] = []
        for _ in range(300):
            for _ in range(chosen.randint(0, most - len(expected))):
                expected.append(Item())
                items.put(expected[-1])
            for _ in range(chosen.randint(0, len(expected))):
                item = items.get()
                assert item is expected.popleft()
                gone.append(weakref.ref(item))
                del item
            assert items.qsize() == len(expected)
            assert not [one for one in gone if one() is not None]
        gone += map(weakref.ref, expected)
        expected.clear()
        assert len([one for one in gone if one() is not None]) == items.qsize()
        del items
        assert not [one for one in gone if one() is not None]

    starts(group, uses).result(PATIENCE_S) if is_virtual else uses()
