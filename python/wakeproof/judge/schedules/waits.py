# SPDX-License-Identifier: Apache-2.0
"""Why threads of a run that cannot go on wait, and whether what they wait for has come.

Source: the frames of the threads, as they stand.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from wakeproof.judge.schedules.execution import Run, Task
from wakeproof.judge.schedules.operation import JOIN, NAMES, POLL

_OURS = str(Path(__file__).parent)
_STANDARD = str(Path(threading.__file__).parent)
_OTHERS = str(Path(_STANDARD) / "site-packages")
_TOOLS = tuple(
    f"{os.sep}site-packages{os.sep}{name}{os.sep}" for name in ("_pytest", "hypothesis", "pluggy")
)
"""They run in a test, where it asserts or draws."""

_COME: dict[str, Callable[[Any], bool]] = {
    "Event.wait": lambda event: bool(event._flag),
    "Queue.get": lambda line: bool(line._qsize()),
    "Queue.put": lambda line: line._qsize() < line.maxsize,
    "Queue.join": lambda line: not line.unfinished_tasks,
    "Semaphore.acquire": lambda semaphore: semaphore._value > 0,
    "Future.result": lambda future: future._state in ("FINISHED", "CANCELLED_AND_NOTIFIED"),
    "Future.exception": lambda future: future._state in ("FINISHED", "CANCELLED_AND_NOTIFIED"),
}
"""Of a wait in the standard library: whether the thread need not wait any more."""


ENDED = ", which has ended"


@dataclass(frozen=True)
class Wait:
    """A thread that cannot go on."""

    name: str
    what: str  # such as Condition.wait
    where: str  # file and line
    on: str  # the name of the thread for which it waits; "": none
    come: str  # why what it waits for has come; "": it has not, or nobody knows
    object: Any = None  # such as the Condition


def is_of_user(code: CodeType) -> bool:
    """Return whether it is code of the user's, not ours, of the standard library or of pytest."""
    name = code.co_filename
    return (
        not name.startswith((_OURS, "<frozen ", "<string>"))
        and (not name.startswith(_STANDARD) or name.startswith(_OTHERS))
        and not any(tool in name for tool in _TOOLS)
    )


def frames(task: Task, run: Run) -> Iterator[FrameType]:
    """Yield the frames of a thread, from the innermost."""
    frame = sys._getframe(1) if task is run.current and not task.greenlet.gr_frame else None
    frame = frame or task.greenlet.gr_frame
    while frame is not None:
        yield frame
        frame = frame.f_back


def place(task: Task, run: Run) -> tuple[FrameType | None, FrameType | None]:
    """Return the frame of the user's code in which the thread is, and the one that it calls."""
    called = None
    for frame in frames(task, run):
        if is_of_user(frame.f_code):
            return frame, called
        if not frame.f_code.co_filename.startswith(_OURS):
            called = frame
    return None, called


def where(frame: FrameType | None) -> str:
    """Return file and line."""
    if frame is None:
        return "?"
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def source(frame: FrameType | None) -> str:
    """Return the line of the source."""
    if frame is None:
        return ""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()


