# SPDX-License-Identifier: Apache-2.0
"""Event loops of asyncio do the same work: ours, the standard library's, and uvloop's.

Side ``plain`` is ours without its C.  ``channel`` compares queues between a thread and a loop of
asyncio: ours, culsans' and janus'.

``loops.py loop_ROW SIDE OPERATIONS`` prints nanoseconds of CPU time for each operation.  ROW:
``threadsafe`` (`call_soon_threadsafe` to a loop that is awake: the calls alone), ``sleep``
(`asyncio.sleep(0)` of one task), ``gather`` (a task of `asyncio.gather`), ``timer`` (a task that
sleeps for 1 ms), ``wait_for`` (a future that is done in the next turn), ``executor``
(`run_in_executor`, there and back), ``stream`` (a line to an echo server and back), ``vthread``
(ours: `run_in_vthread`, there and back; others: `run_in_executor`), ``await`` (a coroutine that a
virtual thread awaits by `await_`; others: `run_coroutine_threadsafe` of an OS thread).
"""

from __future__ import annotations

import asyncio
import functools
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import Any

BATCH = 1000  # calls to a loop while it runs one callback


def nothing() -> None:
    """Return immediately."""


def loop_of(side: str) -> asyncio.AbstractEventLoop:
    """Return a new loop of the side."""
    if side == "asyncio":
        return asyncio.SelectorEventLoop()
    if side == "uvloop":
        import uvloop

        return uvloop.new_event_loop()
    if side == "plain":
        os.environ["WAKEPROOF_PLAIN"] = "1"
    from wakeproof import aio

    return aio.new_event_loop()


async def threadsafe(ops: int) -> int:
    """Call the loop while it is awake, and return the time of the calls."""
    call = asyncio.get_running_loop().call_soon_threadsafe
    took = 0
    for _ in range(max(ops // BATCH, 1)):
        begun = time.process_time_ns()
        for _ in repeat(None, BATCH):
            call(nothing)
        took += time.process_time_ns() - begun
        await asyncio.sleep(0)
    return took


async def sleep(ops: int) -> None:
    """Let other tasks run, of which there are none."""
    for _ in repeat(None, ops):
        await asyncio.sleep(0)


async def gather(ops: int) -> None:
    """Run tasks a hundred at a time, each of which lets others run once."""
    for _ in range(ops // 100):
        await asyncio.gather(*[asyncio.sleep(0) for _ in range(100)])


async def timer(ops: int) -> None:
    """Run tasks a hundred at a time, each of which sleeps for 1 ms.

    uvloop does not sleep for less than half of that.
    """
    for _ in range(ops // 100):
        await asyncio.gather(*[asyncio.sleep(0.001) for _ in range(100)])


async def wait_for(ops: int) -> None:
    """Await a future with a timeout, which is far away."""
    loop = asyncio.get_running_loop()
    for _ in repeat(None, ops):
        future = loop.create_future()
        loop.call_soon(future.set_result, None)
        await asyncio.wait_for(future, 10)


async def executor(ops: int) -> None:
    """Call a function in another thread, and await its result."""
    loop = asyncio.get_running_loop()
    for _ in repeat(None, ops):
        await loop.run_in_executor(None, nothing)


async def stream(ops: int) -> None:
    """Send a line to an echo server of the same loop, and await it."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for _ in repeat(None, ops):
            writer.write(b"a line\n")
            await reader.readline()
        writer.close()
        await writer.wait_closed()


async def vthread(ops: int) -> None:
    """Call a function in a virtual thread of the loop's carrier, and await its result."""
    loop: Any = asyncio.get_running_loop()
    if not hasattr(loop, "run_in_vthread"):
        return await executor(ops)
    for _ in repeat(None, ops):
        await loop.run_in_vthread(nothing)
    return None


async def await_(ops: int) -> None:
    """Let a thread await coroutines of the loop."""
    loop: Any = asyncio.get_running_loop()

    async def nothing() -> None:
        """Return immediately."""

    def ours() -> None:
        from wakeproof import aio

        for _ in repeat(None, ops):
            aio.await_(nothing())

    def theirs() -> None:
        for _ in repeat(None, ops):
            asyncio.run_coroutine_threadsafe(nothing(), loop).result()

    if hasattr(loop, "run_in_vthread"):
        await loop.run_in_vthread(ours)
    else:
        await loop.run_in_executor(None, theirs)


async def channel(ops: int, side: str) -> None:
    """Receive what a thread sends, through at most 100 slots."""
    if side == "ours":
        from wakeproof import aio

        ours = aio.Channel[int](100)
        send, receive = ours.send, ours.areceive
    else:
        package = __import__(side)
        line = package.Queue(100)
        send, receive = line.sync_q.put, line.async_q.get

    def sends() -> None:
        for number in range(ops):
            send(number)

    thread = asyncio.to_thread(sends)
    task = asyncio.ensure_future(thread)
    for _ in repeat(None, ops):
        await receive()
    await task


ROWS: dict[str, Callable[[int], Awaitable[int | None]]] = {
    "threadsafe": threadsafe, "sleep": sleep, "gather": gather, "timer": timer,
    "wait_for": wait_for, "executor": executor, "stream": stream,
    "vthread": vthread, "await": await_,
}  # fmt: skip


@contextmanager
def running(row: str, side: str) -> Iterator[Callable[[Any], Any]]:
    """Give what runs a coroutine: a loop, for virtual threads one that shares their carrier."""
    if side == "ours" and row in ("vthread", "await"):
        from wakeproof import CarrierGroup, aio

        with CarrierGroup(1) as group, aio.LoopGroup(group) as loops:
            yield loops.run
    else:
        with asyncio.Runner(loop_factory=lambda: loop_of(side)) as runner:
            yield runner.run


def measure(row: str, side: str, ops: int) -> float:
    """Return nanoseconds of CPU time for each operation, after a tenth of them to warm up."""
    if row == "channel":
        ROWS[row] = functools.partial(channel, side=side)
    with running(row, "asyncio" if row == "channel" else side) as run:
        run(ROWS[row](max(ops // 10, 100)))
        begun = time.process_time_ns()
        took = run(ROWS[row](ops))
        return (time.process_time_ns() - begun if took is None else took) / ops


if __name__ == "__main__":
    print(measure(sys.argv[1].removeprefix("loop_"), sys.argv[2], int(sys.argv[3])))
