# SPDX-License-Identifier: Apache-2.0
"""Programs with asyncio that go wrong in some schedules, each with what mends it.

Those that stand for a known bug name it; they are minimal, and not the code that had it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from .bugs import BUGS as BUGS
from .bugs import DEADLOCK, EXCEPTION, LOST, bug, together

Waiters = deque[asyncio.Future[None]]
Main = Callable[[bool], Coroutine[Any, Any, None]]


def run(main: Main) -> Callable[[bool], None]:
    def program(mended: bool) -> None:
        asyncio.run(main(mended))

    program.__name__ = main.__name__
    return program


async def all_of(*coroutines: Coroutine[Any, Any, object]) -> None:
    await asyncio.gather(*coroutines, return_exceptions=True)


def wake_one(waiters: Waiters) -> bool:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
            return True
    return False


class Permits:
    """A semaphore with one permit; who is woken takes it itself, and may be cancelled before."""

    def __init__(self, mended: bool) -> None:
        self.mended, self.free, self.waiters = mended, 1, Waiters()

    async def take(self) -> None:
        while self.free <= 0:
            waiter = asyncio.get_running_loop().create_future()
            self.waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if self.mended and not waiter.cancelled():
                    wake_one(self.waiters)
                raise
            finally:
                self.waiters.remove(waiter)
        self.free -= 1

    def give(self) -> None:
        self.free += 1
        wake_one(self.waiters)


class MarkedPermits:
    """A semaphore with one permit; nobody overtakes a wakeup that is on its way."""

    def __init__(self, mended: bool) -> None:
        self.mended, self.free, self.waiters = mended, 1, Waiters()
        self.is_coming = False

    async def take(self) -> None:
        while self.is_coming or self.free <= 0:
            waiter = asyncio.get_running_loop().create_future()
            self.waiters.append(waiter)
            try:
                await waiter
                self.is_coming = False
            except asyncio.CancelledError:
                if self.mended and not waiter.cancelled():
                    self.is_coming = False
                self.waiters.remove(waiter)
                self.wake()
                raise
            self.waiters.remove(waiter)
        self.free -= 1

    def wake(self) -> None:
        if self.free > 0 and wake_one(self.waiters):
            self.is_coming = True

    def give(self) -> None:
        self.free += 1
        self.wake()


async def use(permits: Permits | MarkedPermits) -> None:
    await permits.take()
    try:
        await asyncio.sleep(0)
    finally:
        permits.give()


@bug(LOST, cancels=1)
@run
async def woken_and_cancelled_before_it_runs(mended: bool) -> None:
    """python/asyncio#270, mended by #271."""
    permits = Permits(mended)
    await all_of(use(permits), use(permits), use(permits))


@bug(LOST, cancels=1)
@run
async def mark_that_a_cancelled_task_leaves(mended: bool) -> None:
    """python/cpython#90155, mended by #93222."""
    permits = MarkedPermits(mended)
    await all_of(use(permits), use(permits))
    await use(permits)


@bug(LOST, cancels=1)
@run
async def notification_that_a_cancelled_task_keeps(mended: bool) -> None:
    """agronholm/anyio#1075."""
    waiters, items, taken = Waiters(), [], asyncio.Event()

    async def take() -> None:
        while not items:
            waiter = asyncio.get_running_loop().create_future()
            waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if mended and not waiter.cancelled():
                    wake_one(waiters)
                raise
            finally:
                waiters.remove(waiter)
        items.pop()
        taken.set()

    takers = [asyncio.ensure_future(take()) for _ in range(2)]
    await asyncio.sleep(0)
    items.append(1)
    wake_one(waiters)
    await taken.wait()
    for taker in takers:
        taker.cancel()


