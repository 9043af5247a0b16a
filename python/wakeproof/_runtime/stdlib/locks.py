# SPDX-License-Identifier: Apache-2.0
"""A virtual thread parks while it waits for a Lock of `threading`, or for an item of a SimpleQueue.

What `threading`, `queue` and `concurrent.futures` build on these locks parks as well: Condition,
Event, Semaphore, Barrier, Queue, futures.  RLock parks without `wakeproof.install`.

Virtual threads that stand in line at an `wakeproof.uninstall` stay there, and are woken as before:
methods that only wake are put back when the last one has left.

Source: ``_native/own.c``, ``_runtime/line.py``.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

from wakeproof._runtime import line
from wakeproof._runtime.stdlib.replacement import Replacement


class _Methods(Replacement):
    """The methods of a C type that wait and wake, in all threads, in place."""

    def __init__(self, kind: str, of: type) -> None:
        super().__init__(of, kind, lambda old: old)

    def install(self) -> None:
        """Exchange them."""
        if not line.IS_OWN or not line.own.put(self.name, self.owner):
            raise TypeError(f"{self!r} is not as known")

    def uninstall(self) -> None:
        """Put them back."""
        line.own.take_out(self.name)

    def __repr__(self) -> str:
        return self.name


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    yield _Methods("Lock", type(threading.Lock()))
    yield _Methods("SimpleQueue", queue.SimpleQueue)
