# SPDX-License-Identifier: Apache-2.0
"""Why tasks of asyncio that cannot go on wait, and whether what they wait for has come.

Source: the frames of their coroutines, as they stand; what is noted in the run that is explained.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from wakeproof._runtime.stdlib.replacement import Attribute
from wakeproof.judge.schedules import waits
from wakeproof.judge.schedules.execution import Task
from wakeproof.judge.schedules.loop import LoopTask
from wakeproof.judge.schedules.operation import POLL

_COME: dict[str, Callable[[Any], bool]] = {
    "Event.wait": lambda event: bool(event._value),
    "Lock.acquire": lambda lock: not lock._locked,
    "Queue.get": lambda line: not line.empty(),
    "Queue.put": lambda line: not line.full(),
    "Queue.join": lambda line: not line._unfinished_tasks,
    "Semaphore.acquire": lambda semaphore: semaphore._value > 0,
}
"""Of a wait in asyncio: whether the task need not wait any more."""


_WHOLE = frozenset({*_COME, "Condition.wait_for"})
"""What waits by other waits of asyncio, of which it knows more than they."""


@dataclass(frozen=True)
class Noted:
    """What happened in a run."""

    nobody: dict[int, str] = field(default_factory=dict)
    """How a condition was notified while nobody waited, or an event set and cleared, by its id."""
    owners: dict[int, asyncio.Task[Any] | None] = field(default_factory=dict)
    """The task that has an asyncio.Lock, by the id of the lock."""
    swallowed: list[tuple[str, Any]] = field(default_factory=list)
    """Tasks that were cancelled after they had been woken, and where they waited."""

    def cancels(self, task: LoopTask) -> None:
        """Note that a task is cancelled."""
        waiter: Any = task._fut_waiter  # type: ignore[attr-defined]
        user, called = place(task.get_coro())
        frame = called or user
        what = None if frame is None else frame.f_locals.get("self")
        was_woken = waiter is not None and waiter.done() and not waiter.cancelled()
        if was_woken and what is not None:
            self.swallowed.append((task.get_name(), what))

    @contextmanager
    def filled(self) -> Iterator[None]:
        """Note it, meanwhile."""
        notifies = waits.notifications(self.nobody)
        events = waits.Events(self.nobody)
        noted = [
            *(
                Attribute(of, name, getattr(events, name))
                for of in (threading.Event, asyncio.Event)
                for name in ("set", "clear", "is_set")
            ),
            Attribute(threading.Event, "wait", events.wait),
            Attribute(asyncio.Event, "wait", events.await_),
            Attribute(threading.Condition, "notify", notifies),
            Attribute(asyncio.Condition, "notify", notifies),
            Attribute(asyncio.Lock, "acquire", self._acquires),
            Attribute(asyncio.Lock, "release", self._releases),
        ]
        for one in noted:
            one.install()
        try:
            yield
        finally:
            for one in noted:
                one.uninstall()

    def _acquires(self, old: Callable[..., Any]) -> Callable[..., Any]:
        async def acquire(lock: Any) -> Any:
            got = await old(lock)
            self.owners[id(lock)] = asyncio.current_task()
            return got

        return acquire

    def _releases(self, old: Callable[..., Any]) -> Callable[..., Any]:
        def release(lock: Any) -> None:
            self.owners.pop(id(lock), None)
            old(lock)

        return release


def _frames(coroutine: Any) -> Iterator[FrameType]:
    """Yield the frames of a coroutine and of what it awaits, from the outermost."""
    while coroutine is not None:
        for kind in "cr", "gi", "ag":
            if (frame := getattr(coroutine, f"{kind}_frame", None)) is not None:
                yield frame
                name = "gi_yieldfrom" if kind == "gi" else f"{kind}_await"
                coroutine = getattr(coroutine, name)
                break
        else:
            return


def place(coroutine: Any) -> tuple[FrameType | None, FrameType | None]:
    """Return the frame of the user's code in which a coroutine is, and that of asyncio's wait."""
    user: FrameType | None = None
    called: list[FrameType] = []
    for frame in _frames(coroutine):
        if waits.is_of_user(frame.f_code):
            user, called = frame, []
        elif frame.f_code.co_filename != __file__:
            called.append(frame)
    known = (one for one in called if one.f_code.co_qualname in _WHOLE)
    public = (one for one in reversed(called) if not one.f_code.co_name.startswith("_"))
    return user, next(known, None) or next(public, called[-1] if called else None)


def of(thread: Task, noted: Noted) -> list[waits.Wait]:
    """Return why tasks wait whose loop the thread runs; none if it waits for something else."""
    if thread.kind != POLL:
        return []
    return [_of(task, noted) for task in thread.what.tasks() if not task.done()]


def _of(task: LoopTask, noted: Noted) -> waits.Wait:
    user, called = place(task.get_coro())
    waiter: Any = task._fut_waiter  # type: ignore[attr-defined]
    what, on, come, object_ = "a future", "", "", None
    name = "" if called is None else called.f_code.co_qualname
    if isinstance(waiter, asyncio.Task):
        what, on = "an await", waiter.get_name()
    elif children := [one for one in getattr(waiter, "_children", ()) if not one.done()]:
        what = "asyncio.gather"
        on = children[0].get_name() if isinstance(children[0], asyncio.Task) else ""
    elif called is not None and user is not None:
        what, object_ = f"asyncio.{name}", called.f_locals.get("self")
        if owner := noted.owners.get(id(object_)):
            on = owner.get_name() + (waits.ENDED if owner.done() else "")
        come = waits.come(user, called, noted.nobody, _COME)
    elif user is not None:
        object_ = user.f_locals.get("self")
        come = waits.come_around(user)
    return waits.Wait(task.get_name(), what, waits.where(user), on, come, object_)


def swallowed(noted: Noted, stuck: list[waits.Wait]) -> str:
    """Return which task was woken for what one of those waits for, and cancelled before it ran."""
    for name, what in noted.swallowed:
        if any(one.object is what for one in stuck):
            return f"{name} had been woken there, was cancelled before it ran, and woke nobody"
    return ""
