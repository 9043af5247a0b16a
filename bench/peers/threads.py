# SPDX-License-Identifier: Apache-2.0
"""Virtual threads, coroutine functions, asyncio's tasks and gevent's greenlets do the same work.

``threads.py python_ROW SIDE OPERATIONS`` prints nanoseconds of CPU time for each operation.  Each
side works on one OS thread.  ROW: ``yield`` (two threads yield to each other), ``join`` (threads
one by one), ``many_N`` (all at once), ``turns_N`` (all at once, and each yields once).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


def nothing() -> None:
    """Return immediately."""


async def nothing_async() -> None:
    """Return immediately, as a coroutine function."""


def ours(row: str, ops: int) -> None:
    """Do the work of `row` with virtual threads, from a virtual thread, on one carrier."""
    from wakeproof import CarrierGroup, VirtualThread, yield_now

    def yields() -> None:
        for _ in range(ops // 2):
            yield_now()

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
    }  # fmt: skip
    with CarrierGroup(1) as group:
        VirtualThread(work[row], group=group).start().result()


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

    work = {"yield": both, "join": joins, "many": many, "turns": many_turns}
    with CarrierGroup(1) as group:
        VirtualThread(work[row], group=group).start().result()


def asyncio(row: str, ops: int) -> None:
    """Do the work of `row` with tasks of the standard library's event loop."""
    from asyncio import create_task, run, sleep

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

    work = {"yield": both, "join": joins, "many": many, "turns": many_turns}
    run(work[row]())


def gevent(row: str, ops: int) -> None:
    """Do the work of `row` with greenlets of gevent's hub."""
    from gevent import joinall, sleep, spawn

    def yields() -> None:
        for _ in range(ops // 2):
            sleep(0)

    def joins() -> None:
        for _ in range(ops):
            spawn(nothing).join()

    work = {
        "yield": lambda: joinall([spawn(yields) for _ in range(2)]),
        "join": joins,
        "many": lambda: joinall([spawn(nothing) for _ in range(ops)]),
        "turns": lambda: joinall([spawn(sleep, 0) for _ in range(ops)]),
    }
    work[row]()


def main(name: str, side: str, ops: int) -> None:
    """Do the work once to warm up, unless it takes long, and once more to measure it."""
    work = {"ours": ours, "coroutines": coroutines, "asyncio": asyncio, "gevent": gevent}[side]
    row = name.split("_")[1]
    if not name.endswith("_100k"):
        work(row, ops)
    begun = time.process_time_ns()
    work(row, ops)
    print((time.process_time_ns() - begun) / ops)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
