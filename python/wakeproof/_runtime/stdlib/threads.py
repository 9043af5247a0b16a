# SPDX-License-Identifier: Apache-2.0
"""A virtual thread parks in ``threading.Thread.join``; and a Thread may be a virtual thread.

An OS thread's end releases a lock (from 3.13 on: sets an event) in C, which no virtual thread can
wait for in line.  So a joiner waits until the thread has left `threading`, and then, while C ends
it, sleeps for short times.

With ``install(threads="virtual")`` ``Thread.start`` begins a virtual thread of `default_group`,
with the Thread's own methods running there: names, daemons, ``excepthook``, `enumerate` and `join`
are those of `threading`.  `start` does not wait until the virtual thread runs.

Source: this file.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from wakeproof._runtime.os_threads import is_os
from wakeproof._runtime.signal import Signal
from wakeproof._runtime.stdlib.names import HANDLE, Handle, ident_of
from wakeproof._runtime.stdlib.replacement import Attribute, Function, Replacement
from wakeproof.default import default_group
from wakeproof.parking import sleep
from wakeproof.vthread import VirtualThread

_LEAST_S, _MOST_S = 50e-6, 0.01  # of one sleep, while C ends an OS thread
_limbo: dict[Any, Any] = vars(threading)["_limbo"]
_active: dict[int, threading.Thread] = vars(threading)["_active"]
_ends: dict[threading.Thread, Signal] = {}  # of OS threads for which virtual threads wait
alive: set[threading.Thread] = set()  # that are virtual, and have not ended


# ---- the join of an OS thread ----


def _joins(old: Callable[..., None]) -> Callable[..., None]:
    def join(self: Any, timeout: float | None = None) -> None:
        until = None if timeout is None else time.monotonic() + timeout
        if _is_to_end(self) and not _has_ended(self, until):
            return
        old(self, None if until is None else max(0, until - time.monotonic()))

    return join


def _is_to_end(thread: Any) -> bool:
    """Return whether it is an OS thread for which the caller may wait."""
    return not (
        not getattr(thread, "_initialized", False)
        or not thread._started.is_set()
        or thread in alive
        or thread is threading.current_thread()
        or isinstance(thread, threading._DummyThread)
    )


def _has_ended(thread: threading.Thread, until: float | None) -> bool:
    """Wait for the end; return False if the time ran out."""
    pause_s = _LEAST_S
    while thread.is_alive():
        rest_s = None if until is None else until - time.monotonic()
        if rest_s is not None and rest_s <= 0:
            return False
        if _is_known(thread) and thread is not threading.main_thread():
            end = _ends.setdefault(thread, Signal())
            if _is_known(thread):  # else it has left just before
                end.wait(rest_s)
            continue
        sleep(pause_s if rest_s is None else min(pause_s, rest_s))
        pause_s = min(2 * pause_s, _MOST_S)
    return True


def _is_known(thread: threading.Thread) -> bool:
    return thread in _limbo or _active.get(thread.ident or 0) is thread


def _deletes(old: Callable[[Any], None]) -> Callable[[Any], None]:
    def delete(self: Any) -> None:
        old(self)
        end = _ends.pop(self, None)
        if end is not None:
            end.set()

    return delete


# ---- a Thread that is virtual ----


def _begin(thread: Any, bootstrap: Callable[[], None]) -> None:
    """Start the virtual thread of a Thread.

    Raises:
        ClosedError: the default group is closed.
    """
    of = VirtualThread(bootstrap, name=thread.name, group=default_group())
    before = dict(vars(thread))
    thread._ident = ident_of(of)
    alive.add(thread)
    if sys.version_info >= (3, 13):
        setattr(thread, HANDLE, Handle(of))
    else:
        thread._tstate_lock = lock = threading.Lock()
        lock.acquire()
        thread._set_tstate_lock = _nothing  # as it is set
        if not thread.daemon:
            with threading._shutdown_locks_lock:  # type: ignore[attr-defined]
                threading._shutdown_locks.add(lock)  # type: ignore[attr-defined]
        of._done.call(lock.release)
    of._done.call(lambda: alive.discard(thread), is_first=True)
    try:
        of._start(contextvars.Context())  # empty, as that of a new OS thread
    except BaseException:
        alive.discard(thread)
        if sys.version_info < (3, 13):
            lock.release()
        vars(thread).clear()
        vars(thread).update(before)
        raise
    thread._started.set()


def _nothing() -> None:
    """Stand in for a method of a Thread."""


def _starts(old: Callable[..., Any]) -> Callable[..., Any]:
    """Return what starts a Thread: of 3.11 and 3.12, with its arguments; of later ones by names."""

    def start(bootstrap: Any, *args: Any, **named: Any) -> Any:
        if is_os.get():
            return old(bootstrap, *args, **named)
        return _begin(bootstrap.__self__, bootstrap)

    return start


def _shuts_down(old: Callable[[], None]) -> Callable[[], None]:
    """Wait for the threads that are no daemons, at the end of the interpreter of 3.13 and later."""

    def shut_down() -> None:
        while waited := [one for one in list(alive) if not one.daemon]:
            for one in waited:
                one.join()
        old()

    return shut_down


def _forked() -> None:
    """Forget the threads that a forked child does not have."""
    mine = threading.get_ident()
    alive.intersection_update([one for one in alive if one.ident == mine])
    for one in alive:
        if sys.version_info >= (3, 13):
            vars(one)[HANDLE].forked()


os.register_at_fork(after_in_child=_forked)


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    yield Function(threading.Thread, "join", _joins)
    yield Attribute(threading.Thread, "_delete", _deletes)


def virtual() -> Iterator[Replacement]:
    """Yield what ``threads="virtual"`` replaces."""
    if sys.version_info >= (3, 13):
        yield Attribute(threading, "_start_joinable_thread", _starts)
        yield Attribute(threading, "_thread_shutdown", _shuts_down)
    else:
        yield Attribute(threading, "_start_new_thread", _starts)
