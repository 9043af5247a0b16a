# SPDX-License-Identifier: Apache-2.0
"""Where virtual threads are: the Python frames of one that is parked, and of those that run.

A parked one's frames are read between two looks at its word, as the kernel's dump does.  Python
3.11 may collect garbage while it makes a frame object, hence let another thread run, which ends the
frame: then it crashes.  So nothing is collected meanwhile.
Spec: ``specs/inspect/Dump.tla`` (StackIsWhole).  Source: ``kernel/thread/snapshot.h``.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import lib
from wakeproof._runtime import trampoline

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from wakeproof.vthread import VirtualThread

Stack = tuple[tuple["CodeType", int], ...]
DEPTH = 64  # frames of one stack, from where it is
_STATE, _LOOKS = 11, 4  # kernel/thread/vthread.h: a mask; looks at one that parks and goes on
_alone = threading.RLock()  # whoever has switched collection off; a signal handler may dump
_OUTER = (trampoline._body.__code__, trampoline._step.__code__)


@contextmanager
def _uncollected() -> Iterator[None]:
    with _alone:
        was_enabled = sys.version_info < (3, 12) and gc.isenabled()
        if was_enabled:
            gc.disable()
        try:
            yield
        finally:
            if was_enabled:
                gc.enable()


def _of_frames(frame: FrameType | None) -> Stack:
    found: list[tuple[CodeType, int]] = []
    while frame is not None and len(found) < DEPTH and frame.f_code not in _OUTER:
        if frame.f_globals.get("__name__") not in trampoline._OURS:
            found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def _of_coroutine(waits: Any) -> Stack:
    """Return frames of a coroutine and what it awaits, the innermost first."""
    found: list[tuple[CodeType, int]] = []
    while waits is not None and len(found) < DEPTH:
        kind = "gi" if hasattr(waits, "gi_frame") else "cr"
        frame = getattr(waits, f"{kind}_frame", None)
        if frame is not None:
            found.append((frame.f_code, frame.f_lineno))
        waits = getattr(waits, "gi_yieldfrom" if kind == "gi" else "cr_await", None)
    return tuple(reversed(found))


def parked(thread: VirtualThread) -> Stack | None:
    """Return its frames, the innermost first; None: it is not parked, or does not stay so."""
    for _ in range(_LOOKS):
        seen = thread._tell(lib.wp__dump_look)
        if seen is None or seen & _STATE:
            return None
        with _uncollected():
            found = _now(thread)
        if thread._tell(lib.wp__dump_is_still, seen):
            return found
    return None


def _now(thread: VirtualThread) -> Stack:
    coroutine, body = thread._coroutine, getattr(thread, "_greenlet", None)
    if coroutine is not None:
        return _of_coroutine(coroutine)
    return _of_frames(None if body is None else body.gr_frame)


def running() -> dict[int, Stack]:
    """Return the frames of those that carriers run, or sleep with, by number."""
    found = {}
    with _uncollected():
        for frame in sys._current_frames().values():
            outer: FrameType | None = frame
            while outer is not None and outer.f_code not in _OUTER:
                outer = outer.f_back
            given = None if outer is None else outer.f_locals.get("thread")
            if given is not None:  # else it is not there yet, or no more
                found[given._number] = _of_frames(frame)
    return found
