# SPDX-License-Identifier: Apache-2.0
"""The calls of a pool, futures, channels and sockets in Python, for where they are not in C.

Source: ``_native/calls.c``, ``future.c``, ``channels.c``, ``sockets.c``.
"""

from __future__ import annotations

import concurrent.futures
import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from wakeproof._runtime.core import first_of_call, first_of_coroutine
from wakeproof._runtime.here import here
from wakeproof._runtime.waiting import wait_or_raise

if TYPE_CHECKING:
    from collections.abc import Callable

    from wakeproof._runtime.core import Signal

py: dict[str, Any] = {}  # what is called


class ChannelCore:
    """The objects that were sent to a channel and not received, by number."""

    __slots__ = ("_items", "_numbers")
    _in_front = -1

    def __new__(cls: type[Any], *_: object, **__: object) -> Any:
        made: Any = super().__new__(cls)
        made._items, made._numbers = {}, itertools.count(1)
        return made

    def _bind(self, *_: object) -> None:
        """Do nothing: all go to the kernel's channel."""

    _enter = _leave = _bind

    def _keep(self: Any, item: Any) -> int:
        number = next(self._numbers)
        self._items[number] = item
        return int(number)

    def _take(self: Any, number: int) -> Any:
        return self._items.pop(number)


def bind_channel(*_: object) -> None:
    """Do nothing: only channels.c calls what it is given."""


class DescriptorCore:
    """The address of the kernel's descriptor, or 0, and its number."""

    __slots__ = ("_address", "_fd")


class SocketCore:
    """Nothing: `Socket` has the methods."""

    __slots__ = ()


def bind_sockets(*_: object) -> None:
    """Do nothing: only sockets.c calls what it is given."""


def plain_method(_: str, others: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method that does all."""
    return others


class CallCore:
    """A call of a pool; its class has the methods of `Permitted` as well."""

    __slots__ = ("args", "fn", "future", "has_permit", "is_told", "kwargs", "pool", "thread")

    def __init__(self: Any, pool: Any, given: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.pool, self.fn, self.args, self.kwargs = pool, given[0], given[1:], kwargs
        self.has_permit = self.is_told = False
        self.thread = None
        self.future = py["future_type"]()
        self.future.permits = pool._permits

    def __call__(self: Any) -> None:
        """Run it; its thread calls this, if it is no coroutine function."""
        if self._is_prepared():
            self.run()

    def end(self: Any) -> None:
        """End it: its thread has ended."""
        self.thread._is_heard = True  # its future reports the error
        try:
            if not self.is_told or not self.future.done():
                self.fail_at_end()
        finally:  # a callback of the future may raise SystemExit
            self.pool._leave(self, is_counted=True)


class PoolCore:
    """The calls of a pool of virtual threads."""

    def _submit(self: Any, given: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._workers.check()
        call = py["call_type"](self, given, kwargs)
        if self._permits is not None and len(self._calls) < self._max_workers:
            call.has_permit = self._permits._has_now(1)  # no earlier call needs that permit
        return self._start(call)

    def _try_start(self: Any, *given: Any, **kwargs: Any) -> Any:
        if self._permits is not None and not self._permits._has_now(1):
            return None
        call = py["call_type"](self, given, kwargs)
        call.has_permit = True
        return self._start(call)

    def _start(self: Any, call: Any) -> Any:
        from wakeproof.vthread import VirtualThread  # imported late: it imports this

        refuses, is_counted = None, False
        try:
            body = call.run_coroutine if py["is_coroutine"](call.fn) else call
            name = self._name(call.fn) if self._is_named else None
            thread = call.thread = VirtualThread(body, name=name, group=self._group)
            thread._permitted, thread._resume = call, first_of_pooled
            call.future.add_done_callback(partial(_leave_line, call))
            with self._lock:  # no call under the lock: a signal handler could run and shut down
                refuses = self._refuses
                if refuses is None:
                    self._calls[call] = None
                    self._submitted += 1
                    is_counted = True
            if refuses is not None:
                self._refuse_call()
            thread.start()
        except BaseException:  # also at Ctrl-C
            if call.thread is None or not call.thread._is_started:
                if call.thread is not None:
                    call.thread._permitted = None
                self._leave(call, is_counted=is_counted)
            raise
        return call.future

    def _leave(self: Any, call: Any, *, is_counted: bool) -> None:
        if call.has_permit and self._permits is not None:
            self._permits.release()
        if is_counted:
            with self._lock:
                del self._calls[call]
                self._ended += 1
            self._look()


def _leave_line(call: Any, future: Any) -> None:
    if future.cancelled():
        call.leave_line()


def first_of_pooled(thread: Any) -> int:
    """Take the first step of a call's thread."""
    call = thread._permitted
    permits = call.pool._permits
    if permits is not None and not call.has_permit and not permits._has_now(1):
        said: int = call.admit()
        return said
    call.has_permit = True
    return first_of_coroutine(thread) if thread._is_coroutine else first_of_call(thread)


def bind_calls(*objects: Any) -> None:
    """Take the class of calls, and `is_coroutine`."""
    py["call_type"], py["is_coroutine"] = objects


def bind_future(objects: dict[str, Any]) -> None:
    """Take what is called."""
    py.update(objects)


class FutureCore(concurrent.futures.Future[Any]):
    """The future of a call."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = py["new_condition"]()
        self.permits: Any = None
        self._made: Any = None
        self._signal: Signal | None = None

    @property
    def _waiters(self) -> Any:
        """Those of `wait` and `as_completed`, which ask for them with the future's lock."""
        if self._made is None:
            self._made = py["new_waiters"](self.permits)
        return self._made

    @_waiters.setter
    def _waiters(self, _: Any) -> None:
        """Do nothing: what Python makes is not used."""

    def result(self, timeout: float | None = None) -> Any:
        """Return what the call returned, or raise what it raised; a virtual thread parks."""
        try:
            return super().result(self._parked(timeout))
        finally:
            del self  # the error's traceback refers to this frame

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return what the call raised; arguments and errors are those of `result`."""
        return super().exception(self._parked(timeout))

    def _parked(self, timeout: float | None) -> float | None:
        """Wait as a virtual thread; return the seconds that remain to wait as an OS thread."""
        if here.thread is None:
            if timeout is None and not self.done():
                wait_or_raise(self._ends_within, self.done)
            return timeout
        if not self.done():
            py["waited"](
                self._told(), timeout if timeout is None else max(timeout, 0), self.permits
            )
        return 0

    def _ends_within(self, seconds: float) -> bool:
        with self._condition:
            return self.done() or (self._condition.wait(seconds) and self.done())

    def _told(self) -> Signal:
        """Return a signal that is set when the future is done; each caller may get another one."""
        signal = self._signal
        if signal is None:
            signal = self._signal = py["new_signal"]()
            self.add_done_callback(lambda _: signal.set())
        return signal
