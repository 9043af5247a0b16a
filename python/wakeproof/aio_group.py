# SPDX-License-Identifier: Apache-2.0
"""Coroutines of asyncio and virtual threads on the same OS threads: `wakeproof.aio.LoopGroup`.

  waits for                     sleeps by                        is woken by
  a virtual thread: a task      a signal (`_runtime.signal`)     the task's done callback
  a task: a virtual thread      an asyncio future                `call_soon_threadsafe`
  a loop: any of its work       parking (`_runtime.loop_sleep`)  an unpark, its poller, its timer

No thread, task or loop waits in any other way, and none of these three is made here.

Spec: ``Latch.tla`` (NoLostWaiter), ``Guard.tla`` (NoLostWakeup).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from wakeproof._runtime import trampoline
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.descriptor import start
from wakeproof._runtime.future import Future
from wakeproof._runtime.here import ARE_OWN
from wakeproof._runtime.signal import Outcome
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.vthread_base import is_coroutine
from wakeproof.default import default_group
from wakeproof.errors import (
    ClosedError,
    DeadlineError,
    StateError,
    ThreadInterruptedError,
    UnsupportedError,
    UsageError,
)
from wakeproof.group import CarrierGroup
from wakeproof.vthread import context_to_start

if TYPE_CHECKING:
    from wakeproof.aio import EventLoop
    from wakeproof.vthread import VirtualThread

P = ParamSpec("P")
T = TypeVar("T")
_groups: WeakKeyDictionary[CarrierGroup, LoopGroup] = WeakKeyDictionary()


async def run_in_vthread(self: Any, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `fn` in a virtual thread, and await what it returns or raises.

    If the loop runs in a virtual thread, as those of a `LoopGroup`, the new thread stays on the
    loop's carrier, and may use what coroutines use without a lock, as long as it does not park in
    between.  Else it runs in the default group.  It starts with a copy of the caller's context.

    A cancel interrupts the thread: its current or next wait raises ThreadInterruptedError.  The
    await then goes on until the thread has ended, and raises CancelledError, or the thread's
    exception if it is another one.

    Raises:
        UsageError: `fn` cannot be called, or is a coroutine function.
        ClosedError: the group is closed, or being closed.
    """
    if not callable(fn) or is_coroutine(fn):
        raise UsageError(f"fn is {fn!r}; allowed: a callable, and no coroutine function")
    outcome: list[tuple[Any, BaseException | None]] = []
    ended = self.create_future()

    def call() -> None:
        try:
            outcome.append((fn(*args, **kwargs), None))
        except BaseException as error:
            outcome.append((None, error))
        with suppress(RuntimeError):  # the loop is closed
            self.call_soon_threadsafe(lambda: ended.done() or ended.set_result(None))

    sleep = self._sleep
    where = default_group() if sleep is None else sleep.thread.home
    thread = where.factory(pinned=sleep is not None)(call)
    cancelled = None
    while not outcome:
        try:
            await ended
        except asyncio.CancelledError as error:
            cancelled, ended = error, self.create_future()
            thread.interrupt()
        except BaseException:
            thread.interrupt()
            raise
    value, failed = outcome.pop()
    try:
        if cancelled is not None and (failed is None or isinstance(failed, ThreadInterruptedError)):
            raise cancelled
        if failed is not None:
            raise failed
        return value  # type: ignore[no-any-return]
    finally:
        del failed, cancelled  # their tracebacks refer to this frame