@bug(DEADLOCK, cancels=1)
@run
async def cancelled_waiter_that_bars_the_way(mended: bool) -> None:
    """agronholm/anyio#1145: who comes between its cancellation and its end waits for ever."""
    waiters = Waiters()
    is_taken = False

    async def take() -> None:
        nonlocal is_taken
        if not is_taken and not any(not mended or not one.cancelled() for one in waiters):
            is_taken = True
            return
        waiter = asyncio.get_running_loop().create_future()
        waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                give()
            raise
        finally:
            waiters.remove(waiter)

    def give() -> None:
        nonlocal is_taken
        is_taken = wake_one(waiters)  # it is handed over

    async def work() -> None:
        for _ in range(2):
            await take()
            try:
                await asyncio.sleep(0)
            finally:
                give()

    await all_of(work(), work())


@bug(EXCEPTION)
def loop_closed_after_a_worker_has_looked(mended: bool) -> None:
    """agronholm/anyio#1265, mended by #1279."""
    loop = asyncio.new_event_loop()

    def worker() -> None:
        suppressed = contextlib.suppress(RuntimeError) if mended else contextlib.nullcontext()
        if not loop.is_closed():
            with suppressed:
                loop.call_soon_threadsafe(int)

    thread = threading.Thread(target=worker)
    thread.start()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    thread.join()


@bug(DEADLOCK, data=True)
def count_of_callbacks_beside_their_queue(mended: bool) -> None:
    """MagicStack/uvloop#720, mended by #721: of two threads that count, one is not counted."""
    ready: list[int] = []
    count, wakeup = 0, threading.Event()

    def call_soon_threadsafe() -> None:
        nonlocal count
        ready.append(1)
        if not mended:
            count += 1

    together(call_soon_threadsafe, call_soon_threadsafe)
    for _ in range(2):
        if not (len(ready) if mended else count):
            wakeup.wait()
        ready.pop()
        count -= 1


@bug(EXCEPTION)
@run
async def event_set_by_another_thread(mended: bool) -> None:
    loop, event = asyncio.get_running_loop(), asyncio.Event()

    def come() -> None:
        time.sleep(1)
        if mended:
            loop.call_soon_threadsafe(event.set)
        else:
            event.set()

    thread = threading.Thread(target=come)
    thread.start()
    await event.wait()
    thread.join()


@bug(DEADLOCK)
@run
async def two_locks_of_asyncio_in_two_orders(mended: bool) -> None:
    a, b = asyncio.Lock(), asyncio.Lock()

    async def take(first: asyncio.Lock, second: asyncio.Lock) -> None:
        async with first:
            await asyncio.sleep(0)
            async with second:
                pass

    await all_of(take(a, b), take(a, b) if mended else take(b, a))


@bug(EXCEPTION)
@run
async def error_of_a_task_that_nobody_awaits(mended: bool) -> None:
    async def fails() -> None:
        raise ValueError

    task = asyncio.ensure_future(fails())
    with contextlib.suppress(ValueError):
        await (task if mended else asyncio.sleep(1))


@bug(DEADLOCK)
@run
async def item_that_a_timeout_drops(mended: bool) -> None:
    """The timeout comes between the item and what is done with it."""
    line: asyncio.Queue[int] = asyncio.Queue()
    got = []

    async def take() -> None:
        item = await line.get()
        if mended:
            got.append(item)
        await asyncio.sleep(1)
        if not mended:
            got.append(item)

    async def consume() -> None:
        while not got:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(take(), 1)
            if not got and line.empty() and producer.done():
                await asyncio.get_running_loop().create_future()

    async def produce() -> None:
        await line.put(1)

    producer = asyncio.ensure_future(produce())
    await consume()


@bug(DEADLOCK)
@run
async def blocked_in_a_coroutine(mended: bool) -> None:
    """A wait that is not awaited keeps the loop from what would end it."""
    loop, ready = asyncio.get_running_loop(), threading.Event()
    loop.call_soon(ready.set)
    if mended:
        await asyncio.to_thread(ready.wait)
    else:
        ready.wait()
