# SPDX-License-Identifier: Apache-2.0
"""What the pools share with `concurrent.futures.ThreadPoolExecutor`, apart from its methods.

Each thread first calls the initializer.  If that fails, the pool is broken: calls that have not
begun fail, and so does each later submit.  `threading` knows the threads by name.

Source: this file.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable
from concurrent.futures.thread import BrokenThreadPool
from typing import Any, TypeVar

from wakeproof.carrier import checked
from wakeproof.errors import UsageError

T = TypeVar("T")
_LOGGER = logging.getLogger("concurrent.futures")  # the logger of Python's own pool
_FAILED = "A thread initializer failed, the thread pool is not usable anymore"


def either(name: str, value: T, other: str, same: T) -> T | None:
    """Return the value of an argument that has two names; None: it was not given.

    Raises:
        UsageError: both were given.
    """
    if value is not None and same is not None:
        raise UsageError(f"{name} and {other} are the same: give one of them")
    return same if value is None else value


def bound(given: object, most: int) -> int:
    """Return how many calls may run at the same time.

    Raises:
        UsageError: the number is out of range; the message is the one of Python's own pool.
    """
    if type(given) is int and given < 1:
        raise UsageError(f"max_workers must be greater than 0, is {given}; allowed: 1 to {most:,}")
    if type(given) is not int or given > most:
        raise UsageError(f"max_workers is {given!r}; allowed: 1 to {most:,}")
    return given


class Workers:
    """The names and the initializer of the threads of one pool.

    Raises:
        UsageError: the prefix is blank, or is not a str without NUL.
        TypeError: the initializer cannot be called.
    """

    def __init__(
        self, prefix: str, initializer: Callable[..., object] | None, arguments: tuple[Any, ...]
    ) -> None:
        if not isinstance(prefix, str) or not checked(prefix).strip():  # type: ignore[union-attr]
            raise UsageError(f"thread_name_prefix is {prefix!r}; allowed: a str without NUL")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._numbers = itertools.count()
        self.prefix, self.initializer, self.arguments = prefix, initializer, tuple(arguments)
        self.broken: str | None = None

    def name(self) -> str:
        """Return the name of the next thread."""
        return f"{self.prefix}_{next(self._numbers)}"

    def prepare(self) -> None:
        """Call the initializer, in a new thread."""
        if self.initializer is None or self.broken is not None:
            return
        try:
            self.initializer(*self.arguments)
        except BaseException:
            _LOGGER.critical("Exception in initializer:", exc_info=True)
            self.broken = _FAILED

    def check(self) -> None:
        """Raise BrokenThreadPool if the pool is broken."""
        if self.broken is not None:
            raise BrokenThreadPool(self.broken)


def enlist(name: str) -> None:
    """Make the calling OS thread, which `threading` has not started, known to it by its name."""
    threading.current_thread().name = name


def strike() -> None:
    """Remove the calling OS thread, which ends, from `threading`."""
    with threading._active_limbo_lock:  # type: ignore[attr-defined]
        threading._active.pop(threading.get_ident(), None)  # type: ignore[attr-defined]
