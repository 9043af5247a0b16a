# SPDX-License-Identifier: Apache-2.0
"""Development mode: an OS thread that reports carriers which stand still, and deadlocks.

A carrier is an OS thread that runs virtual threads.  While a virtual thread waits in a call that
does not park, or computes, its carrier *stands still*, and delays all other threads of that
carrier.  The watchdog prints where, once for each place, and what to call instead.  It stops
nothing.

It is on if WAKEPROOF_DEBUG is 1, after `watch`, and under pytest, where wakeproof's plugin
switches it on unless WAKEPROOF_DEBUG is set.  WAKEPROOF_DEBUG_LIMIT_MS is the limit in
milliseconds, default 100.

How it finds them: it looks at what the carriers run, twice within the limit.  If it sees one and
the same step for as long as the limit, it reports that step.  So a step that takes one and a half
times the limit is always found, and one that takes less than the limit never is.

Source: this file, ``_runtime/standstill.py``, ``_runtime/deadlock.py``.

Example:
    >>> import wakeproof
    >>> wakeproof.watch(limit_s=0.5)
    >>> wakeproof.unwatch()
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from wakeproof.errors import UsageError

if TYPE_CHECKING:
    from wakeproof._runtime.standstill import Looks

LIMIT_S = 0.1
_DEADLOCK_S = 1.0  # between two looks for a deadlock
Report = Callable[[str], object]


def to_stderr(text: str) -> None:
    """Write a report to stderr at once."""
    sys.stderr.write(text)
    sys.stderr.flush()


class _Watchdog:
    """The OS thread, and what it was told."""

    def __init__(self, limit_s: float, report: Report) -> None:
        self.limit_s, self.report = limit_s, report
        # Imported here and not above, because `import wakeproof` must not load the bindings; and
        # not only in the new thread, because a fork during an import leaves its lock taken.
        from wakeproof._runtime import deadlock, standstill  # noqa: F401

        self._ends = threading.Event()
        self.thread = threading.Thread(target=self._run, name="wakeproof-watchdog", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        from wakeproof._runtime import deadlock, standstill
        from wakeproof._runtime.waiting import harmless

        def report(text: str) -> None:
            harmless.discard(me)  # meanwhile it runs a user's function
            try:
                self.report(text)
            finally:
                harmless.add(me)

        looks: Looks = standstill.Looks(self.limit_s, report)
        proof, since, me = deadlock.Search(report), 0.0, threading.get_ident()
        harmless.add(me)
        try:
            while not self._ends.wait(self.limit_s / 2):
                looks.look()
                since += self.limit_s / 2
                if since >= _DEADLOCK_S:
                    since = 0.0
                    proof.look()
        finally:
            looks.close()
            harmless.discard(me)

    def end(self) -> None:
        self._ends.set()
        self.thread.join()


_lock = threading.Lock()
_running: _Watchdog | None = None
_default: Report | None = None  # of the pytest plugin: on, unless WAKEPROOF_DEBUG is set
_is_read = False  # whether the variables of the environment were read


def watch(limit_s: float = LIMIT_S, report: Report = to_stderr) -> None:
    """Report carriers that stand still, and deadlocks, from now on.

    A second call changes the limit and the receiver, and forgets which places were reported.

    Args:
        limit_s: seconds, more than 0: how long one step of a virtual thread or task may take.
        report: is called with the text of each report, in the watchdog's OS thread; default: the
            text is written to stderr.

    Threads: any thread may call it.

    Raises:
        UsageError: `limit_s` is not a number above 0, or `report` cannot be called.

    Example:
        >>> import threading, time, wakeproof
        >>> texts, came = [], threading.Event()
        >>> wakeproof.watch(0.05, lambda text: (texts.append(text), came.set()))
        >>> with wakeproof.CarrierGroup(1) as group:
        ...     thread = wakeproof.VirtualThread(time.sleep, 0.3, group=group).start()
        ...     came.wait(60)
        True
        >>> wakeproof.unwatch()
        >>> "wakeproof.sleep" in texts[0]
        True
    """
    if isinstance(limit_s, bool) or not isinstance(limit_s, int | float) or not limit_s > 0:
        raise UsageError(f"limit_s is {limit_s!r}; allowed: seconds, more than 0")
    if not callable(report):
        raise UsageError(f"report is {report!r}; allowed: a callable that takes a str")
    global _running, _is_read
    with _lock:
        _is_read = True
        if _running is not None:
            _running.end()
        _running = _Watchdog(limit_s, report)


def unwatch() -> None:
    """Report nothing any more; the watchdog's OS thread has ended when this returns.

    Without a `watch` before it, it does nothing but switch off what WAKEPROOF_DEBUG would begin.

    Threads: any thread may call it, except that a `report` must not.

    Example:
        >>> import wakeproof
        >>> wakeproof.unwatch()
    """
    global _running, _is_read
    with _lock:
        _is_read, watchdog, _running = True, _running, None
    if watchdog is not None:
        watchdog.end()


def by_default(report: Report) -> None:
    """Switch it on at the first group, unless WAKEPROOF_DEBUG says whether it is on."""
    global _default
    _default = report


def begin() -> None:
    """Start it if the environment asks for it; each new group calls this.

    Raises:
        UsageError: WAKEPROOF_DEBUG or WAKEPROOF_DEBUG_LIMIT_MS has a bad value.
    """
    global _is_read
    if _is_read:
        return
    from wakeproof import config  # imported late: it imports the bindings

    limit_ms = config.number("debug.limit_ms", config.MAX_MONITOR_MS)
    is_on = config.switch("debug") if os.environ.get("WAKEPROOF_DEBUG") else _default is not None
    _is_read = True
    if is_on:
        watch(limit_ms / 1000 if limit_ms else LIMIT_S, _default or to_stderr)


def _forget() -> None:
    """Forget the watchdog, which a forked child has not; its first group starts one."""
    global _running, _is_read, _lock
    if _running is not None:
        _running, _is_read = None, False
    _lock = threading.Lock()


atexit.register(unwatch)
os.register_at_fork(after_in_child=_forget)
