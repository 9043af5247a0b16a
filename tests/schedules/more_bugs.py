# SPDX-License-Identifier: Apache-2.0
"""More programs that go wrong in some schedules, each with what mends it.

The comparison with other packages, ``bench/peers/schedules.py``, is without them.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import nullcontext

from .bugs import ASSERTION, DEADLOCK, EXCEPTION, LOST, bug, together
from .bugs_of_asyncio import BUGS as BUGS
from .bugs_of_asyncio import Waiters, all_of, run, wake_one


@bug(LOST)
def notified_only_when_it_was_empty(mended: bool) -> None:
    condition, items = threading.Condition(), deque[int]()

    def put() -> None:
        with condition:
            items.append(1)
            if mended or len(items) == 1:
                condition.notify()

    def take() -> None:
        with condition:
            while not items:
                condition.wait()
            items.popleft()

    together(take, take, put, put)


@bug(EXCEPTION)
def future_completed_after_its_cancel(mended: bool) -> None:
    future: Future[int] = Future()

    def work() -> None:
        if future.set_running_or_notify_cancel() if mended else not future.cancelled():
            future.set_result(1)

    together(work, future.cancel)


@bug(EXCEPTION)
def timeout_that_nobody_looks_at(mended: bool) -> None:
    lock = threading.Lock()

    def keeps_it() -> None:
        with lock:
            time.sleep(2)

    def hurries() -> None:
        got = lock.acquire(timeout=1)
        if got or not mended:
            lock.release()

    together(keeps_it, hurries)


@bug(DEADLOCK)
def calls_that_a_pool_drops_at_its_end(mended: bool) -> None:
    line: queue.SimpleQueue[Future[int]] = queue.SimpleQueue()
    is_closed = threading.Event()

    def work() -> None:
        while True:
            try:
                future = line.get(timeout=1)
            except queue.Empty:
                if not is_closed.is_set():
                    continue
                if mended and not line.empty():
                    continue
                return
            future.set_result(1)

    def call() -> None:
        future: Future[int] = Future()
        line.put(future)
        future.result()

    worker, caller = threading.Thread(target=work), threading.Thread(target=call)
    worker.start()
    caller.start()
    if mended:
        caller.join()
    is_closed.set()
    worker.join()
    caller.join()


@bug(EXCEPTION, data=True)
def generator_that_two_threads_ask(mended: bool) -> None:
    def count() -> Iterator[int]:
        number = 0
        while True:
            number += 1
            yield number

    numbers, lock = count(), threading.Lock() if mended else nullcontext()

    def take() -> None:
        with lock:
            next(numbers)

    together(take, take)


@bug(ASSERTION, data=True)
def lock_of_a_key_that_two_make(mended: bool) -> None:
    locks: dict[str, threading.Lock] = {}
    lock, inside = threading.Lock() if mended else nullcontext(), [0, 0]

    def work() -> None:
        with lock:
            if "key" not in locks:
                locks["key"] = threading.Lock()
        with locks["key"]:
            inside[0] += 1
            inside[1] = max(inside)
            inside[0] -= 1

    together(work, work)
    assert inside[1] == 1


@bug(DEADLOCK, cancels=1)
@run
async def permit_of_a_task_that_is_cancelled_before_its_try(mended: bool) -> None:
    permits = asyncio.Semaphore(1)

    async def work() -> None:
        await permits.acquire()
        if not mended:
            await asyncio.sleep(0)
        try:
            await asyncio.sleep(0)
        finally:
            permits.release()

    await all_of(work(), work())


@bug(DEADLOCK, cancels=1)
@run
async def item_of_a_cancelled_task_that_is_never_done(mended: bool) -> None:
    line: asyncio.Queue[int] = asyncio.Queue()

    async def work() -> None:
        while True:
            await line.get()
            try:
                await asyncio.sleep(0)
                if not mended:
                    line.task_done()
            finally:
                if mended:
                    line.task_done()

    line.put_nowait(1)
    workers = [asyncio.ensure_future(work()) for _ in range(2)]
    await line.join()
    for worker in workers:
        worker.cancel()


@bug(DEADLOCK, cancels=1)
@run
async def lock_that_is_handed_to_a_cancelled_task(mended: bool) -> None:
    waiters, is_taken = Waiters(), False

    async def take() -> None:
        nonlocal is_taken
        if not is_taken:
            is_taken = True
            return
        waiter = asyncio.get_running_loop().create_future()
        waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if mended and not waiter.cancelled():
                give()
            raise

    def give() -> None:
        nonlocal is_taken
        is_taken = wake_one(waiters)

    async def work() -> None:
        await take()
        try:
            await asyncio.sleep(0)
        finally:
            give()

    await all_of(work(), work(), work())


@bug(LOST)
@run
async def event_that_is_cleared_before_the_task_waits(mended: bool) -> None:
    event = asyncio.Event()

    async def ring() -> None:
        event.set()
        await asyncio.sleep(0)
        if not mended:
            event.clear()

    async def wait() -> None:
        for _ in range(2):
            await asyncio.sleep(0)
        await event.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(ring())
        group.create_task(wait())
