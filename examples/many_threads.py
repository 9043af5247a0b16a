# SPDX-License-Identifier: Apache-2.0
"""Start many virtual threads that wait, wake them, and print the times.  Argument: how many."""

import sys
import time

import wakeproof

count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000


def wait_and_say(number: int) -> int:
    """Park until another thread unparks this one."""
    wakeproof.park()
    return number


begun = time.perf_counter()
threads = [wakeproof.VirtualThread(wait_and_say, n).start() for n in range(count)]
while threads[-1].state != "parked":
    time.sleep(0.001)
parked = time.perf_counter()
for thread in threads:
    thread.unpark()
total = sum(thread.result() for thread in threads)
ended = time.perf_counter()
assert total == sum(range(count))
print(f"{count:,} virtual threads: started and parked in {parked - begun:.2f} s, ", end="")
print(f"woken and joined in {ended - parked:.2f} s")
