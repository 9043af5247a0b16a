# SPDX-License-Identifier: Apache-2.0
"""A bounded FIFO between OS threads, virtual threads and event loops: `wakeproof.aio.Channel`.

::

    sender                                   receiver
    a slot is free: fill it, and promise     an object is there that is nobody's: take it, and grant
        the object to the first receiver         the slot to the first sender that waits
        that waits                           else: wait for a promise, take the oldest object
    else: wait for a grant, fill the slot

All of it happens under one lock, which nobody holds while he waits, wakeups included: so no
receiver waits beside an object, and no sender beside a free slot.  An object that is promised takes
no slot.  A coroutine that is cancelled passes on what it has: a promise or a grant.

A close ends all promises.  The objects that are left go to the receivers that come first, and each
receiver that waited looks once more: so nothing is left, for good, when one is told so.

With the GIL and the headers of CPython, a send and a receive for which nobody waits are C
(``_native/aio_channel.c``).

Spec: ``specs/aio/AioChannel.tla`` (NothingLost, NobodyWaitsForNothing, NothingAfterTheEnd, Ends).
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.trampoline import here
from wakeproof.channel import MOST
from wakeproof.errors import ClosedError, DeadlineError, StateError, UsageError
from wakeproof.semaphore import Semaphore

T = TypeVar("T")
_WAITS, _SERVED, _CLOSED = range(3)


class _Thread:
    """An OS thread or a virtual thread that waits."""

    __slots__ = ("state", "wait", "wake")
    wait: Callable[[float | None], bool]
    wake: Callable[[], object]

    def __init__(self) -> None:
        self.state = _WAITS
        if asyncio._get_running_loop() is not None:
            raise StateError("a wait here would block the event loop: await asend or areceive")
        if here.thread is not None:
            permits = Semaphore(0)
            self.wait, self.wake = (
                lambda seconds: permits.acquire(timeout_s=seconds),
                permits.release,
            )
            return
        lock = Lock()
        lock.acquire()
        self.wait = lambda seconds: lock.acquire(timeout=-1 if seconds is None else seconds)
        self.wake = lock.release


class _Task:
    """A coroutine that waits."""

    __slots__ = ("future", "loop", "state")

    def __init__(self) -> None:
        self.state = _WAITS
        self.loop = asyncio.get_running_loop()
        self.future = self.loop.create_future()

    def wake(self) -> None:
        if asyncio._get_running_loop() is self.loop:
            self._end()
        else:
            self.loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class _PlainCore:
    """Leaves all to the methods of `Channel`."""

    def _put(self, _item: object) -> bool:
        return False

    def _get(self, none: object) -> Any:
        return none


if TYPE_CHECKING:
    from wakeproof._native.aio import ChannelCore as _Core
else:
    _Core = _PlainCore
    if not os.environ.get("WAKEPROOF_PLAIN"):
        with suppress(ImportError):  # without Python.h, or without the GIL
            from wakeproof._native.aio import ChannelCore as _Core

_NOTHING = object()
_Waiter = _Thread | _Task
W = TypeVar("W", _Thread, _Task)


class Channel(_Core, Generic[T]):
    """A FIFO of objects between threads and event loops; each object is received exactly once.

    A thread calls `send` and `receive`; a coroutine of asyncio awaits `asend` and `areceive`, in
    any loop.  A sender waits while all slots are taken, and a receiver waits while the channel is
    empty.  Senders are served in the order in which they came, and so are receivers.  Iteration
    (``for``, ``async for``) receives objects until the channel is closed and empty.

    A coroutine that is cancelled has sent nothing and received nothing: an object that it was
    promised already goes to the next receiver.  After a `close` the objects that are left go to the
    receivers that come first; one that gets a ClosedError has seen the end: no receiver gets an
    object after that.

    Args:
        capacity: the number of slots, 1 to 1,048,576.

    Threads: any thread may call all methods.

    Raises:
        UsageError: `capacity` is out of range.

    Example:
        >>> import asyncio
        >>> from wakeproof import aio
        >>> async def total(channel):
        ...     return sum([number async for number in channel])
        >>> def send(channel):
        ...     for number in range(5):
        ...         channel.send(number)
        ...     channel.close()
        >>> async def main():
        ...     channel = aio.Channel(2)
        ...     result, _ = await asyncio.gather(total(channel), asyncio.to_thread(send, channel))
        ...     return result
        >>> asyncio.run(main())
        10
    """

    def __init__(self, capacity: int) -> None:
        if not isinstance(capacity, int) or not 1 <= capacity <= MOST:
            raise UsageError(f"capacity is {capacity!r}; allowed: 1 to {MOST}")
        self.capacity = capacity
        self._lock = Lock()
        self._items: deque[T] = deque()
        self._senders: deque[_Waiter] = deque()
        self._receivers: deque[_Waiter] = deque()
        self._granted = 0  # slots that belong to senders that have been woken
        self._promised = 0  # objects that belong to receivers that have been woken
        self._is_closed = False

    def send(self, item: T, timeout_s: float | None = None) -> bool:
        """Send an object, and wait for a slot at most `timeout_s` seconds.

        Returns True if the object was sent, False if the time ran out.

        Raises:
            ClosedError: the channel is closed; the object is not sent.
            StateError: there is no slot, and the caller is a coroutine's: await `asend`.
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted; the object
                is not sent.
        """
        if timeout_s is None and self._put(item):
            return True
        try:
            waiter = self._begin_send(item, _Thread if deadline_ns(timeout_s) else None)
            if waiter is not None:
                self._wait(waiter, self._senders, timeout_s)
                self._end_send(waiter, item)
        except DeadlineError:
            return False
        return True

    async def asend(self, item: T) -> None:
        """Send an object, and await a slot.

        Raises:
            ClosedError: the channel is closed; the object is not sent.
        """
        if self._put(item):
            return
        waiter = self._begin_send(item, _Task)
        if waiter is None:
            return
        try:
            await waiter.future
        except BaseException:
            self._give_up(waiter, self._senders)
            raise
        self._end_send(waiter, item)

    def receive(self, timeout_s: float | None = None) -> T:
        """Return the oldest object, and wait for one at most `timeout_s` seconds.

        Raises:
            DeadlineError: the time ran out (a TimeoutError as well).
            ClosedError: the channel is closed and empty.
            StateError: there is no object, and the caller is a coroutine's: await `areceive`.
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted; nothing was
                received.
        """
        if timeout_s is None and (found := self._get(_NOTHING)) is not _NOTHING:
            return found  # type: ignore[no-any-return]
        item, waiter = self._begin_receive(_Thread if deadline_ns(timeout_s) else None)
        if waiter is None:
            return item  # type: ignore[no-any-return]
        self._wait(waiter, self._receivers, timeout_s)
        return self._end_receive()

    async def areceive(self) -> T:
        """Return the oldest object, and await one.

        Raises:
            ClosedError: the channel is closed and empty.
        """
        if (found := self._get(_NOTHING)) is not _NOTHING:
            return found  # type: ignore[no-any-return]
        item, waiter = self._begin_receive(_Task)
        if waiter is None:
            return item  # type: ignore[no-any-return]
        try:
            await waiter.future
        except BaseException:
            self._give_up(waiter, self._receivers)
            raise
        return self._end_receive()

    def _begin_send(self, item: T, kind: type[W] | None) -> W | None:
        """Send the object now (None), or stand in line."""
        with self._lock:
            if self._is_closed:
                raise ClosedError("send: the channel is closed")
            if self._granted + len(self._items) - self._promised < self.capacity:
                self._items.append(item)
                self._promise()
                return None
            return self._stand(self._senders, kind)

    def _begin_receive(self, kind: type[W] | None) -> tuple[Any, W | None]:
        """Receive an object now (None beside it), or stand in line."""
        with self._lock:
            if len(self._items) > self._promised:
                item = self._items.popleft()
                self._grant()
                return item, None
            if self._is_closed:
                raise ClosedError("receive: the channel is closed and empty")
            return None, self._stand(self._receivers, kind)

    def _stand(self, line: deque[_Waiter], kind: type[W] | None) -> W:
        if kind is None:
            raise DeadlineError("the channel does not take or give an object now")
        waiter = kind()
        line.append(waiter)
        return waiter

    def _wait(self, waiter: _Thread, line: deque[_Waiter], timeout_s: float | None) -> None:
        try:
            is_woken = waiter.wait(timeout_s)
        except BaseException:
            self._give_up(waiter, line)
            raise
        if not is_woken and self._leave(waiter, line):
            raise DeadlineError(f"nothing within {timeout_s} s")

    def _leave(self, waiter: _Waiter, line: deque[_Waiter]) -> bool:
        """Leave the line; False: the waiter has been served, or the channel was closed."""
        with self._lock:
            if waiter.state == _WAITS:
                line.remove(waiter)
                return True
            return False

    def _give_up(self, waiter: _Waiter, line: deque[_Waiter]) -> None:
        """Leave the line, or pass on what the waiter has: a promise or a grant."""
        if self._leave(waiter, line) or waiter.state == _CLOSED:
            return
        with self._lock:
            if line is self._senders:
                self._granted -= 1
                self._grant()
            elif not self._is_closed:
                self._promised -= 1
                self._promise()

    def _end_send(self, waiter: _Waiter, item: T) -> None:
        """Fill the slot that was granted."""
        with self._lock:
            self._granted -= waiter.state == _SERVED
            if self._is_closed:
                raise ClosedError("send: the channel is closed")
            self._items.append(item)
            self._promise()
            self._grant()  # an object that is promised takes no slot

    def _end_receive(self) -> T:
        """Take the oldest object; after a close others may have been faster."""
        with self._lock:
            if not self._is_closed:
                self._promised -= 1
            elif not self._items:
                raise ClosedError("receive: the channel is closed and empty")
            return self._items.popleft()

    def _promise(self) -> None:
        """Let the first receivers that wait have the objects that are nobody's.  Under the lock."""
        while self._receivers and len(self._items) > self._promised:
            self._promised += self._wake(self._receivers.popleft(), _SERVED)

    def _grant(self) -> None:
        """Let the first senders that wait fill the slots that are free.  Under the lock."""
        while self._senders and self._granted + len(self._items) - self._promised < self.capacity:
            self._granted += self._wake(self._senders.popleft(), _SERVED)

    def _wake(self, waiter: _Waiter, state: int) -> bool:
        """Wake a waiter; False: its event loop is closed, so it never continues."""
        waiter.state = state
        try:
            waiter.wake()
        except RuntimeError:
            return False
        return True

    def close(self) -> None:
        """Refuse further objects; the objects in slots can still be received.

        Senders that wait get a ClosedError, and so do receivers, as soon as nothing is left.  A
        second close does nothing.
        """
        with self._lock:
            self._is_closed = True
            self._promised = 0
            for line in (self._senders, self._receivers):
                while line:
                    self._wake(line.popleft(), _CLOSED)

    @property
    def count(self) -> int:
        """The number of objects in slots."""
        return len(self._items) - self._promised

    def __repr__(self) -> str:
        return f"<Channel with {self.count} of {self.capacity} slots taken>"

    def __iter__(self) -> Iterator[T]:
        while True:
            try:
                item = self.receive()
            except ClosedError:
                return
            yield item

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            try:
                item = await self.areceive()
            except ClosedError:
                return
            yield item
