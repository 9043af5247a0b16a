# SPDX-License-Identifier: Apache-2.0
"""Virtual threads that share a buffered file take turns: ``io.BufferedReader`` and the others.

A buffered file has a lock in C, which knows OS threads only.  While a virtual thread is parked in a
call, a second one on the same carrier would get a RuntimeError (*reentrant call*), and one on
another carrier would block that.  So a virtual thread takes a lock that parks before it makes the
call.  A call of the thread that is inside already, as from a signal handler, still gets the
RuntimeError.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from typing import Any

from wakeproof._runtime import trampoline
from wakeproof._runtime.stdlib.replacement import Function, Replacement

_NAME = "_wakeproof_turn"
_READS = ("peek", "read", "read1", "readinto", "readinto1", "readline")
_WRITES = ("flush", "write")
_BOTH = ("close", "seek", "truncate")  # as the others, these take the lock in C
_OF = {
    io.BufferedReader: (*_READS, *_BOTH),
    io.BufferedWriter: (*_WRITES, *_BOTH),
    io.BufferedRandom: (*_READS, *_WRITES, *_BOTH),
}


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    for kind, names in _OF.items():
        for name in names:
            yield Function(kind, name, _in_turn)


def _in_turn(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **named: Any) -> Any:
        if trampoline.parks() is None:
            return original(self, *args, **named)
        turn = self.__dict__.get(_NAME)
        if turn is None:
            turn = self.__dict__.setdefault(_NAME, threading.RLock())
        with turn:
            return original(self, *args, **named)

    return call
