# SPDX-License-Identifier: Apache-2.0
"""What two threads do at once, and what one thread takes: run by `tools.pythons free`.

It prints one line of JSON: the name of each figure, and the least time of several runs, in turn
with those of the others, because two threads need both cores and other programs may have one.  It
needs only wakeproof, so each Python can run it.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from wakeproof import CarrierGroup, VirtualThread, coroutine, yield_now

RUNS = 12
WORK, SUBMITS, YIELDS, STARTS = 1_000_000, 8_000, 10_000, 2_000


def _busy(count: int) -> int:
    total = 0
    for number in range(count):
        total += number & 3
    return total


def _timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def least(measures: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Return the least time of some runs of each, in seconds, after one that is not counted."""
    runs = [{name: measure() for name, measure in measures.items()} for _ in range(RUNS + 1)]
    return {name: min(run[name] for run in runs[1:]) for name in measures}


def _on_carriers(count: int) -> None:
    """Do the same work in two virtual threads, on that many carriers."""
    with CarrierGroup(count) as group:
        threads = [VirtualThread(_busy, WORK, group=group[n % count]).start() for n in range(2)]
        for thread in threads:
            thread.join()


def _submits(threads: int, group: CarrierGroup) -> float:
    """Submit as many calls in all, from that many OS threads; return the seconds that it took.

    The carriers are busy meanwhile, so that they take no core from those that submit.
    """
    go_on, begin = threading.Event(), threading.Barrier(threads)
    waits = [carrier.factory(pinned=True)(go_on.wait) for carrier in group]
    last: list[Future[int]] = []

    def body(number: int) -> None:
        begin.wait()
        for _ in range(SUBMITS // threads - 1):
            group[number].submit(len, "")
        last.append(group[number].submit(len, ""))

    others = [threading.Thread(target=body, args=(n,)) for n in range(1, threads)]
    for other in others:
        other.start()
    took = _timed(lambda: body(0))
    for other in others:
        took += _timed(other.join)
    go_on.set()
    for done in last:
        done.result()
    for wait in waits:
        wait.result()
    return took


def _yields(group: CarrierGroup) -> None:
    def body() -> None:
        for _ in range(YIELDS):
            yield_now()

    VirtualThread(body, group=group).start().join()


def _steps(group: CarrierGroup) -> None:
    async def body() -> None:
        for _ in range(YIELDS):
            await coroutine.yield_now()

    VirtualThread(body, group=group).start().join()


def _starts(group: CarrierGroup) -> None:
    def body() -> None:
        for _ in range(STARTS):
            VirtualThread(len, "", group=group).start().join()

    VirtualThread(body, group=group).start().join()


def main() -> None:
    """Measure, and print it."""
    gc.disable()  # a collection stops all threads
    with CarrierGroup(2) as two, CarrierGroup(1) as one:
        found = least({
            "work on one carrier": lambda: _timed(lambda: _on_carriers(1)),
            "work on two carriers": lambda: _timed(lambda: _on_carriers(2)),
            "submit from one thread": lambda: _submits(1, two),
            "submit from two threads": lambda: _submits(2, two),
            "yield of a callable": lambda: _timed(lambda: _yields(one)),
            "yield of a coroutine": lambda: _timed(lambda: _steps(one)),
            "start and join": lambda: _timed(lambda: _starts(one)),
        })  # fmt: skip
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
