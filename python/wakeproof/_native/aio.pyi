# SPDX-License-Identifier: Apache-2.0
"""What is hot of an asyncio loop.  Source: ``aio.c``."""

from __future__ import annotations

from asyncio import Future, Handle, Task, TimerHandle
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from socket import socket
from threading import Lock
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

class LoopCore:
    _ready: deque[Handle]
    _scheduled: list[TimerHandle]
    _closed: bool
    _debug: bool
    _asleep: bool
    _task_factory: Any
    _saved: int
    _sent: int
    _timer_cancelled_count: int
    _clock_resolution: float
    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Handle: ...
    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Handle: ...
    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle: ...
    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle: ...
    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> Task[T]: ...
    def create_future(self) -> Future[Any]: ...
    def get_debug(self) -> bool: ...
    def time(self) -> float: ...
    def _run_once(self) -> None: ...
    def _read_from_self(self) -> None: ...

class ChannelCore:
    capacity: int
    _lock: Lock
    _items: deque[Any]
    _senders: deque[Any]
    _receivers: deque[Any]
    _granted: int
    _is_closed: bool
    def _put(self, item: object, /) -> bool: ...
    def _get(self, none: object, /) -> Any: ...

def bind(
    handle: type[Handle],
    our_handle: type[Handle],
    timer: type[TimerHandle],
    our_timer: type[TimerHandle],
    queue: type[deque[object]],
    sock: type[socket],
    base: type[object],
    ours: type[object],
    select: Callable[..., object],
    report: Callable[[Handle, BaseException], None],
    transport: type[object],
    /,
) -> None: ...
