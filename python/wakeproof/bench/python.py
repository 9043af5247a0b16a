# SPDX-License-Identifier: Apache-2.0
"""The rows of Python's virtual threads and of the event loop, beside those that others have.

Source: ``bench/peers/threads.py``, ``bench/peers/loops.py``, ``bench/peers/plaintext.py``,
``bench/peers/echo.py``.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from wakeproof.bench import program
from wakeproof.bench.reasons import BLOCKS, CALLED, IN_C, KERNEL, STACKED, SWITCHED
from wakeproof.bench.rows import BYTES, KOPS, PERCENT, US, Row

GEVENT = "gevent==26.9.0"
UVLOOP = "uvloop==0.23.0"
AIOHTTP = "aiohttp==3.14.5"
CULSANS, JANUS = "culsans==0.11.0", "janus==2.0.0"
PACKAGES = {
    "gevent": GEVENT, "uvloop": UVLOOP, "protocol": UVLOOP, "culsans": CULSANS, "janus": JANUS,
}  # fmt: skip
"""By side: the package that it needs."""
SIDES = ("ours", "coroutines", "asyncio", "gevent")
OPERATIONS = {
    "python_yield": 200_000, "python_join": 20_000,
    "python_many_10k": 10_000, "python_many_100k": 100_000,
    "python_turns_10k": 10_000, "python_turns_100k": 100_000,
    "python_submit": 10_000, "python_trip": 5_000, "python_outside": 5_000,
    "python_memory": 20_000, "python_lock": 200_000, "python_channel": 200_000,
    "loop_threadsafe": 200_000, "loop_sleep": 100_000, "loop_gather": 50_000,
    "loop_timer": 50_000, "loop_wait_for": 50_000, "loop_executor": 10_000, "loop_stream": 10_000,
    "loop_vthread": 10_000, "loop_await": 10_000, "loop_channel": 20_000,
    "http_protocol": 20_000, "http_aiohttp": 10_000, "echo": 50_000,
}  # fmt: skip
"""By row: what a side does per sample."""
OWN = ("python_lock", "python_channel")
POOLS = ("python_submit", "python_trip", "python_outside")
POOL_SIDES = ("ours", "standard")
"""The rows beside `ThreadPoolExecutor`, and their sides."""
OWN_SIDES = ("ours", "installed", "standard")
"""The rows beside `threading` and `queue`, and their sides."""
FILES = {"loop": "loops.py", "http": "plaintext.py", "echo": "echo.py"}
"""By the first word of a row: its program in ``bench/peers``; else ``threads.py``."""
LOOPS = tuple(name for name in OPERATIONS if name.startswith(("loop_", "http_")))
LOOP_SIDES = ("ours", "asyncio", "uvloop")
"""The rows of event loops, and their sides."""
ECHO_SIDES = (
    "ours", "coroutines", "installed", "threads", "asyncio", "gevent", "uvloop", "protocol", "aio",
    "aio_protocol",
)  # fmt: skip
"""The servers of ``echo.py``."""
OTHER_SIDES = {
    "loop_threadsafe": (*LOOP_SIDES, "plain"), "loop_channel": ("ours", "culsans", "janus"),
    "echo": ECHO_SIDES,
}  # fmt: skip
"""Rows that have other sides."""
NEAR_UVLOOP = 1.11
"""The time of our event loop by uvloop's: 0.9 as much for each second of CPU time."""
AGAINST = {"uvloop": "uvloop, streams", "protocol": "uvloop, a protocol", "threads": "OS threads"}


