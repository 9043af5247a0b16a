# SPDX-License-Identifier: Apache-2.0
"""The start of another producer: it begins once, whatever the pool does.

Source: ``kernel/pool/strategy.h``, ``strategy.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Came:
    """The callable that a pool is given to start a producer.

    An executor may run it at once, inside the start.  The starter already holds a produced task,
    and running the new producer inline would nest it, and delay that task behind all others.  So in
    that case it only notes that it was called.
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
        """Return whether the producer runs elsewhere; if not, the start counts as refused.

        Call it after the pool has been given this object.
        """
        self.starter = None
        return not self.is_here

    def withdraw(self, _: Future[Any]) -> None:
        """Run without producing, unless it has run: the pool has cancelled it."""
        if not self.has_come:
            here.is_withdrawn = True
            try:
                self()
            finally:
                here.is_withdrawn = False


class _Here(threading.local):
    is_withdrawn = False


here = _Here()
