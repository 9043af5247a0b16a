# SPDX-License-Identifier: Apache-2.0
"""The start of another producer: it begins only once, also if the pool calls it twice.

Source: ``kernel/pool/strategy.h``, ``strategy.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Came:
    """The callable that a pool is given to start a producer.

    An executor may call it immediately, inside the start.  The starter already holds a produced
    task; a producer that ran inside of the starter would delay that task behind all others.  So in
    that case the callable only notes that it was called.
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
        """End the start without producing, unless it has run: the pool has cancelled the call."""
        if not self.has_come:
            here.is_withdrawn = True
            try:
                self()
            finally:
                here.is_withdrawn = False


class _Here(threading.local):
    is_withdrawn = False


here = _Here()