def _caller() -> str:
    """Return where the user's code is that calls."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_of_user(frame.f_code):
        frame = frame.f_back
    return where(frame)


def notifications(nobody: dict[int, str]) -> Callable[..., Any]:
    """Return what replaces ``Condition.notify``: it notes where it woke nobody, by condition."""

    def made(old: Callable[..., None]) -> Callable[..., None]:
        def notify(self: Any, n: int = 1) -> None:
            if not self._waiters:
                nobody[id(self)] = f"it was notified at {_caller()}, before it waited"
            old(self, n)

        return notify

    return made


class Events:
    """What replaces methods of an Event: they note where it was set and cleared, unseen by all."""

    def __init__(self, nobody: dict[int, str]) -> None:
        self._nobody = nobody
        self._unseen: dict[int, str] = {}  # where it was set

    def set(self, old: Callable[..., None]) -> Callable[..., None]:
        """Return what replaces `set`."""

        def set_(event: Any) -> None:
            waiters = event._waiters if hasattr(event, "_waiters") else event._cond._waiters
            self._nobody.pop(id(event), None)
            if waiters:
                self._unseen.pop(id(event), None)
            else:
                self._unseen[id(event)] = _caller()
            old(event)

        return set_

    def clear(self, old: Callable[..., None]) -> Callable[..., None]:
        """Return what replaces `clear`."""

        def clear(event: Any) -> None:
            if at := self._unseen.pop(id(event), ""):
                said = f"it was set at {at}, and cleared at {_caller()} before anybody saw it"
                self._nobody[id(event)] = said
            old(event)

        return clear

    def is_set(self, old: Callable[..., bool]) -> Callable[..., bool]:
        """Return what replaces `is_set`."""

        def is_set(event: Any) -> bool:
            found = old(event)
            if found:
                self._unseen.pop(id(event), None)
            return found

        return is_set

    def wait(self, old: Callable[..., bool]) -> Callable[..., bool]:
        """Return what replaces the `wait` of a thread."""

        def wait(event: Any, timeout: float | None = None) -> bool:
            found = old(event, timeout)
            if found:
                self._unseen.pop(id(event), None)
            return found

        return wait

    def await_(self, old: Callable[..., Any]) -> Callable[..., Any]:
        """Return what replaces the `wait` of a task."""

        async def wait(event: Any) -> bool:
            await old(event)
            self._unseen.pop(id(event), None)
            return True

        return wait


def of(task: Task, run: Run, nobody: dict[int, str]) -> Wait:
    """Return why the thread waits."""
    user, called = place(task, run)
    what = NAMES[task.kind] if called is None else _name(called)
    if task.kind == JOIN:
        what, on = "Thread.join", task.what.name
    else:
        owner = run.owners.get(id(task.what))
        is_lock = called is None
        on = "" if owner is None or not is_lock else owner[0].name
        if owner is not None and on and owner[0].is_done:
            on += ENDED
        what = "a lock" if is_lock and what == "acquire" else what
    if task.kind != POLL and any(loop.thread is task for loop in run.loops):
        what += " (so its event loop stands still)"
    return Wait(task.name, what, where(user), on, come(user, called, nobody))


def _name(called: FrameType) -> str:
    """Return what a function of the standard library is called, such as queue.Queue.get."""
    name = called.f_code.co_qualname.partition(".<locals>")[0]
    if "." in name:  # a method
        return name
    package, _, module = str(called.f_globals.get("__name__")).rpartition(".")
    return f"{package if module.startswith('_') else module}.{name}"


def come(
    user: FrameType | None,
    called: FrameType | None,
    nobody: dict[int, str],
    known: dict[str, Callable[[Any], bool]] = _COME,
) -> str:
    """Return why what is waited for in the frame that the user's calls has come; "": it has not."""
    if called is None:
        return ""
    name, values = called.f_code.co_qualname, called.f_locals
    try:
        if name in known and known[name](values["self"]):
            return f"{name} need not wait any more"
        if name == "Condition.wait_for" and values["predicate"]():
            return "its predicate is true"
        if name == "Condition.wait" and user is not None:
            return come_around(user) or nobody.get(id(values["self"]), "")
        if name == "Event.wait":
            return nobody.get(id(values["self"]), "")
    except Exception as error:  # of code of the user's
        del error
    return ""


_PLAIN = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant,
    ast.BinOp, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context, ast.Tuple,
)  # fmt: skip


def come_around(user: FrameType) -> str:
    """Return why the condition of the loop, or of the `if`, around a wait is false now."""
    lines = "".join(linecache.getlines(user.f_code.co_filename))
    found = None
    for node in ast.walk(ast.parse(textwrap.dedent(lines))):
        if (
            isinstance(node, (ast.While, ast.If))
            and any(
                one.lineno <= user.f_lineno <= (one.end_lineno or one.lineno) for one in node.body
            )
            and (found is None or node.lineno > found.lineno)
        ):
            found = node
    if found is None or not all(
        isinstance(one, _PLAIN)
        or (isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "len")
        for one in ast.walk(found.test)
    ):
        return ""
    code = compile(ast.Expression(found.test), "<schedules>", "eval")
    is_true = eval(code, user.f_globals, user.f_locals)  # noqa: S307
    return "" if is_true else f"`{ast.unparse(found.test)}` is false"


def cycle(waits: list[Wait]) -> list[Wait]:
    """Return threads each of which waits for the next, and the last for the first; or none."""
    by_name = {one.name: one for one in waits}
    for first in waits:
        path: list[Wait] = []
        one: Wait | None = first
        while one is not None and one not in path:
            path.append(one)
            one = by_name.get(one.on)
        if one is first:
            return path
    return []
