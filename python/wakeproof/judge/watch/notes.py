# SPDX-License-Identifier: Apache-2.0
"""Notes of who waits and who wakes in this Python process, for a test that hangs or fails.

Conditions of `threading` (so also its events, semaphores, barriers, and queues), conditions and
events of `asyncio`, and conditions of wakeproof take notes meanwhile.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

import wakeproof

_MOST: Final = 1000
_SETTLES_S: Final = 0.2
"""A waiter that was woken may take so long until it runs."""
_LIBRARIES: Final = ("threading", "asyncio", "queue", "concurrent", "wakeproof", "contextlib")
"""Where the code of a user is not."""
_FIRST: Final = ("_bootstrap", "_run")
"""Functions that call the first one of a thread, and of a task."""


@dataclass
class Wait:
    """One wait, from its begin until its end."""

    thing: object
    what: str  # the function that was called: "Queue.get"
    place: str
    who: str
    began_s: float
    ended_s: float | None = None
    was_woken: bool = False

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        return self.ended_s is not None


@dataclass(frozen=True)
class Wake:
    """One wake: of so many waits in progress."""

    thing: object
    what: str
    place: str
    who: str
    at_s: float
    most: int
    found: int


class Notes:
    """Takes notes between `begin` and `end`."""

    def __init__(self) -> None:
        self._waits: deque[Wait] = deque(maxlen=_MOST)
        self._wakes: deque[Wake] = deque(maxlen=_MOST)
        self._undo: list[tuple[type, str, Any]] = []

    def begin(self) -> None:
        """Replace the methods that wait and wake."""
        self._replace(threading.Condition, "wait", self._waiting)
        self._replace(threading.Condition, "notify", self._waking)
        for kind in (asyncio.Condition, asyncio.Event):
            self._replace(kind, "wait", self._awaiting)
        self._replace(asyncio.Condition, "notify", self._waking)
        self._replace(asyncio.Event, "set", self._waking_all)
        self._replace(wakeproof.Condition, "wait", self._waiting)
        self._replace(wakeproof.Condition, "notify", self._waking)
        self._replace(wakeproof.Condition, "notify_all", self._waking_all)

    def end(self) -> None:
        """Put the methods back."""
        while self._undo:
            setattr(*self._undo.pop())

    def forget(self) -> None:
        """Forget all wakes, and the waits that are over."""
        self._wakes.clear()
        self._waits = deque((one for one in self._waits if not one.is_over), _MOST)

    def lines(self) -> Iterator[str]:
        """Yield who waits, or has waited in vain, and what is known of the wakes of each."""
        alike: dict[tuple[str, str], list[Wait]] = {}
        for wait in list(self._waits):
            if not wait.was_woken:
                alike.setdefault((wait.who, wait.place), []).append(wait)
        for waits in alike.values():
            wait, many = waits[-1], len(waits)
            until = wait.ended_s or time.monotonic()
            yield (f"{wait.who} {'has waited' if wait.is_over else 'waits'} in {wait.what} at "
                   f"{wait.place}, for {until - wait.began_s:.2f} s"
                   + f", the last of {many} times" * (many > 1))  # fmt: skip
            if hint := self._hint(wait):
                yield f"  hint: it was {hint}"

    def _hint(self, wait: Wait) -> str:
        wakes = [one for one in list(self._wakes) if one.thing is wait.thing]
        until = wait.ended_s or time.monotonic() - _SETTLES_S
        for wake in wakes:
            if wait.began_s < wake.at_s < until and wake.most >= wake.found:
                return (f"woken {wake.at_s - wait.began_s:.2f} s after its wait began, and slept "
                        f"on: {wake.what} at {wake.place}, by {wake.who}")  # fmt: skip
        if wakes and wakes[-1].at_s < wait.began_s and wakes[-1].found == 0:
            last = wakes[-1]
            return (f"signalled to nobody {wait.began_s - last.at_s:.2f} s before its wait began: "
                    f"{last.what} at {last.place}, by {last.who}")  # fmt: skip
        return ""

    def _replace(self, kind: type, name: str, made: Callable[[Any], Any]) -> None:
        real = getattr(kind, name)
        self._undo.append((kind, name, real))
        setattr(kind, name, made(real))

    def _began(self, thing: object, frame: FrameType) -> Wait:
        wait = Wait(thing, *_called(thing, "wait", frame), _who(), time.monotonic())
        self._waits.append(wait)
        return wait

    def _waiting(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def wait(thing: object, *arguments: Any, **named: Any) -> Any:
            its = self._began(thing, sys._getframe())
            try:
                found = real(thing, *arguments, **named)
                its.was_woken = bool(found)
            finally:
                its.ended_s = time.monotonic()
            return found

        return wait

    def _awaiting(self, real: Callable[..., Any]) -> Callable[..., Any]:
        async def wait(thing: object) -> Any:
            its = self._began(thing, sys._getframe())
            try:
                found = await real(thing)
                its.was_woken = True
            finally:
                its.ended_s = time.monotonic()
            return found

        return wait

    def _waking(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def notify(thing: object, n: int = 1) -> Any:
            self._woke(thing, real.__name__, n, sys._getframe())
            return real(thing, n)

        return notify

    def _waking_all(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def wake_all(thing: object) -> Any:
            self._woke(thing, real.__name__, _MOST, sys._getframe())
            return real(thing)

        return wake_all

    def _woke(self, thing: object, name: str, most: int, frame: FrameType) -> None:
        found = sum(one.thing is thing and not one.is_over for one in list(self._waits))
        most = _MOST if most == 0 else most  # notify_all of threading passes how many wait
        self._wakes.append(
            Wake(thing, *_called(thing, name, frame), _who(), time.monotonic(), most, found)
        )


def _called(thing: object, name: str, ours: FrameType) -> tuple[str, str]:
    """Return the library's function that the code of a user has called, and where it did."""
    what, frame = f"{type(thing).__name__}.{name}", ours.f_back
    own = what
    while frame is not None and _is_library(frame) and frame.f_code.co_name not in _FIRST:
        what, frame = frame.f_code.co_qualname, frame.f_back
    if frame is None or _is_library(frame):
        return own, "the begin of its thread or task"
    code = frame.f_code
    return what, f"{code.co_filename}:{frame.f_lineno} ({code.co_qualname})"


def _is_library(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES


def _who() -> str:
    """Return the task, the virtual thread or the OS thread that runs."""
    thread = wakeproof.current()
    if thread is not None:
        return f"virtual thread {thread.name}"
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    # threading.current_thread would make a thread of one that begins just now, and that notifies.
    its = getattr(threading, "_active", {}).get(threading.get_ident())
    name = its.name if its is not None else f"thread {threading.get_ident()}"
    return f"task {task.get_name()} of {name}" if task is not None else name
