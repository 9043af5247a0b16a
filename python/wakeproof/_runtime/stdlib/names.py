# SPDX-License-Identifier: Apache-2.0
"""Each virtual thread has an identity of its own for `threading`: a number, and a Thread object.

``threading.get_ident()`` returns an odd number, which no OS thread has; so a lock, an import or an
event loop that remembers its thread by this number tells virtual threads of one carrier apart.
``threading.current_thread()`` returns an object with the virtual thread's name, as it returns a
dummy for an OS thread that `threading` has not started.  `threading` forgets it when the virtual
thread ends.  ``threading.get_native_id()`` stays that of the carrier's OS thread.

``signal.pthread_kill`` and ``time.pthread_getcpuclockid`` take the number of a virtual thread for
that of its carrier.  A name of them that was imported before does so in virtual threads only.

Source: ``_native/own.c``; this file.
"""

from __future__ import annotations

import _thread
import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial, wraps
from types import FrameType
from typing import Any

from wakeproof._runtime import known, line
from wakeproof._runtime.jobs import by_number
from wakeproof._runtime.stdlib.replacement import Attribute, Function, Replacement, exchange
from wakeproof.vthread import VirtualThread

HANDLE = "_handle" if sys.version_info < (3, 14) else "_os_thread_handle"
"""The attribute of a Thread of Python 3.13 and later with what it knows of its OS thread."""
_active: dict[int, threading.Thread] = vars(threading)["_active"]


def ident_of(thread: VirtualThread) -> int:
    """Return the number of a virtual thread, as ``threading.get_ident`` returns it there."""
    return 2 * thread._number + 1


def is_virtual(ident: object) -> bool:
    """Return whether this is the number of a virtual thread; those of OS threads are addresses."""
    return isinstance(ident, int) and ident % 2 == 1


class Handle:
    """What a Thread of Python 3.13 and later knows of its OS thread, for one that is virtual."""

    def __init__(self, of: VirtualThread) -> None:
        self._of, self._pid, self.ident = of, os.getpid(), ident_of(of)

    def is_done(self) -> bool:
        """Return whether the thread has ended; in a forked child all but its own thread have."""
        if self._pid != os.getpid():
            return threading.get_ident() != self.ident
        return not self._of.is_alive()

    def forked(self) -> None:
        """Belong to the forked child, because this is its own thread."""
        self._pid = os.getpid()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end of the thread."""
        if not self.is_done():
            self._of.join(timeout)

    def _set_done(self) -> None:
        """Do nothing: the virtual thread's own end says it."""


class ForeignThread(threading._DummyThread):
    """A virtual thread that `threading` has not started, as `threading` knows it."""

    def __init__(self, of: VirtualThread) -> None:
        self._of = of
        threading.Thread.__init__(self, daemon=False)  # what it starts is waited for
        self._started: threading.Event
        self._started.set()
        self._ident = ident_of(of)
        self._native_id = threading.get_native_id()
        if sys.version_info >= (3, 13):
            setattr(self, HANDLE, Handle(of))
        _active[self._ident] = self
        of._done.call(partial(_active.pop, self._ident, None), is_first=True)

    @property
    def _name(self) -> str:
        return self._of.name

    @_name.setter
    def _name(self, name: str) -> None:
        if vars(self).get("_initialized"):  # else it is the name that Python gives it
            self._of._name = str(name)

    def is_alive(self) -> bool:
        """Return whether the virtual thread has not ended."""
        return self._of.is_alive()

    def _after_fork(self, new_ident: int | None = None) -> None:
        """Belong to the forked child if this is its own thread, which then has a number.

        Python 3.13 and later call it.
        """
        if new_ident is not None:
            vars(self)[HANDLE].forked()
        vars(threading._DummyThread)["_after_fork"](self, new_ident)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end of the virtual thread.

        Raises:
            RuntimeError: the caller is this thread.
        """
        if threading.get_ident() == self._ident:
            raise RuntimeError("cannot join current thread")
        self._of.join(None if timeout is None else max(timeout, 0))


class _Identity(Replacement):
    """The number of the calling thread, in place."""

    def install(self) -> None:
        """Exchange it."""
        if not (line.IS_OWN and exchange and line.own.own_ident(self._get, True)):
            raise TypeError(f"{self!r} is not as known")

    def uninstall(self) -> None:
        """Put it back."""
        line.own.own_ident(self._get, False)

    @property
    def _get(self) -> Callable[[], int]:
        return _thread.get_ident


def _dummy(old: Callable[[Any], None]) -> Callable[[Any], None]:
    def begins(self: Any) -> None:
        ident = threading.get_ident()
        of = by_number(ident // 2) if is_virtual(ident) else None
        if of is None:
            old(self)
        else:
            self.__class__ = ForeignThread
            self.__init__(of)

    return begins


def _of_carrier(old: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that takes the number of an OS thread take that of a virtual thread."""

    @wraps(old)
    def takes(ident: int, *rest: Any) -> Any:
        return old(_carrier_of(ident) if is_virtual(ident) else ident, *rest)

    return takes


def _carrier_of(ident: int) -> int:
    """Return the number of the OS thread that runs this virtual thread, or will run it next.

    Raises:
        ProcessLookupError: there is no such virtual thread, or it has not begun.
    """
    of = by_number(ident // 2)
    group = None if of is None else of._group
    found = None if of is None or group is None else known.ident_of(group, of.home.name)
    if found is None:
        raise ProcessLookupError(errno.ESRCH, f"no virtual thread with the number {ident} runs")
    return found


def _with_mine(old: Callable[[], dict[int, FrameType]]) -> Callable[[], dict[int, FrameType]]:
    def frames() -> dict[int, FrameType]:
        return {**old(), threading.get_ident(): sys._getframe(1)}

    return frames


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    yield _Identity(_thread, "get_ident", lambda old: old)
    if not line.IS_OWN or exchange is None:
        return
    yield Attribute(threading._DummyThread, "__init__", _dummy)
    for owner, name in (signal, "pthread_kill"), (time, "pthread_getcpuclockid"):
        yield Function(owner, name, _of_carrier)  # where it was imported before
        yield Attribute(owner, name, _of_carrier)
    yield Function(sys, "_current_frames", _with_mine)
