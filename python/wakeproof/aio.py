# SPDX-License-Identifier: Apache-2.0
"""asyncio whose wakeups cost a system call only while the loop sleeps.

`asyncio.SelectorEventLoop` writes to its self-pipe in each `call_soon_threadsafe`, and so for each
result of an executor, though a loop that is busy looks at its queue by itself.  `EventLoop` is that
loop with a guard before the pipe::

    loop                              any other thread
    announce: asleep := True          append to the loop's queue
    queue? yes: look, do not block    asleep? no: nothing to do
         no: block                         yes: write to the self-pipe
    withdraw: asleep := False

With the GIL the steps of all threads have one order, so either the loop finds the entry or the
other thread finds the announcement, and the flag is an attribute.  Without the GIL this takes
fences: there the loop's guard is a `WakeupGuard`.  With the GIL and the headers of CPython, calls
into the loop, its timers, its turns and its connections are C (``_native/aio.c``);
``WAKEPROOF_PLAIN=1`` takes the same in Python instead.

Example:
    >>> import asyncio
    >>> from wakeproof import aio
    >>> with asyncio.Runner(loop_factory=aio.EventLoop) as runner:
    ...     runner.run(asyncio.to_thread(pow, 2, 10))
    1024

Spec: ``specs/aio/EventLoop.tla`` (NoLostWakeup, NextCallWakes); without the GIL ``Guard.tla``.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import selectors
import socket
import sys
from asyncio import Handle, format_helpers, futures, selector_events
from collections import deque
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from wakeproof._runtime import watch
from wakeproof._runtime.here import ARE_OWN
from wakeproof._runtime.loop_sleep import LoopSleep
from wakeproof.aio_channel import Channel
from wakeproof.aio_group import LoopGroup, await_, run_in_vthread
from wakeproof.guard import WakeupGuard

if TYPE_CHECKING:
    import select
    from collections.abc import Callable
    from contextvars import Context

    Ready = list[tuple[selectors.SelectorKey, int]]
    Select = Callable[[float | None], Ready]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

__all__ = ["Channel", "EventLoop", "LoopGroup", "LoopStatistics", "await_", "new_event_loop"]


@dataclass(frozen=True)
class LoopStatistics:
    """What the wakeups of an `EventLoop` have cost.

    Attributes:
        sent: wakeups that made a system call, because the loop had announced that it sleeps.
        saved: wakeups that made no system call, because the loop was awake or already woken.
            Without the GIL a few of those that threads make at the same time may be missing.
        unparked: wakeups of a loop that runs in a virtual thread, and was parked.  These make a
            system call only if they come from another OS thread, and the loop's carrier sleeps.
    """

    sent: int
    saved: int
    unparked: int = 0


class _Epoll(selectors.EpollSelector):
    """Passes each call that may block to `block`; a mere look costs no frame more than before."""

    _selector: select.epoll
    _fd_to_key: dict[int, selectors.SelectorKey]
    block: Callable[[Select, float | None], Ready]

    def select(self, timeout: float | None = None) -> Ready:
        if timeout is None or timeout > 0:
            return self.block(super().select, timeout)
        ready = []
        keys = self._fd_to_key
        for fd, seen in self._selector.poll(0, len(keys) or 1):
            if key := keys.get(fd):
                # An error or a hangup is neither of the two bits, and makes both kinds ready.
                events = (seen & ~_EPOLLIN and selectors.EVENT_WRITE) | (
                    seen & ~_EPOLLOUT and selectors.EVENT_READ
                )
                ready.append((key, events & key.events))
        return ready


_EPOLLIN, _EPOLLOUT = 1, 4


class _PlainEventLoop(asyncio.SelectorEventLoop):
    """The loop in Python, for the GIL: the flag is an attribute."""

    _ready: deque[asyncio.Handle]
    _closed: bool
    _debug: bool
    _default_executor: Any
    _executor_shutdown_called: bool
    _selector: Any
    _process_self_data: Callable[[bytes], None]
    _stopping: bool
    _ssock: socket.socket | None
    _csock: socket.socket | None

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        self._asleep = False
        self._sent = self._saved = self._unparked = 0
        self._sleep: LoopSleep | None = None
        if selector is None:
            selector = _Epoll()
            selector.block = self._block
        else:
            selector.select = partial(self._block, selector.select)  # type: ignore[method-assign]
        super().__init__(selector)

    def close(self) -> None:
        """Close it, and take out of the selector what has the loop: both are freed at once."""
        selector = self._selector
        super().close()
        if selector is not None:
            for name in "block", "select":
                vars(selector).pop(name, None)

    def statistics(self) -> LoopStatistics:
        """Return how many wakeups were sent, and how many were saved."""
        return LoopStatistics(self._sent, self._saved, self._unparked)

    def run_forever(self) -> None:
        """Run until the loop is stopped; in a virtual thread that can park, it parks there."""
        thread = watch.caller() if ARE_OWN else None  # else others would see the loop as theirs
        selector = self._selector
        if thread is None or not hasattr(selector, "fileno"):
            super().run_forever()
            return
        select = selector.select
        self._sleep = sleep = LoopSleep.of(thread, selector.fileno())
        selector.select = partial(self._turn, sleep, select)
        try:
            super().run_forever()
        finally:
            selector.select = select
            self._sleep = None
            sleep.leave()

    def _turn(self, sleep: LoopSleep, look: Select, timeout: float | None = None) -> Ready:
        """Be `select` in a virtual thread."""
        if timeout is not None and timeout <= 0:
            return sleep.turn(look)
        return self._block(partial(sleep.select, look), timeout)

    run_in_vthread = run_in_vthread

    def _block(self, select: Select, timeout: float | None = None) -> Ready:
        """Be the poller: announce a sleep, look once more for work, and block if there is none."""
        if timeout is not None and timeout <= 0:
            return select(timeout)
        try:
            self._asleep = True
            if self._ready or self._stopping:
                timeout = 0
            return select(timeout)
        finally:
            self._asleep = False

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Be the producer in one step, where asyncio takes five calls; in debug mode be asyncio."""
        if self._closed or self._debug:
            told: Any = super().call_soon_threadsafe(callback, *args, context=context)
            if told._source_traceback:
                del told._source_traceback[-1]  # this line, as asyncio does with its own
            return told  # type: ignore[no-any-return]
        handle: Any = _new(Handle)  # its `__init__` costs more than all else
        handle._callback, handle._args, handle._loop = callback, args, self
        handle._context = copy_context() if context is None else context
        handle._cancelled, handle._source_traceback, handle._repr = False, None, None
        self._ready.append(handle)
        if self._asleep:
            self._write_to_self()
        else:
            self._saved += 1
        return handle  # type: ignore[no-any-return]

    def run_in_executor(
        self, executor: Any, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Be asyncio's, without what it does for futures of any other kind."""
        chosen = self._default_executor if executor is None else executor
        if chosen is None or self._debug or self._executor_shutdown_called:  # by a close, too
            return super().run_in_executor(executor, func, *args)
        source = chosen.submit(func, *args)
        if not isinstance(source, concurrent.futures.Future):
            return asyncio.wrap_future(source, loop=self)
        waiter = self.create_future()
        waiter.add_done_callback(partial(_pass_cancel, source))
        source.add_done_callback(partial(self._pass_result, waiter))
        return waiter

    def _pass_result(self, waiter: asyncio.Future[Any], source: Any) -> None:
        if not self._closed:
            self.call_soon_threadsafe(_copy_result, source, waiter)

    def _write_to_self(self) -> None:
        """Be the producer: asyncio calls this after it has appended to the queue."""
        if not self._asleep:
            self._saved += 1
            return
        try:
            self._asleep = False  # one thread pays for a sleep
            self._send()
        except BaseException:
            self._asleep = True  # the next one tries again; at worst that is one write too many
            raise

    def _read_from_self(self) -> None:
        """Take what is in the pipe; what is left, if it was much, makes another event."""
        try:
            data = self._ssock.recv(4096)  # type: ignore[union-attr]
        except (BlockingIOError, InterruptedError):
            return
        self._process_self_data(data)

    def _send(self) -> None:
        if (sleep := self._sleep) is not None:
            sleep.thread.unpark()
            self._unparked += 1
            return
        csock = self._csock
        if csock is None:  # the loop is closed
            return
        try:
            csock.send(b"\0")
        except BlockingIOError:
            pass  # the pipe is full
        except OSError:
            # Another thread is closing the loop, which will not sleep again.
            if (ssock := self._ssock) is not None and ssock.fileno() >= 0:
                raise
            return
        self._sent += 1


_new = object.__new__
_copy_any: Any = vars(futures)["_copy_future_state"]


def _copy_result(source: Any, waiter: asyncio.Future[Any]) -> None:
    """Be asyncio's, which takes the lock of the source, that is done, four times."""
    if (
        type(source) is not concurrent.futures.Future
        or source._state != _FINISHED
        or source._exception is not None
        or waiter.done()
    ):
        _copy_any(source, waiter)
        return
    waiter.set_result(source._result)


_FINISHED: str = vars(concurrent.futures._base)["FINISHED"]


def _pass_cancel(source: Any, waiter: asyncio.Future[Any]) -> None:
    if waiter.cancelled():
        source.cancel()


class _FencedEventLoop(_PlainEventLoop):
    """The loop where threads run at the same time: the flag is that of a `WakeupGuard`."""

    call_soon_threadsafe = asyncio.SelectorEventLoop.call_soon_threadsafe

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        self._guard = WakeupGuard(self._send)
        super().__init__(selector)

    def close(self) -> None:
        super().close()
        self._guard = WakeupGuard(int)  # the former has the loop; this one has nobody to wake

    def _is_idle(self) -> bool:
        return not (self._ready or self._stopping)

    def _block(self, select: Select, timeout: float | None = None) -> Ready:
        if timeout is not None and timeout <= 0:
            return select(timeout)
        try:
            return select(timeout if self._guard.enter(self._is_idle) else 0)
        finally:
            self._guard.exit()

    def _write_to_self(self) -> None:
        if not self._guard.wakeup():
            self._saved += 1


def _report(handle: Any, error: BaseException) -> None:
    """Let the loop's handler have what a callback has raised, as `asyncio.Handle` does."""
    call = format_helpers._format_callback_source(handle._callback, handle._args)
    context = {"message": f"Exception in callback {call}", "exception": error, "handle": handle}
    if handle._source_traceback:
        context["source_traceback"] = handle._source_traceback
    handle._loop.call_exception_handler(context)


_Base: type[_PlainEventLoop] = _PlainEventLoop
if not getattr(sys, "_is_gil_enabled", lambda: True)():
    _Base = _FencedEventLoop
elif not os.environ.get("WAKEPROOF_PLAIN"):
    with suppress(ImportError):  # without Python.h it was not built
        from wakeproof._native.aio import LoopCore, bind

        _Theirs = selector_events._SelectorSocketTransport  # type: ignore[attr-defined]
        _Transport = type(_Theirs.__name__, (_Theirs,), {})
        bind(
            asyncio.Handle,
            type("Handle", (asyncio.Handle,), {"__slots__": ()}),
            asyncio.TimerHandle,
            type("TimerHandle", (asyncio.TimerHandle,), {"__slots__": ()}),
            deque,
            socket.socket,
            asyncio.SelectorEventLoop,
            _PlainEventLoop,
            _Epoll.select,
            _report,
            _Transport,
        )

        class _NativeEventLoop(LoopCore, _PlainEventLoop):
            """The loop in C, and transports that are."""

            def _make_socket_transport(self, sock: Any, *args: Any, **options: Any) -> Any:
                made = _Transport if type(sock) is socket.socket else _Theirs
                return made(self, sock, *args, **options)

        _Base = _NativeEventLoop


class EventLoop(_Base):  # type: ignore[misc, valid-type]
    """An `asyncio.SelectorEventLoop` that other threads wake by a system call only while it sleeps.

    Use it as ``asyncio.run(main(), loop_factory=wakeproof.aio.EventLoop)`` from Python 3.12 on, and
    as ``asyncio.Runner(loop_factory=wakeproof.aio.EventLoop)`` from 3.11 on.

    A wakeup that cannot be sent raises the error of the self-pipe where `call_soon_threadsafe` was
    called; `asyncio.SelectorEventLoop` ignores it, and may then sleep for ever.  A pipe that is
    full is no error: what is in it wakes the loop.

    Args:
        selector: where the loop waits for descriptors; an epoll selector if it is left out.  The
            `select` of a selector that is given is replaced in that object.

    Threads: as any loop of asyncio; any thread may call `call_soon_threadsafe` and `statistics`.
    """


def new_event_loop() -> EventLoop:
    """Return a new `EventLoop`."""
    return EventLoop()


if sys.version_info < (3, 14):  # asyncio's policies are deprecated from there on

    class EventLoopPolicy(asyncio.DefaultEventLoopPolicy):
        """Makes each new loop an `EventLoop`, for code that has no place for a `loop_factory`.

        Use: ``asyncio.set_event_loop_policy(wakeproof.aio.EventLoopPolicy())``, up to Python 3.13.
        """

        _loop_factory = EventLoop

    __all__ += ["EventLoopPolicy"]
