# SPDX-License-Identifier: Apache-2.0
"""Tasks of strategies that count their fates, and the pools for them."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import get_args

import wakeproof
from wakeproof import CarrierGroup, QueuedThreadPool, VirtualThreadPool
from wakeproof.strategy import Kind, Mode

MODES: tuple[Mode, ...] = get_args(Mode)
KINDS: tuple[Kind, ...] = get_args(Kind)


@contextmanager
def virtual() -> Iterator[Executor]:
    with CarrierGroup(2, work_stealing=True) as group, VirtualThreadPool(4, group=group) as pool:
        yield pool


POOLS: dict[str, Callable[[], AbstractContextManager[Executor]]] = {
    "virtual": virtual,
    "queued": lambda: QueuedThreadPool(4, min_threads=2),
    "of Python": lambda: ThreadPoolExecutor(4),
}


class Tasks:
    """Tasks that count their runs, and find out if two threads produce."""

    def __init__(self, count: int = 0) -> None:
        self.left = deque(range(count))
        self.ran: Counter[int] = Counter()
        self.lost: Counter[int] = Counter()
        self.failed: list[tuple[object, BaseException]] = []
        self.alone = threading.Lock()
        self.calls = 0

    def produce(self) -> Callable[[], None] | None:
        assert self.alone.acquire(blocking=False)
        try:
            self.calls += 1
            return Task(self, self.left.popleft()) if self.left else None
        finally:
            self.alone.release()

    def told(self, task: object, error: BaseException) -> None:
        self.failed.append((task, error))


class Task:
    """One of them."""

    def __init__(self, tasks: Tasks, number: int) -> None:
        self.tasks, self.number = tasks, number

    def __call__(self) -> None:
        if self.number % 8 == 0:
            wakeproof.sleep(0.0001)
        self.tasks.ran[self.number] += 1
        if self.number % 16 == 0:
            raise KeyError(self.number)

    def close(self) -> None:
        self.tasks.lost[self.number] += 1
