# SPDX-License-Identifier: Apache-2.0
"""Ends a run whose thread does not come to a synchronisation point: it loops, or C code blocks it.

An OS thread looks now and then whether the steps of the runs go on.  If not, it raises an exception
in the thread that makes the runs.  In the main thread, which alone handles signals, a signal does
so, because it also ends a system call in which C code waits.  While C code goes on all the same, it
prints where.
"""

from __future__ import annotations

import _thread
import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType

from wakeproof._runtime.stacks import of_os_threads
from wakeproof._runtime.stdlib.replacement import exchange
from wakeproof.errors import JudgeError
from wakeproof.judge.schedules import waits
from wakeproof.judge.schedules.execution import Run

AFTER_S = 5.0
_EVERY_S = 0.5
_SIGNAL = signal.SIGURG  # the system ignores it where nobody handles it

aside: Callable[[], AbstractContextManager[None]] = nullcontext
"""What is printed meanwhile is seen at once; under pytest it is not captured."""
_run: Run | None = None
_count = 0  # of runs
_is_due = False  # the signal shall raise


class StalledError(JudgeError):
    """A thread of the program does not come to a synchronisation point."""

    def __str__(self) -> str:
        return _said[-1] if _said else "schedules: no synchronisation point"


_said: list[str] = []


def begins(run: Run) -> None:
    """Note the run that begins."""
    global _run, _count
    _run, _count = run, _count + 1


@contextmanager
def watched() -> Iterator[None]:
    """Watch the calling thread meanwhile."""
    global _run
    ident = exchange.original(_thread.get_ident)()
    ended = _thread.allocate_lock()
    ended.acquire()
    handles = ident == threading.main_thread().ident and signal.getsignal(_SIGNAL) in _UNHANDLED
    if handles:
        before = signal.signal(_SIGNAL, _raise_if_due)
    _thread.start_new_thread(_watch, (ident, ended, _send if handles else _raise_in))
    try:
        yield
    finally:
        ended.release()
        _run = None
        if handles:
            signal.signal(_SIGNAL, before)


_UNHANDLED = (signal.SIG_DFL, signal.SIG_IGN)


def _raise_if_due(_number: int, _frame: FrameType | None) -> None:
    global _is_due
    if _is_due:
        _is_due = False
        raise StalledError


def _send(ident: int) -> None:
    global _is_due
    _is_due = True
    signal.pthread_kill(ident, _SIGNAL)


def _raise_in(ident: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(ident), ctypes.py_object(StalledError)
    )


def _watch(ident: int, ended: _thread.LockType, stop: Callable[[int], None]) -> None:
    seen, for_s, raised = (-1, -1), 0.0, False
    while not ended.acquire(timeout=_EVERY_S):
        now = (_count, _run.steps if _run is not None else 0)
        for_s = for_s + _EVERY_S if now == seen else 0.0
        raised = raised and now == seen
        seen = now
        if for_s >= AFTER_S and not raised:
            frame = _user_frame(ident)
            if frame is not None:
                at = f"at {waits.where(frame)}: {waits.source(frame)!r}"
            else:
                at = f"in {_run.current.name if _run else 'the test'}, which is in no line of yours"
            _said.append(
                f"schedules: no synchronisation point for {AFTER_S:.0f} s {at}; "
                "a loop without one (try data=True), or C code that waits"
            )
            stop(ident)
            raised = True
        elif for_s >= 2 * AFTER_S:
            with aside():
                sys.stderr.write(f"\nwakeproof: {_said[-1]}\n")
            for_s = 0.0


def _user_frame(ident: int) -> FrameType | None:
    frame = of_os_threads().get(ident)
    while frame is not None and not waits.is_of_user(frame.f_code):
        frame = frame.f_back
    return frame
