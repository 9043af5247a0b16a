# SPDX-License-Identifier: Apache-2.0
"""The event loop that asyncio gets in a run.

It is asyncio's own, but for what it waits for: there are no sockets.  A thread that runs it stops
where it would poll.  It goes on when a callback is there, or when the time of the first timer has
come.  All else that a loop may decide is a choice:

  late        callbacks take their time: when the loop polls, that of further timers may have come
  timers      those of equal time run in any order
  cancels     a task is cancelled between two callbacks           (only if the options say so);
              not one that `asyncio.shield` keeps from it
  any order   callbacks that are ready run in any order, not in that of `call_soon`       (as well)

Tasks and futures of the loop have the order of their making in sets, which is that of addresses
otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import heapq
import itertools
import operator
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVarTuple

from greenlet import GreenletExit

from wakeproof.judge.schedules.execution import Run, Task
from wakeproof.judge.schedules.operation import CALL, LOOK, PASS, POLL, READ, SLEEP

Ts = TypeVarTuple("Ts")

LATE = 3
"""Times in a run at which a loop is so late that another timer is due."""

_NEVER_RETRIEVED = "Task exception was never retrieved"


def _from_another_thread(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a thread that does not run the loop stop first: what it does, the loop can notice."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        self.get_loop().enters()
        return method(self, *args, **named)

    return call


class _Numbered:
    _number: int

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class LoopFuture(_Numbered, asyncio.Future):  # type: ignore[type-arg]
    """A future of a `Loop`."""

    cancel = _from_another_thread(asyncio.Future.cancel)
    done = _from_another_thread(asyncio.Future.done)
    set_exception = _from_another_thread(asyncio.Future.set_exception)
    set_result = _from_another_thread(asyncio.Future.set_result)


class LoopTask(_Numbered, asyncio.Task):  # type: ignore[type-arg]
    """A task of a `Loop`."""

    def __init__(self, coro: Any, number: int, *, is_main: bool, **how: Any) -> None:
        self._number = number
        self.is_main = is_main  # it was made for the loop to run until it is done
        self.is_shielded = False
        super().__init__(coro, **how)

    done = _from_another_thread(asyncio.Task.done)

    def add_done_callback(self, fn: Callable[..., object], /, *, context: Any = None) -> None:
        """Note whether it is `asyncio.shield` that waits for it."""
        self.is_shielded |= getattr(fn, "__qualname__", "").startswith("shield.<locals>.")
        super().add_done_callback(fn, context=context)

    def cancel(self, msg: Any = None) -> bool:
        """Cancel it."""
        loop: Any = self.get_loop()
        loop.enters()
        if (watch := loop.run.watch) is not None:
            watch.cancels(self)
        return super().cancel(msg)


LoopFuture.__name__, LoopTask.__name__ = "Future", "Task"  # as asyncio's messages have them


class Loop(asyncio.BaseEventLoop):
    """An event loop without sockets."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run
        self._numbers = itertools.count(1)
        self._tasks: list[weakref.ref[LoopTask]] = []
        self._late = 0
        self._ready: Any
        self._scheduled: Any
        self._closed: bool
        self.thread: Task | None = None  # which runs it
        self.active: LoopTask | None = None  # which runs now
        run.loops.append(self)

    def tasks(self) -> Iterator[LoopTask]:
        """Yield the tasks that are there, in the order of their making."""
        for one in self._tasks:
            if (task := one()) is not None:
                yield task

    # ---- one turn of the loop ----

    def run_forever(self) -> None:
        """Run until it is stopped."""
        before, self.thread = self.thread, self.run.current
        try:
            super().run_forever()
        finally:
            self.thread = before

    def run_until_complete(self, future: Any) -> Any:
        """Run until that is done."""
        if self.run.is_unwinding and asyncio.iscoroutine(future):
            future.close()
            raise GreenletExit
        return super().run_until_complete(future)

    def _run_once(self) -> None:
        if self.run.is_unwinding:
            raise GreenletExit
        self._drop_cancelled()
        if not self._ready:
            self._cancel_one()
        self._come_late()
        run = self.run
        until = self._scheduled[0]._when if self._scheduled else None
        if until is None:
            run.point(POLL, self, READ, test=_has_to_wait)
        else:
            run.point(POLL, self, test=_has_to_wait, until=until)
            self._add_due()
        self._call(len(self._ready))

    def _drop_cancelled(self) -> None:
        timers = self._scheduled
        while timers and timers[0]._cancelled:
            heapq.heappop(timers)._scheduled = False

    def _come_late(self) -> None:
        """Let the time of timers come before the loop polls, or not."""
        if not self._scheduled or self._late >= LATE:
            return
        now = self.run.now_s
        times = sorted({one._when for one in self._scheduled if not one._cancelled})
        times = [when for when in times if when > now]
        if _has_to_wait(self):
            del times[:1]  # for that one it waits anyway
        if late := self.run.choose(1 + min(len(times), LATE - self._late)):
            self._late += late
            self.run.point(SLEEP, None, PASS, until=times[late - 1])

    def _add_due(self) -> None:
        due: list[Any] = []
        timers = self._scheduled
        while timers and timers[0]._when <= self.run.now_s:
            timer = heapq.heappop(timers)
            timer._scheduled = False
            if not timer._cancelled:
                due.append(timer)
        for _, group in itertools.groupby(due, operator.attrgetter("_when")):
            equal = list(group)
            while equal:
                self._ready.append(equal.pop(self.run.choose(len(equal))))

    def _call(self, count: int) -> None:
        """Call so many callbacks; those that they add are for the next turn."""
        ready, run = self._ready, self.run
        while count:
            self._cancel_one()
            at = run.choose(count) if run.any_order else 0
            handle = ready[at]
            del ready[at]
            count -= 1
            if handle._cancelled:
                continue
            task = getattr(handle._callback, "__self__", None)
            self.active = task if isinstance(task, LoopTask) else None
            if run.watch is not None and self.active is not None:
                run.watch.goes_on(self.active)
            handle._run()
            self.active = None

    def _cancel_one(self) -> None:
        run = self.run
        if run.cancelled >= run.cancels:
            return
        some = [
            task for task in self.tasks()
            if not (task.done() or task.is_main or task.is_shielded)
        ]  # fmt: skip
        if at := run.choose(1 + len(some)):
            run.cancelled += 1
            some[at - 1].cancel()

    # ---- what others call ----

    def enters(self) -> None:
        """Let the caller stop if it is another thread than the one that runs the loop."""
        run = self.run
        if self.thread is not None and self.thread is not run.current and not run.is_unwinding:
            run.point(CALL, self, shuts=_has_to_wait)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Any = None
    ) -> asyncio.Handle:
        """Schedule a callback; from the thread of the loop only, which asyncio tests when asked."""
        if not self.run.is_unwinding:
            self._check_thread()  # type: ignore[attr-defined]
            self.run.point(CALL, self, shuts=_has_to_wait)
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Any = None
    ) -> asyncio.Handle:
        """Schedule a callback."""
        if not self.run.is_unwinding:
            self.run.point(CALL, self, shuts=_has_to_wait)
        return super().call_soon_threadsafe(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Any = None
    ) -> asyncio.TimerHandle:
        """Schedule a callback for that time; from the thread of the loop only."""
        if not self.run.is_unwinding:
            self._check_thread()  # type: ignore[attr-defined]
        return super().call_at(when, callback, *args, context=context)

    def _write_to_self(self) -> None:
        """Do nothing: who waits sees the callback."""

    def is_closed(self) -> bool:
        """Return whether it is closed."""
        if self.run.is_running and self.thread is not self.run.current:
            self.run.point(LOOK, self, READ)
        return self._closed

    def create_future(self) -> Any:
        """Return a future."""
        future = LoopFuture(loop=self)
        future._number = next(self._numbers)
        return future

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None, **how: Any) -> Any:
        """Return a task."""
        factory: Any = self.get_task_factory()
        if factory is not None:
            return super().create_task(coro, name=name, context=context, **how)
        self._check_closed()  # type: ignore[attr-defined]
        how |= {"loop": self, "context": context, "is_main": not self.is_running()}
        how["name"] = f"task {len(self._tasks) + 1}" if name is None else name
        task = LoopTask(coro, next(self._numbers), **how)
        self._tasks.append(weakref.ref(task))
        return task

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """End the threads of `run_in_executor`, as long as that takes."""
        del timeout
        await super().shutdown_default_executor()

    # ---- what nobody handles ----

    def call_exception_handler(self, context: Any) -> None:
        """Note what a callback has raised, unless the program has a handler for it."""
        if self.run.is_running:
            super().call_exception_handler(context)

    def default_exception_handler(self, context: Any) -> None:
        """Note what a callback has raised."""
        if context.get("exception") is not None:
            task = context.get("future")
            who = task.get_name() if isinstance(task, asyncio.Task) else "a callback"
            self.run.unhandled.append((who, context["message"], context["exception"]))

    def close(self) -> None:
        """Close it; exceptions that nobody has looked at are failures."""
        if self.run.is_unwinding:
            self._end_tasks()
            with warnings.catch_warnings():  # of coroutines whose tasks will not be made
                warnings.simplefilter("ignore", RuntimeWarning)
                super().close()
            return
        if not self._closed:
            self.run.point(CALL, self)
            for task in self.tasks():
                if task.done() and task._log_traceback:
                    error = task.exception()
                    context = {"message": _NEVER_RETRIEVED, "exception": error, "future": task}
                    self.call_exception_handler(context)
        super().close()

    def _end_tasks(self) -> None:
        """End the tasks that have not ended, since the run is over."""
        self._default_executor = None
        for task in self.tasks():
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine: Any = task.get_coro()
            if coroutine is not None and not task.done():
                with contextlib.suppress(BaseException):
                    coroutine.close()


def _has_to_wait(loop: Loop) -> bool:
    return not loop._ready and not loop._stopping  # type: ignore[attr-defined]


_OF_SOCKETS = (
    "add_reader", "add_signal_handler", "add_writer", "connect_accepted_socket",
    "connect_read_pipe", "connect_write_pipe", "create_connection", "create_datagram_endpoint",
    "create_server", "create_unix_connection", "create_unix_server", "getaddrinfo", "getnameinfo",
    "sendfile", "sock_accept", "sock_connect", "sock_recv", "sock_recv_into", "sock_recvfrom",
    "sock_recvfrom_into", "sock_sendall", "sock_sendfile", "sock_sendto", "start_tls",
    "subprocess_exec", "subprocess_shell",
)  # fmt: skip


def _refuses(name: str) -> Callable[..., Any]:
    @functools.wraps(getattr(asyncio.AbstractEventLoop, name))
    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        self.run.refuse(f"loop.{name} waits for something outside of the program")

    return refuse


for _name in _OF_SOCKETS:
    setattr(Loop, _name, _refuses(_name))
