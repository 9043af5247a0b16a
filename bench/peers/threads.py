# SPDX-License-Identifier: Apache-2.0
"""Virtual threads, coroutine functions, asyncio's tasks and gevent's greenlets do the same work.

``threads.py python_ROW SIDE OPERATIONS`` prints nanoseconds of CPU time for each operation.  Each
side works on one OS thread.  ROW: ``yield`` (two threads yield to each other), ``join`` (threads
one by one), ``many_N`` (all at once), ``turns_N`` (all at once, and each yields once), ``lock``
(taken and freed by one thread), ``channel`` (an item in, and out again).  ``memory`` prints bytes
of each of so many that wait.  From an OS thread: ``submit`` (calls given to a pool, then their
results), ``trip`` (a call given to a pool, and its result, one by one), ``outside`` (a thread
started and joined, one by one; `ThreadPoolExecutor`: a call).  SIDE
``standard``: `threading.Lock`, `queue.SimpleQueue` and `ThreadPoolExecutor` of one OS thread, in an
OS thread; ``installed``: the same in a virtual thread, after `wakeproof.install`.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import repeat
from pathlib import Path
from typing import Any


def nothing() -> None:
    """Return immediately."""


async def nothing_async() -> None:
    """Return immediately, as a coroutine function."""


def locks(lock: AbstractContextManager[Any], ops: int) -> None:
    """Take and free the lock."""
    for _ in repeat(None, ops):
        with lock:
            pass


def hands(put: Callable[[int], object], get: Callable[[], int], ops: int) -> None:
    """Put an item in, and take it out."""
    for _ in repeat(None, ops):
        put(1)
        get()


def submits(pool: Executor, ops: int) -> None:
    """Give the pool so many calls, then take their results."""
    for future in [pool.submit(nothing) for _ in range(ops)]:
        future.result()


def trips(pool: Executor, ops: int) -> None:
    """Give the pool a call and take its result, so often."""
    for _ in repeat(None, ops):
        pool.submit(nothing).result()


seen: list[int] = []  # the bytes of memory while all wait


def resident() -> int:
    """Return the bytes of memory that the process has."""
    statm = Path("/proc/self/statm").read_text(encoding="ascii")
    return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def ours(row: str, ops: int) -> None:
    """Do the work of `row` with virtual threads, from a virtual thread, on one carrier."""
    from wakeproof import (
        CarrierGroup,
        Channel,
        Mutex,
        VirtualThread,
        VirtualThreadPool,
        park,
        yield_now,
    )

    def yields() -> None:
        for _ in range(ops // 2):
            yield_now()

    def hand() -> None:
        channel = Channel[int](1)
        hands(channel.send, channel.receive, ops)

    def wait() -> None:
        threads = [VirtualThread(park).start() for _ in range(ops)]
        yield_now()
        seen.append(resident())
        for thread in threads:
            thread.unpark()

    def joins() -> None:
        for _ in range(ops):
            VirtualThread(nothing).start().join()

    def many(fn: Callable[[], None]) -> None:
        for thread in [VirtualThread(fn).start() for _ in range(ops)]:
            thread.join()

    work = {
        "yield": lambda: [thread.join() for thread in
                          [VirtualThread(yields).start() for _ in range(2)]],
        "join": joins,
        "many": lambda: many(nothing),
        "turns": lambda: many(yield_now),
        "lock": lambda: locks(Mutex(), ops), "channel": hand, "memory": wait,
    }  # fmt: skip
    with CarrierGroup(1) as group:
        if row in work:
            VirtualThread(work[row], group=group).start().result()
        elif row == "outside":
            for _ in repeat(None, ops):
                VirtualThread(nothing, group=group).start().join()
        else:
            with VirtualThreadPool(group=group) as pool:
                (submits if row == "submit" else trips)(pool, ops)


def coroutines(row: str, ops: int) -> None:
    """Do the work of `row` with coroutine functions as virtual threads, on one carrier."""
    from wakeproof import CarrierGroup, VirtualThread, coroutine

    async def yields() -> None:
        for _ in range(ops // 2):
            await coroutine.yield_now()

    async def both() -> None:
        for thread in [VirtualThread(yields).start() for _ in range(2)]:
            await coroutine.join(thread)

    async def joins() -> None:
        for _ in range(ops):
            await coroutine.join(VirtualThread(nothing_async).start())

    async def many() -> None:
        for thread in [VirtualThread(nothing_async).start() for _ in range(ops)]:
            await coroutine.join(thread)

    async def many_turns() -> None:
        for thread in [VirtualThread(coroutine.yield_now).start() for _ in range(ops)]:
            await coroutine.join(thread)

    async def waits() -> None:
        await coroutine.park()

    async def wait() -> None:
        threads = [VirtualThread(waits).start() for _ in range(ops)]
        await coroutine.yield_now()
        seen.append(resident())
        for thread in threads:
            thread.unpark()

    work = {"yield": both, "join": joins, "many": many, "turns": many_turns, "memory": wait}
    with CarrierGroup(1) as group:
        VirtualThread(work[row], group=group).start().result()


def asyncio(row: str, ops: int) -> None:
    """Do the work of `row` with tasks of the standard library's event loop."""
    from asyncio import create_task, get_running_loop, run, sleep

    async def yields() -> None:
        for _ in range(ops // 2):
            await sleep(0)

    async def both() -> None:
        for task in [create_task(yields()) for _ in range(2)]:
            await task

    async def joins() -> None:
        for _ in range(ops):
            await create_task(nothing_async())

    async def many() -> None:
        for task in [create_task(nothing_async()) for _ in range(ops)]:
            await task

    async def many_turns() -> None:
        for task in [create_task(sleep(0)) for _ in range(ops)]:
            await task

    async def waits() -> None:
        await get_running_loop().create_future()

    async def wait() -> None:
        tasks = [create_task(waits()) for _ in range(ops)]
        await sleep(0)
        seen.append(resident())
        for task in tasks:
            task.cancel()

    work = {"yield": both, "join": joins, "many": many, "turns": many_turns, "memory": wait}
    run(work[row]())


def gevent(row: str, ops: int) -> None:
    """Do the work of `row` with greenlets of gevent's hub."""
    from gevent import get_hub, joinall, killall, sleep, spawn

    def yields() -> None:
        for _ in range(ops // 2):
            sleep(0)

    def joins() -> None:
        for _ in range(ops):
            spawn(nothing).join()

    def waits() -> None:
        get_hub().switch()

    def wait() -> None:
        threads = [spawn(waits) for _ in range(ops)]
        sleep(0)
        seen.append(resident())
        killall(threads)

    work = {
        "yield": lambda: joinall([spawn(yields) for _ in range(2)]),
        "join": joins,
        "many": lambda: joinall([spawn(nothing) for _ in range(ops)]),
        "turns": lambda: joinall([spawn(sleep, 0) for _ in range(ops)]), "memory": wait,
    }  # fmt: skip
    work[row]()


def standard(row: str, ops: int) -> None:
    """Do the work of `row` with what Python has, in this thread."""
    items = queue.SimpleQueue[int]()
    if row in ("submit", "trip", "outside"):
        with ThreadPoolExecutor(1) as pool:
            (submits if row == "submit" else trips)(pool, ops)
        return
    work = {
        "lock": lambda: locks(threading.Lock(), ops),
        "channel": lambda: hands(items.put, items.get, ops),
    }
    work[row]()


def installed(row: str, ops: int) -> None:
    """Do the work of `row` with what Python has, in a virtual thread."""
    from wakeproof import CarrierGroup, VirtualThread, install, uninstall

    install()
    with CarrierGroup(1) as group:
        VirtualThread(standard, row, ops, group=group).start().result()
    uninstall()


def main(name: str, side: str, ops: int) -> None:
    """Do the work to warm up, with one thread if it takes long, and once more to measure it."""
    work = {
        "ours": ours, "coroutines": coroutines, "asyncio": asyncio, "gevent": gevent,
        "standard": standard, "installed": installed,
    }[side]  # fmt: skip
    row = name.split("_")[1]
    if row == "memory":
        work(row, 1)
        before = resident()
        work(row, ops)
        print((seen[-1] - before) / ops)
        return
    work(row, 1 if name.endswith("_100k") else ops)  # at least imports are no part of it
    begun = time.process_time_ns()
    work(row, ops)
    print((time.process_time_ns() - begun) / ops)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
