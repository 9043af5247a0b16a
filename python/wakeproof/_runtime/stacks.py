# SPDX-License-Identifier: Apache-2.0
"""The stacks of virtual threads: the Python frames of a parked thread, and of running threads.

The frames of a parked thread are read between two reads of its state word, as the kernel's dump
does.  Garbage collection is switched off meanwhile.  Python 3.11 may collect garbage while it makes
a frame object, and so let another thread run, which ends the frame; the process then crashes.
Without the GIL the thread is held meanwhile: it begins no step until its frames are read.

Frames of running threads are CPython's own objects where the GIL lets one thread run at a time.
Without it they change while they are read, and reading them may crash.  There all other threads
stand still while ``own.frames`` copies what their frames tell.
Spec: ``specs/inspect/Dump.tla`` (StackIsWhole).  Source: ``kernel/thread/snapshot.h``.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from wakeproof._native.ffi import lib
from wakeproof._runtime import core, here, plain_core, trampoline
from wakeproof._runtime.brief import HAS_GIL

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from wakeproof.vthread import VirtualThread

try:
    from wakeproof._native import own
except ImportError:
    own = None  # type: ignore[assignment]

Stack = tuple[tuple["CodeType", int], ...]
DEPTH = 64  # the most frames of one stack, from the innermost
_STATE, _LOOKS = 11, 4  # a mask of kernel/thread/vthread.h; attempts to read a thread that runs
_alone = threading.RLock()  # held while collection is off; a signal handler may dump
_is_off = False  # whether collection is off for this module
_OUTER: tuple[CodeType, ...] = ()  # where the user's frames end; in C there is no such frame
if not core.IN_C:
    _OUTER = plain_core._body.__code__, plain_core.first_step.__code__


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep garbage from being collected while frames are read."""
    global _is_off
    with _alone:
        was_enabled = sys.version_info < (3, 12) and gc.isenabled()
        if was_enabled:
            _is_off = True
            gc.disable()
        try:
            yield
        finally:
            if was_enabled:
                gc.enable()
                _is_off = False


def _forked() -> None:
    """Undo in a forked child what another OS thread of the parent was about to undo."""
    global _alone, _is_off
    _alone = threading.RLock()
    if _is_off:
        gc.enable()
        _is_off = False


os.register_at_fork(after_in_child=_forked)


def of_frames(frame: FrameType | None) -> Stack:
    """Return the user's frames from this one outwards."""
    found: list[tuple[CodeType, int]] = []
    while frame is not None and len(found) < DEPTH and frame.f_code not in _OUTER:
        if frame.f_globals.get("__name__") not in trampoline._OURS:
            found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def _of_coroutine(waits: Any) -> Stack:
    """Return the frames of a coroutine and of what it awaits, the innermost first."""
    found: list[tuple[CodeType, int]] = []
    while waits is not None and len(found) < DEPTH:
        kind = "gi" if hasattr(waits, "gi_frame") else "cr"
        frame = getattr(waits, f"{kind}_frame", None)
        if frame is not None:
            found.append((frame.f_code, frame.f_lineno))
        waits = getattr(waits, "gi_yieldfrom" if kind == "gi" else "cr_await", None)
    return tuple(reversed(found))


def parked(thread: VirtualThread) -> Stack | None:
    """Return the frames of a parked thread, innermost first; None if it does not stay parked."""
    for _ in range(_LOOKS):
        seen = thread._tell(lib.wp__dump_look)
        if seen is None or seen & _STATE:
            return None
        if not thread._hold():
            continue
        try:
            with uncollected():
                found = _now(thread)
        finally:
            thread._release()
        if thread._tell(lib.wp__dump_is_still, seen):
            return found
    return None


def _now(thread: VirtualThread) -> Stack:
    coroutine, body = thread._coroutine, getattr(thread, "_greenlet", None)
    if coroutine is not None:
        return _of_coroutine(coroutine)
    return of_frames(None if body is None else body.gr_frame)


class _Copy(NamedTuple):
    """What a frame of a thread that runs told at one moment: as a frame object tells it."""

    f_code: CodeType
    f_lasti: int
    f_lineno: int
    f_globals: dict[str, Any]
    f_locals: dict[str, Any]
    f_back: FrameType | None


def of_os_threads(ident: int = 0) -> dict[int, FrameType]:
    """Return the frame that each OS thread runs, by ident; `f_locals` is told of this one only."""
    if HAS_GIL:
        return sys._current_frames()
    return {of: frame for of, _, frame in _copies(ident)}


def _copies(ident: int = 0) -> Iterator[tuple[int, int, FrameType]]:
    """Yield, without the GIL: OS thread, the virtual thread's key in `threads` or 0, frame."""
    for of, number, stack in () if own is None else own.frames(ident):
        frame: FrameType | None = None
        for code, instruction, line, names, values in reversed(stack):
            frame = cast("FrameType", _Copy(code, instruction, line, names, values, frame))
        if frame is not None:
            yield of, number, frame


def running() -> dict[int, Stack]:
    """Return the frames of the threads that carriers run, or in which they sleep, by number."""
    with uncollected():
        return {thread._number: of_frames(frame) for thread, frame in _running()}


def _running() -> Iterator[tuple[VirtualThread, FrameType]]:
    # where there is no thread, the step is about to begin, or has just ended
    if not HAS_GIL and core.IN_C:  # one look sees both
        for _, number, frame in _copies():
            if (thread := here.threads.get(number)) is not None:
                yield thread, frame
        return
    threads = core.running_threads()
    for ident, frame in of_os_threads().items():
        by_ident = core.IN_C or not HAS_GIL
        if (one := threads.get(ident) if by_ident else _found(frame)) is not None:
            yield one, frame


def _found(frame: FrameType) -> VirtualThread | None:
    """Return the thread whose step has this frame, if steps are Python's."""
    outer: FrameType | None = frame
    while outer is not None and outer.f_code not in _OUTER:
        outer = outer.f_back
    return None if outer is None else outer.f_locals.get("thread")
