# SPDX-License-Identifier: Apache-2.0
"""What two threads do at once, and what one thread takes: run by `tools.pythons free`.

It prints one line of JSON: the name of each figure, and the median of several runs.  It needs only
wakeproof, so each Python can run it.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from wakeproof import CarrierGroup, VirtualThread, coroutine, yield_now

RUNS = 5
WORK, SUBMITS, YIELDS, STARTS = 3_000_000, 20_000, 20_000, 5_000


def _busy(count: int) -> int:
    total = 0
    for number in range(count):
        total += number & 3
    return total


def _timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def median(act: Callable[[], object]) -> float:
    """Return the median time of some runs, in seconds, after one that is not counted."""
    act()
    return statistics.median(_timed(act) for _ in range(RUNS))


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
    found = {
        "work on one carrier": median(lambda: _on_carriers(1)),
        "work on two carriers": median(lambda: _on_carriers(2)),
    }
    with CarrierGroup(2) as group:
        for threads, name in ((1, "one thread"), (2, "two threads")):
            each = [_submits(threads, group) for _ in range(RUNS + 1)][1:]
            found[f"submit from {name}"] = statistics.median(each)
    with CarrierGroup(1) as group:
        found["yield of a callable"] = median(lambda: _yields(group))
        found["yield of a coroutine"] = median(lambda: _steps(group))
        found["start and join"] = median(lambda: _starts(group))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
