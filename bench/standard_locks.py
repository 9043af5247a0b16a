# SPDX-License-Identifier: Apache-2.0
"""What `wakeproof.install` costs: locks, a queue and identity, before and after, in OS threads.

    build/venv/bin/python bench/standard_locks.py

Prints nanoseconds a turn, the median of rounds in which the sides took turns, and the median of the
rounds' ratios.  "virtual": the same turn in a virtual thread, after `install`.
"""

from __future__ import annotations

import queue
import statistics
import threading
import timeit

import wakeproof

TURNS, ROUNDS = 100_000, 21
LOCK, RLOCK, ITEMS = threading.Lock(), threading.RLock(), queue.SimpleQueue[int]()
ROWS = {
    "Lock: with": "with lock: pass",
    "Lock: acquire, release": "acquire(); release()",
    "RLock: with": "with rlock: pass",
    "SimpleQueue: put, get": "put(1); get()",
    "get_ident": "get_ident()",
}
NAMES = {
    "lock": LOCK, "acquire": LOCK.acquire, "release": LOCK.release, "rlock": RLOCK,
    "put": ITEMS.put, "get": ITEMS.get, "get_ident": threading.get_ident,
}  # fmt: skip


def ns(turn: str) -> float:
    """Return the nanoseconds of a turn."""
    return timeit.timeit(turn, globals=NAMES, number=TURNS) / TURNS * 1e9


def main() -> None:
    """Print the table."""
    print(f"{'':24}{'before':>9}{'after':>9}{'ratio':>8}{'virtual':>9}{'ratio':>8}")
    with wakeproof.CarrierGroup(1) as group:
        for name, turn in ROWS.items():
            rounds = []
            for _ in range(ROUNDS):
                before = ns(turn)
                wakeproof.install()
                after = ns(turn)
                virtual = wakeproof.VirtualThread(ns, turn, group=group).start().result()
                wakeproof.uninstall()
                rounds.append((before, after, after / before, virtual, virtual / before))
            shown = [statistics.median(column) for column in zip(*rounds, strict=True)]
            print("{:24}{:9.1f}{:9.1f}{:8.2f}{:9.1f}{:8.2f}".format(name, *shown))


if __name__ == "__main__":
    main()