class _Await:
    """A coroutine that a thread has given to a loop, and for whose end the thread waits."""

    __slots__ = ("coroutine", "ended", "loop", "loops", "task")

    def __init__(
        self, loops: LoopGroup, loop: EventLoop, coroutine: Coroutine[Any, Any, Any]
    ) -> None:
        self.loops, self.loop, self.coroutine = loops, loop, coroutine
        self.task: asyncio.Task[Any] | None = None
        self.ended = Outcome()

    def begin(self) -> None:
        """Queue it at its loop.

        A loop that is closed meanwhile abandons what is in the set; one that was closed refuses.
        """
        self.loops._awaits.add(self)
        try:
            self.loop.call_soon_threadsafe(self._start, context=context_to_start())
        except RuntimeError:
            self.abandon()

    def _start(self) -> None:
        if self.loop in self.loops._ended:
            self.abandon()
            return
        self.task = self.loop.create_task(self.coroutine)
        self.task.add_done_callback(lambda _: self.ended.set())

    def abandon(self) -> None:
        """End it, because its loop is closed."""
        if self.task is None:
            self.coroutine.close()
        self.ended.set()

    def _cancel(self) -> None:
        if self.task is not None:  # the loop has started it before it takes this call
            self.task.cancel()

    def cancel(self) -> None:
        """Cancel it, and wait for its end; an interrupt meanwhile cancels it once more."""
        was_interrupted = False
        while not self.ended.is_set:
            with suppress(RuntimeError):  # the loop is closed, and has abandoned it
                self.loop.call_soon_threadsafe(self._cancel)
            try:
                self.ended.wait()
            except ThreadInterruptedError:
                was_interrupted = True
        if was_interrupted and here.thread is not None:
            here.thread.interrupt()

    def result(self, timeout_s: float | None) -> Any:
        """Begin, wait for the end, and return the result, or raise why there is none."""
        reason: BaseException | None = None
        try:
            self.begin()
            if not self.ended.wait(timeout_s):
                reason = DeadlineError(f"a coroutine did not end within {timeout_s} s")
        except BaseException as error:  # an interrupt, or Ctrl-C
            reason = error
        try:
            if reason is not None:
                self.cancel()
            self.loops._awaits.discard(self)
            task = self.task
            if task is None or not task.done() or (task.cancelled() and self.loops.closed):
                raise reason or ClosedError("the loops of the group were closed")
            if task.cancelled():
                raise reason or CancelledError
            value = task.result()
            if reason is None or isinstance(reason, DeadlineError):
                return value
            raise reason
        finally:
            del reason  # its traceback refers to this frame


