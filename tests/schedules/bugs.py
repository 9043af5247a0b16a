# SPDX-License-Identifier: Apache-2.0
"""Programs in Python that go wrong in some schedules, each with what mends it.

A program is a function of whether it is mended.  Those with ``data=True`` need turns between reads
and writes as well.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

LOST, DEADLOCK, LIVELOCK = "lost wakeup", "deadlock", "livelock"
EXCEPTION, ASSERTION = "exception", "assertion"


@dataclass(frozen=True)
class Bug:
    verdict: str
    program: Callable[[bool], None]
    options: dict[str, Any] = field(default_factory=dict)


BUGS: dict[str, Bug] = {}


def bug(verdict: str, **options: Any) -> Callable[[Callable[[bool], None]], Callable[[bool], None]]:
    def add(program: Callable[[bool], None]) -> Callable[[bool], None]:
        BUGS[program.__name__] = Bug(verdict, program, options)
        return program

    return add


def together(*calls: Callable[[], object]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@bug(LOST)
def condition_looked_at_outside_of_its_lock(mended: bool) -> None:
    condition, ready = threading.Condition(), []

    def consumer() -> None:
        if mended:
            with condition:
                while not ready:
                    condition.wait()
        elif not ready:
            with condition:
                condition.wait()

    def producer() -> None:
        with condition:
            ready.append(1)
            condition.notify()

    together(consumer, producer)


@bug(LOST)
def notified_before_it_waits(mended: bool) -> None:
    condition, said = threading.Condition(), []

    def waiter() -> None:
        with condition:
            if mended:
                condition.wait_for(lambda: said)
            else:
                condition.wait()

    def notifier() -> None:
        with condition:
            said.append(1)
            condition.notify()

    together(waiter, notifier)


@bug(LOST)
def one_notify_for_two_kinds_of_waiters(mended: bool) -> None:
    condition, items = threading.Condition(), []
    notify = condition.notify_all if mended else condition.notify

    def put() -> None:
        with condition:
            while items:
                condition.wait()
            items.append(1)
            notify()

    def take() -> None:
        with condition:
            while not items:
                condition.wait()
            items.pop()
            notify()

    together(take, take, put, put)


@bug(DEADLOCK)
def event_cleared_after_the_work_was_taken(mended: bool) -> None:
    event, work, done = threading.Event(), queue.SimpleQueue(), []

    def worker() -> None:
        while len(done) < 2:
            event.wait()
            if mended:
                event.clear()
            while not work.empty():
                done.append(work.get())
            if not mended:
                event.clear()

    def giver() -> None:
        for one in range(2):
            work.put(one)
            event.set()

    together(worker, giver)


@bug(DEADLOCK)
def two_locks_in_two_orders(mended: bool) -> None:
    a, b = threading.Lock(), threading.Lock()

    def take(first: Any, second: Any) -> None:
        with first, second:
            pass

    together(lambda: take(a, b), lambda: take(a, b) if mended else take(b, a))


@bug(DEADLOCK)
def three_who_dine(mended: bool) -> None:
    forks = [threading.Lock() for _ in range(3)]

    def dine(seat: int) -> None:
        mine = [seat, (seat + 1) % 3]
        for fork in sorted(mine) if mended else mine:
            forks[fork].acquire()
        for fork in mine:
            forks[fork].release()

    together(*(lambda seat=seat: dine(seat) for seat in range(3)))


@bug(DEADLOCK)
def joined_with_the_lock_that_it_needs(mended: bool) -> None:
    lock = threading.Lock()

    def work() -> None:
        with lock:
            pass

    thread = threading.Thread(target=work)
    with lock:
        thread.start()
        if not mended:
            thread.join()
    thread.join()


@bug(DEADLOCK)
def one_end_mark_for_two_consumers(mended: bool) -> None:
    line: queue.Queue[int | None] = queue.Queue()

    def consumer() -> None:
        while line.get() is not None:
            pass
        if mended:
            line.put(None)

    line.put(1)
    line.put(None)
    together(consumer, consumer)


@bug(DEADLOCK)
def looked_whether_it_is_empty_then_got(mended: bool) -> None:
    line: queue.SimpleQueue[int] = queue.SimpleQueue()
    line.put(1)

    def consumer() -> None:
        if mended:
            try:
                line.get_nowait()
            except queue.Empty:
                return
        elif not line.empty():
            line.get()

    together(consumer, consumer)


@bug(DEADLOCK)
def pool_that_waits_for_itself(mended: bool) -> None:
    with ThreadPoolExecutor(2 if mended else 1) as pool:

        def outer() -> int:
            return pool.submit(int).result()

        assert pool.submit(outer).result() == 0


@bug(DEADLOCK)
def worker_that_goes_while_a_call_comes(mended: bool) -> None:
    """A pool's idle worker ends after a while; who submits believes that it is there."""
    lock, line = threading.Lock(), queue.SimpleQueue()
    workers: list[threading.Thread] = []

    def work() -> None:
        while True:
            try:
                future = line.get(timeout=1)
            except queue.Empty:
                with lock:
                    if mended and not line.empty():
                        continue
                    workers.clear()
                return
            future.set_result(1)

    def submit() -> Future[int]:
        future: Future[int] = Future()
        with lock:
            line.put(future)
            if not workers:
                workers.append(threading.Thread(target=work))
                workers[0].start()
        return future

    def caller() -> None:
        submit().result()

    together(caller, caller)


