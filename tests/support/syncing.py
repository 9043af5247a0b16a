# SPDX-License-Identifier: Apache-2.0
"""Threads of each kind for tests of mutex, condition, semaphore and channel."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.support.virtual import PATIENCE_S

from wakeproof import CarrierGroup, VirtualThread


class Worker:
    """Runs `fn` as a virtual thread, a coroutine's or an OS thread."""

    def __init__(self, group: CarrierGroup, kind: str, fn: Callable[[], object]) -> None:
        self.virtual = VirtualThread(fn, group=group) if kind != "os" else None
        self.os = threading.Thread(target=fn, daemon=True) if kind == "os" else None
        (self.virtual or self.os).start()  # type: ignore[union-attr]

    def end(self) -> None:
        if self.virtual is not None:
            self.virtual.result(PATIENCE_S)
        if self.os is not None:
            self.os.join(PATIENCE_S)
            assert not self.os.is_alive()


KINDS = ("virtual", "os", "coroutine")
