# SPDX-License-Identifier: Apache-2.0
"""Let the blocking calls of Python's standard library park in virtual threads: `install`.

Source: ``_runtime/stdlib/``, a file for each area; ``_native/exchange.c``, ``_native/own.c``.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from typing import Literal, get_args

from wakeproof._runtime import stdlib
from wakeproof._runtime.stdlib.replacement import Replacement
from wakeproof._runtime.stdlib.threads import alive
from wakeproof.errors import PartlyInstalledWarning, StateError, UsageError

Threads = Literal["os", "virtual"]
"""What ``threading.Thread`` starts."""

_lock = threading.RLock()
_done: list[Replacement] = []
_threads: Threads | None = None  # None: not installed


def install(*, threads: Threads = "os") -> None:
    """Let blocking calls of Python's standard library park when a virtual thread makes them.

    A virtual thread (`VirtualThread`) that calls ``time.sleep``, say, then leaves its carrier, the
    OS thread that runs it, to other virtual threads.  In OS threads all calls do what they always
    did.  Functions and methods that are written in C are exchanged in their definitions, so names
    that were imported before, and objects that were made before, park as well.  A second call of
    `install` does nothing.

    Args:
        threads: "os", the default: ``threading.Thread`` starts OS threads, as always.  "virtual":
            it starts virtual threads of `default_group`.

    Threads: any thread may call it.

    Raises:
        UsageError: `threads` is something else.
        StateError: it is installed with another value of `threads`.

    Warns:
        PartlyInstalledWarning: this build or this Python lacks what a name needs; the warning lists
            the names that still block.

    Example:
        >>> import time
        >>> from wakeproof import CarrierGroup, VirtualThread, install, uninstall
        >>> install()
        >>> with CarrierGroup(1) as group:
        ...     begin = time.monotonic()
        ...     for thread in [VirtualThread(time.sleep, 0.1, group=group).start() for _ in "ab"]:
        ...         thread.result()
        ...     time.monotonic() - begin < 0.19
        True
        >>> uninstall()
    """
    global _threads
    if threads not in get_args(Threads):
        allowed = ", ".join(map(repr, get_args(Threads)))
        raise UsageError(f"threads is {threads!r}; allowed: {allowed}")
    with _lock:
        if _threads not in (None, threads):
            raise StateError(
                f"install: threads is {threads!r}, but it is installed with {_threads!r}; "
                "call uninstall() first"
            )
        if _threads is None:
            _install(threads)
            _threads = threads


def uninstall() -> None:
    """Undo `install`; without an `install` before, do nothing.

    Virtual threads that wait in a call at that moment stay parked, and are woken as they would have
    been.

    Threads: any thread may call it.

    Raises:
        StateError: a ``threading.Thread`` runs as a virtual thread; join it first.

    Example:
        >>> from wakeproof import is_installed, uninstall
        >>> uninstall()
        >>> is_installed()
        False
    """
    global _threads
    with _lock:
        running = [one.name for one in alive]
        if running:
            raise StateError(f"uninstall: {running[0]} runs as a virtual thread; join it first")
        _undo()
        _threads = None


def is_installed() -> bool:
    """Return whether `install` is in effect.

    Threads: any thread may call it.

    Example:
        >>> from wakeproof import install, is_installed, uninstall
        >>> install()
        >>> is_installed()
        True
        >>> uninstall()
    """
    return _threads is not None


def _each(threads: Threads) -> Iterator[Replacement]:
    for area in stdlib.areas():
        yield from area.replacements()
        if threads == "virtual" and hasattr(area, "virtual"):
            yield from area.virtual()


def _install(threads: Threads) -> None:
    lacking = []
    try:
        for one in _each(threads):
            try:
                one.install()
            except TypeError:
                lacking.append(repr(one))
            else:
                _done.append(one)
    except BaseException:
        _undo()
        raise
    if lacking:
        warnings.warn(
            f"install: in this build of wakeproof these still block: {', '.join(lacking)}; "
            "they need CPython's headers when wakeproof is built (Debian: apt install python3-dev)",
            PartlyInstalledWarning,
            stacklevel=3,
        )


def _undo() -> None:
    while _done:
        _done.pop().uninstall()