@bug(EXCEPTION)
def future_that_two_complete(mended: bool) -> None:
    future: Future[int] = Future()
    lock = threading.Lock() if mended else nullcontext()

    def complete() -> None:
        with lock:
            if not future.done():
                future.set_result(1)

    together(complete, complete)


@bug(ASSERTION, data=True)
def timer_cancelled_and_yet_run(mended: bool) -> None:
    ran: list[int] = []
    timer = threading.Timer(1, lambda: ran.append(1))
    timer.start()
    time.sleep(0.5)
    timer.cancel()
    if mended:
        timer.join()
    before = len(ran)
    timer.join()
    assert len(ran) == before


@bug(DEADLOCK)
def permit_that_an_error_keeps(mended: bool) -> None:
    permits = threading.Semaphore(1)

    def work(fails: bool) -> None:
        permits.acquire()
        try:
            if fails:
                raise ValueError
            if not mended:
                permits.release()
        except ValueError:
            pass
        finally:
            if mended:
                permits.release()

    together(lambda: work(True), lambda: work(False))


@bug(DEADLOCK)
def barrier_for_one_too_many(mended: bool) -> None:
    barrier = threading.Barrier(2 if mended else 3)
    together(barrier.wait, barrier.wait)


@bug(LIVELOCK, steps=400)
def looks_again_and_again_with_the_lock_held(mended: bool) -> None:
    lock, done = threading.Lock(), []

    def look() -> None:
        while True:
            with lock:
                while not done:
                    if mended:
                        break
                    time.sleep(0)
                else:
                    return
            time.sleep(0)

    def do() -> None:
        with lock:
            done.append(1)

    together(do, look)


@bug(ASSERTION, data=True)
def counter_without_a_lock(mended: bool) -> None:
    lock = threading.Lock() if mended else nullcontext()
    count = 0

    def add() -> None:
        nonlocal count
        with lock:
            count += 1

    together(add, add)
    assert count == 2


@bug(ASSERTION, data=True)
def double_checked_without_the_second_check(mended: bool) -> None:
    lock, made = threading.Lock(), []
    only: object | None = None

    def get() -> None:
        nonlocal only
        if only is None:
            with lock:
                if not mended or only is None:
                    only = made.append(1) or True

    together(get, get)
    assert len(made) == 1


@bug(ASSERTION, data=True)
def published_before_it_is_whole(mended: bool) -> None:
    class Settings:
        port = 0

    shared: Settings | None = None

    def write() -> None:
        nonlocal shared
        one = Settings()
        if mended:
            one.port = 80
        shared = one
        one.port = 80

    def read() -> None:
        if shared is not None:
            assert shared.port == 80

    together(write, read)


@bug(ASSERTION, data=True)
def flag_looked_at_and_then_set(mended: bool) -> None:
    real = threading.Lock() if mended else nullcontext()
    taken, got = False, []

    def take() -> None:
        nonlocal taken
        with real:
            if not taken:
                taken = True
                got.append(1)

    together(take, take)
    assert len(got) == 1


@bug(EXCEPTION, data=True)
def key_deleted_between_look_and_use(mended: bool) -> None:
    cache = {"a": 1}

    def use() -> None:
        if mended:
            cache.get("a")
        elif "a" in cache:
            cache["a"]

    together(use, lambda: cache.pop("a"))
