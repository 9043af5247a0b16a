# SPDX-License-Identifier: Apache-2.0
"""Numbers of which each is given once, also to threads that ask at the same time.

``itertools.count`` gives them with the GIL, and since Python 3.14 without it.
"""

from __future__ import annotations

import itertools
import sys
import sysconfig
import threading
from collections.abc import Iterator


class _Locked:
    """Counts under a lock."""

    def __init__(self, start: int) -> None:
        self._lock, self._next = threading.Lock(), start

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        with self._lock:
            self._next += 1
            return self._next - 1


def numbered(start: int = 1) -> Iterator[int]:
    """Return an iterator over `start`, the number after it and so on, for any thread."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info < (3, 14):
        return _Locked(start)
    return itertools.count(start)
