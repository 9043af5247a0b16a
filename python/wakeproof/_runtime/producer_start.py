# SPDX-License-Identifier: Apache-2.0
"""Who was started to produce: it comes once, whatever the pool does.

Source: ``kernel/pool/strategy.h``, ``strategy.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Came:
    """What a pool is given to run.

    It does not come from inside the start, where an executor runs what it is given at once: who
    starts it has a task in its hands, and would run that after all others, one inside the other.
    """

    def __init__(self, come: Callable[[], None]) -> None:
        self.come, self.has_come, self.is_here = come, False, False
        self.starter: int | None = threading.get_ident()

    def __call__(self) -> None:
        self.has_come = True
        if self.starter == threading.get_ident():
            self.is_here = True
        else:
            self.come()

    def is_elsewhere(self) -> bool:
        """Whether it comes, now that it was given: else the start is as one that was refused."""
        self.starter = None
        return not self.is_here

    def withdraw(self, _: Future[Any]) -> None:
        """Come, and produce nothing, unless it has come: the pool has cancelled it."""
        if not self.has_come:
            here.is_withdrawn = True
            try:
                self()
            finally:
                here.is_withdrawn = False


class _Here(threading.local):
    is_withdrawn = False


here = _Here()