class LoopGroup:
    """An event loop on each carrier of a group, so that coroutines and virtual threads mix.

    A carrier is an OS thread that runs virtual threads (`CarrierGroup`).  Each carrier gets an
    `EventLoop`, which runs in a virtual thread that stays there: while the loop has nothing to do,
    the carrier runs other virtual threads.  A coroutine awaits ``loop.run_in_vthread(fn)``, and a
    virtual thread calls `await_`.  A wakeup between the two on one carrier makes no system call.

    As a context manager it calls `close` at the end of the block.  Close it before its group.

    Args:
        group: a group without spare carriers, whose carriers have no pollers of yours.

    Threads: any thread may call all methods, but a coroutine of these loops must not call `close`.

    Raises:
        StateError: the group has a `LoopGroup` already, spare carriers, or pollers of yours.
        ClosedError: the group is closed.
        UnsupportedError: this Python shares the running loop between the virtual threads of a
            carrier: it needs CPython 3.11 to 3.14 and a build of wakeproof with Python.h.

    Example:
        >>> import asyncio
        >>> from wakeproof import CarrierGroup, aio, sleep
        >>> def in_a_virtual_thread(number):
        ...     sleep(0.001)  # parks: the loop goes on
        ...     return aio.await_(asyncio.sleep(0.001, number + 1))
        >>> async def main():
        ...     loop = asyncio.get_running_loop()
        ...     calls = [loop.run_in_vthread(in_a_virtual_thread, number) for number in range(3)]
        ...     return await asyncio.gather(*calls)
        >>> with CarrierGroup(1) as group, aio.LoopGroup(group) as loops:
        ...     loops.run(main())
        [1, 2, 3]
    """

    def __init__(self, group: CarrierGroup) -> None:
        if not ARE_OWN:
            raise UnsupportedError(
                "this Python shares the running loop between the virtual threads of a carrier: it "
                "needs CPython 3.11 to 3.14 and a build of wakeproof with Python.h"
            )
        if not isinstance(group, CarrierGroup):
            raise UsageError(f"group is {group!r}; allowed: a CarrierGroup")
        start(group)
        if _groups.setdefault(group, self) is not self:
            raise StateError(f"{group!r} has a LoopGroup; close that one first")
        self.group, self.closed = group, False
        self._awaits: set[_Await] = set()
        self._ended: set[EventLoop] = set()  # they begin no tasks any more
        self._turns = itertools.count()
        self._threads: list[VirtualThread[None]] = []
        self._loops: list[tuple[EventLoop, asyncio.Event]] = []
        try:
            for carrier in group:
                begun: Future[tuple[EventLoop, asyncio.Event]] = Future()
                make = carrier.factory(name=f"loop-{carrier.index}", pinned=True)
                self._threads.append(make(self._serve, begun))
                self._loops.append(begun.result())
        except BaseException:
            self.close()
            raise

    def _serve(self, begun: Future[tuple[EventLoop, asyncio.Event]]) -> None:
        """Run a loop until the group is closed; then cancel its tasks."""
        from wakeproof.aio import EventLoop  # imported late: it imports this module

        async def serve(loop: EventLoop) -> None:
            closed = asyncio.Event()
            begun.set_result((loop, closed))
            await closed.wait()

        async def end(loop: EventLoop) -> None:
            # Not left to the runner: nobody would cancel what begins after that.
            while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
            self._ended.add(loop)

        loop = None
        try:
            loop = EventLoop()
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                try:
                    runner.run(serve(loop))
                finally:
                    runner.run(end(loop))
        except BaseException as error:
            if begun.done():
                raise
            begun.set_exception(error)
        finally:
            for each in list(self._awaits):
                if each.loop is loop:
                    each.abandon()

    def __repr__(self) -> str:
        return f"<LoopGroup of {self.group!r}{', closed' * self.closed}>"

    def __len__(self) -> int:
        return len(self._loops)

    def __iter__(self) -> Iterator[EventLoop]:
        return (loop for loop, _ in self._loops)

    def __getitem__(self, index: int) -> EventLoop:
        return self._loops[index][0]

    def __enter__(self) -> LoopGroup:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Run a coroutine on a loop, and wait until it has ended; return its result.

        The loop is that of the carrier that runs the caller; for a caller that none of these
        carriers runs it is the next in turn.  An OS thread blocks, a virtual thread parks.  The
        coroutine runs as a task, with a copy of the caller's context.

        If the time runs out, or the caller is interrupted, the task is cancelled, and the call goes
        on until the task has ended.  It then raises what is named below, or the task's exception if
        that is not CancelledError.

        Args:
            coroutine: what a call of an ``async def`` function returns.
            timeout_s: seconds, 0 or more; default None: wait without a limit.

        Raises:
            DeadlineError: the time ran out, and the task has not returned (a TimeoutError as well).
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
            CancelledError: another has cancelled the task (that of `concurrent.futures`).
            ClosedError: the loops are closed.
            StateError: a coroutine calls this, which should await; or the caller cannot park, and
                would block the loop's carrier: a coroutine function, a task, or in `pinned`.
            UsageError: `coroutine` is none, or `timeout_s` is negative or not a number.
        """
        if not asyncio.iscoroutine(coroutine):
            raise UsageError(f"coroutine is {coroutine!r}; allowed: a call of an async function")
        carrier = self.group.running()
        try:
            deadline_ns(timeout_s)
            if asyncio._get_running_loop() is not None:
                raise StateError("a coroutine cannot wait for a coroutine so: await it")
            if carrier is not None and trampoline.parks() is None:
                raise StateError(
                    "the caller cannot park, and would block the carrier of the loop; call this "
                    "in a virtual thread that runs a callable, outside of pinned(); a coroutine "
                    "function awaits wakeproof.coroutine.result("
                    "asyncio.run_coroutine_threadsafe(coroutine, loop))"
                )
        except BaseException:
            coroutine.close()
            raise
        index = next(self._turns) % len(self) if carrier is None else carrier.index
        return _Await(self, self[index], coroutine).result(timeout_s)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Cancel all tasks of the loops, wait until they have ended, and close the loops.

        Whoever waits in `run` or `await_` gets a ClosedError.  Virtual threads that tasks await are
        interrupted, and the close waits for them.  A second close does nothing.

        Raises:
            StateError: a coroutine of one of these loops calls it.
        """
        if asyncio._get_running_loop() in list(self):
            raise StateError("close: a loop would wait for itself; close the loops from outside")
        self.closed = True
        for loop, closed in self._loops:
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(closed.set)
        for thread in self._threads:
            with suppress(ClosedError):  # its group was closed
                thread.join()
        if _groups.get(self.group) is self:  # until here, what ends may await something
            del _groups[self.group]


def await_(coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
    """Run a coroutine of asyncio on the loop of the caller's carrier, and park until it has ended.

    The caller is a virtual thread whose group has a `LoopGroup`.  Arguments, results and errors are
    those of `LoopGroup.run`; see there what a timeout and an interrupt do.

    A virtual thread that runs a coroutine function has no stack that could wait inside of a call.
    It awaits ``coroutine.result(asyncio.run_coroutine_threadsafe(c, loop))`` instead, where
    `coroutine` is `wakeproof.coroutine`, and `loop` one of the `LoopGroup`.

    Threads: virtual threads only.

    Raises:
        WrongThreadError: the caller is not a virtual thread.
        StateError: its group has no `LoopGroup`; or as `LoopGroup.run`.
    """
    try:
        group = trampoline.caller("await_")._group
        loops = None if group is None else _groups.get(group)
        if loops is None:
            raise StateError(f"await_: {group!r} has no event loops: make an aio.LoopGroup of it")
    except BaseException:
        if asyncio.iscoroutine(coroutine):
            coroutine.close()
        raise
    return loops.run(coroutine, timeout_s)
