# SPDX-License-Identifier: Apache-2.0
"""Threads call a loop that sleeps as often as it can: `make soak-aio` [N=CALLS].

Four threads make a few calls each, of a random number, and wait until the loop has run all of them.
So the loop falls asleep after each round, just when the next one begins.  A wakeup is lost if the
loop sleeps in `epoll_wait` though its queue has an entry, and no thread is in a call that could
still write to its pipe: nothing would ever end such a sleep.  A loop that is late, because it has
no processor or a callback takes long, has lost nothing.  The twins, loops without one half of the
protocol, must lose some.
"""

from __future__ import annotations

import contextlib
import random
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wakeproof import aio

LOOK_S = 0.3
MOST = 16  # calls of a thread in a round
THREADS = 4


class NoSecondLook(aio._PlainEventLoop):
    """A twin: the poller does not look at the queue after its announcement."""

    def _block(self, select: Any, timeout: float | None = None) -> Any:
        self._asleep = True
        try:
            return select(timeout)
        finally:
            self._asleep = False


class NoAnnouncement(aio._PlainEventLoop):
    """A twin: the poller looks once more, and announces nothing."""

    def _block(self, select: Any, timeout: float | None = None) -> Any:
        return select(0 if self._ready or self._stopping else timeout)


class NoSend(aio.EventLoop):
    """A twin: the producer does not write to the pipe."""

    def _write_to_self(self) -> None:
        self._asleep = False


class NoSecondLookByGuard(aio._FencedEventLoop):
    """A twin of the loop without the GIL: its guard finds the queue empty, whatever is in it."""

    def _is_idle(self) -> bool:
        return True


class NoAnnouncementByGuard(aio._FencedEventLoop):
    """Another one: it looks once more, and its guard does not know of the sleep."""

    def _block(self, select: Any, timeout: float | None = None) -> Any:
        return select(timeout if self._is_idle() else 0)


TWINS = (NoSecondLook, NoAnnouncement, NoSend, NoSecondLookByGuard, NoAnnouncementByGuard)


class Watchdog(threading.Thread):
    """Wakes a loop when a wakeup was lost, and counts it.

    Args:
        loop: made by the thread that makes the watchdog, which is the one that will run it.
        calling: of each thread that calls the loop, whether it is in a call.
        look_s: seconds between two looks.
    """

    def __init__(self, loop: Any, calling: Iterable[bool], look_s: float = LOOK_S) -> None:
        super().__init__(daemon=True)
        self.loop, self.calling, self.look_s = loop, calling, look_s
        self.lost, self.ends = 0, threading.Event()
        self.task = Path(f"/proc/self/task/{threading.get_native_id()}")
        self.epoll = loop._selector.fileno()

    def run(self) -> None:
        before = None
        while not self.ends.wait(self.look_s):
            # The order counts: a call that is over when it is looked at has written by then, and
            # its write has made the loop run before the look at the sleep.
            is_left = bool(self.loop._ready) and not any(self.calling)
            sleep = self.sleep()
            if sleep is not None and sleep == before and is_left:
                self.lost += 1
                with contextlib.suppress(BlockingIOError):  # what fills it wakes the loop as well
                    self.loop._csock.send(b"\0")
            before = sleep

    def sleep(self) -> str | None:
        """Return how often the loop's thread had run when it fell asleep; None: it is awake.

        The kernel shows the arguments of a call only if the thread is blocked in it, and not when
        the thread runs or could run.  The loop waits in the call whose first argument is its epoll.
        """
        words = (self.task / "syscall").read_text().split()
        times_run = (self.task / "schedstat").read_text().split()[2]
        return times_run if len(words) == 9 and int(words[1], 16) == self.epoll else None


@dataclass(frozen=True)
class Outcome:
    """What a soak has seen."""

    calls: int
    lost: int
    sent: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.calls:,} calls, {self.lost} wakeups lost, {self.sent:,} system calls,"
            f" {self.seconds:.0f} s"
        )


def soak(
    make: type[aio.EventLoop], calls: int, *, debug: bool = False, seed: int = 0, enough: int = 3
) -> Outcome:
    """Make so many calls, or stop when enough wakeups have been lost."""

    chance = random.Random(seed)

    class Slow(make):  # type: ignore[misc, valid-type]
        """At times it lets others run between its look at the queue and its announcement."""

        @property
        def _selector(self) -> Any:  # the loop reads it in each turn, between the two
            if chance.random() < 0.1:
                time.sleep(0)
            return self._its_selector

        @_selector.setter
        def _selector(self, selector: Any) -> None:
            self._its_selector = selector

    loop = Slow()
    calling = [False] * THREADS
    dog = Watchdog(loop, calling)
    loop.set_debug(debug)
    turns = [threading.Semaphore(0) for _ in range(THREADS)]
    awaited = made = 0
    is_over = False
    numbers: list[int] = []

    def begin() -> None:
        nonlocal awaited, is_over
        is_over = made >= calls or dog.lost >= enough
        numbers[:] = [chance.randint(1, MOST) for _ in turns]
        awaited = sum(numbers)
        for turn in turns:
            turn.release()
        if is_over:
            loop.stop()

    def called() -> None:
        nonlocal awaited, made
        made += 1
        awaited -= 1
        if not awaited:
            begin()

    def call(me: int) -> None:
        while turns[me].acquire() and not is_over:
            calling[me] = True
            for _ in range(numbers[me]):
                loop.call_soon_threadsafe(called)
            calling[me] = False

    threads = [threading.Thread(target=call, args=[me], daemon=True) for me in range(THREADS)]
    begun, interval = time.monotonic(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns between as many steps as they can
    try:
        with contextlib.closing(loop):
            loop.call_soon(begin)
            for thread in (dog, *threads):
                thread.start()
            loop.run_forever()
            dog.ends.set()
            for thread in (dog, *threads):
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    return Outcome(made, dog.lost, loop.statistics().sent, time.monotonic() - begun)


def main() -> int:
    """Soak the loop, then each twin for a tenth of the calls; return the exit code."""
    calls = int(float(sys.argv[1]))
    found = soak(aio.EventLoop, calls, seed=time.time_ns())
    print(f"{'EventLoop':22}{found}", flush=True)
    failed = found.lost > 0
    for twin in TWINS:
        found = soak(twin, calls // 10)
        print(f"{twin.__name__:22}{found}", flush=True)
        failed |= not found.lost
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