def sides(name: str = "") -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the sides that can be run, and the reason for each side that is missing."""
    if name in OWN:
        return OWN_SIDES, {}
    if name in POOLS:
        return POOL_SIDES, {}
    wanted = OTHER_SIDES.get(name, LOOP_SIDES if name in LOOPS else SIDES)
    missing = {}
    for side in wanted:
        needed = [PACKAGES.get(side, ""), AIOHTTP if name == "http_aiohttp" else ""]
        lacking = [one for one in needed if one and not find_spec(one.split("=")[0])]
        if lacking:
            missing[side] = f"not run: {sys.executable} -m pip install {' '.join(lacking)}"
    return tuple(side for side in wanted if side not in missing), missing


def command(name: str, side: str) -> list[str]:
    """Return the command that prints a sample of the side."""
    source = program.folder() / "peers" / FILES.get(name.split("_")[0], "threads.py")
    return [sys.executable, str(source), name, side, str(OPERATIONS[name])]


def _beside(name: str, row: str) -> list[Row]:
    return [
        Row(name, row, "ours", "gevent", "gevent", US, at_most=0.8, needs=GEVENT, why=CALLED),
        Row("- the same", row, "ours", "asyncio", "asyncio", US),
        Row(
            "- coroutine functions",
            row,
            "coroutines",
            "asyncio",
            "asyncio",
            US,
            at_most=0.3,
            why=IN_C,
        ),
    ]


def _own(name: str, row: str, peer: str, at_most: float) -> list[Row]:
    return [
        Row(name, row, "ours", "standard", peer, at_most=at_most, why=KERNEL),
        Row("- the same, after install", row, "installed", "standard", peer, at_most=at_most,
            why=SWITCHED),
    ]  # fmt: skip


def _pool(name: str, row: str, at_most: float) -> Row:
    return Row(name, row, "ours", "standard", "ThreadPoolExecutor", US, at_most=at_most)


def _loops(
    name: str, row: str, at_most: float = 1.03, uvloop: float | None = None, needs: str = ""
) -> list[Row]:
    return [
        Row(name, row, "ours", "asyncio", "asyncio", at_most=at_most, needs=needs),
        Row("- the same", row, "ours", "uvloop", "uvloop", at_most=uvloop, needs=needs or UVLOOP),
    ]


def _echoes() -> list[Row]:
    def row(name: str, side: str, peer: str, at_most: float | None = None) -> Row:
        package = PACKAGES.get(peer, "")
        return Row(name, "echo", side, peer, AGAINST.get(peer, peer), US, at_most, needs=package)

    def count(name: str, side: str, peer: str, what: str, unit: str) -> Row:
        package, against = PACKAGES.get(peer, ""), AGAINST.get(peer, peer)
        return Row(name, "echo", side, peer, against, unit, needs=package, count=what)

    return [
        row("Python: echo over 1,000 connections", "ours", "gevent", 1.0),
        row("- the same", "ours", "asyncio", 1.0),
        row("- the same", "ours", "uvloop", 1.25),
        row("- the same", "ours", "protocol"),
        row("- asyncio's streams on our event loop", "aio", "uvloop", NEAR_UVLOOP),
        row("- a protocol on our event loop", "aio_protocol", "protocol", NEAR_UVLOOP),
        row("- coroutine functions", "coroutines", "uvloop"),
        row("- after install", "installed", "gevent"),
        row("- the same", "installed", "threads", 1.0),
        *(count("- thousands a second by the clock", "ours", peer, "rate", KOPS)
          for peer in ("gevent", "uvloop", "protocol")),
        count("- of this the client computed", "ours", "protocol", "client", PERCENT),
    ]  # fmt: skip


ROWS = (
    *_beside("Python: yield", "python_yield"),
    *_beside("Python: start and join, one by one", "python_join"),
    *_beside("Python: start and join, 10,000 at once", "python_many_10k"),
    *_beside("Python: start and join, 100,000 at once", "python_many_100k"),
    *_beside("Python: start, yield, join, 10,000 at once", "python_turns_10k"),
    *_beside("Python: start, yield, join, 100,000 at once", "python_turns_100k"),
    _pool("Python: pool, 10,000 calls and their results", "python_submit", 0.5),
    _pool("Python: pool, a call and its result, one by one", "python_trip", 0.5),
    _pool("Python: start and join from an OS thread", "python_outside", 1.0),
    Row(
        "Python: memory of a callable that waits",
        "python_memory",
        "ours",
        "gevent",
        "gevent",
        BYTES,
        at_most=1.0,
        needs=GEVENT,
        why=STACKED,
    ),
    Row(
        "- of a coroutine function",
        "python_memory",
        "coroutines",
        "asyncio",
        "asyncio",
        BYTES,
        at_most=1.0,
        why=BLOCKS,
    ),
    *_own("Python: lock and unlock", "python_lock", "threading.Lock", 1.5),
    *_own("Python: channel, an item in and out", "python_channel", "queue.SimpleQueue", 1.0),
    *_loops("asyncio: call_soon_threadsafe, busy loop", "loop_threadsafe", 0.25, 1.0),
    Row("- in Python alone", "loop_threadsafe", "plain", "asyncio", "asyncio", at_most=0.25),
    Row("- the same", "loop_threadsafe", "plain", "uvloop", "uvloop", at_most=2.5, needs=UVLOOP),
    *(
        Row(
            "asyncio: channel, a thread to a loop",
            "loop_channel",
            "ours",
            side,
            side,
            at_most=0.5,
            needs=PACKAGES[side],
        )
        for side in ("culsans", "janus")
    ),
    *_loops("asyncio: sleep(0)", "loop_sleep"),
    *_loops("asyncio: gather, each task", "loop_gather"),
    *_loops("asyncio: gather, each task sleeps 1 ms", "loop_timer"),
    *_loops("asyncio: wait_for of the next turn", "loop_wait_for"),
    *_loops("asyncio: run_in_executor, there and back", "loop_executor", uvloop=1.0),
    *_loops("asyncio: run_in_vthread, others' run_in_executor", "loop_vthread"),
    *_loops("asyncio: await_, others' run_coroutine_threadsafe", "loop_await"),
    *_loops("asyncio: streams, a line there and back", "loop_stream", uvloop=NEAR_UVLOOP),
    *_loops("asyncio: HTTP, a short text by a protocol", "http_protocol", uvloop=NEAR_UVLOOP),
    *_loops(
        "asyncio: HTTP, the same by aiohttp", "http_aiohttp", uvloop=NEAR_UVLOOP, needs=AIOHTTP
    ),
    *_echoes(),
)
