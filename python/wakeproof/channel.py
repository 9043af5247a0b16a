# SPDX-License-Identifier: Apache-2.0
"""A bounded FIFO of objects that virtual threads and OS threads exchange.

Specs: ``specs/sync/Channel.tla``, ``specs/aio/ChannelFront.tla``.
Source: ``kernel/sync/channel.h``, ``_native/channels.c``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import calls
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.here import direct
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.wait import Wait, asleep, made, parked, told
from wakeproof.errors import ClosedError, DeadlineError, UsageError

if TYPE_CHECKING:
    from wakeproof._native.ffi import CPointer
    from wakeproof.vthread import VirtualThread

T = TypeVar("T")
MOST = 2**20
"""The largest capacity of a channel, in slots."""


class _Exchange(Wait):
    __slots__ = ("cell", "channel", "token")
    ends_by_threads, what = True, "the other side of a channel"

    def __init__(self, thread: VirtualThread, channel: Channel[T]) -> None:
        super().__init__(thread)
        self.channel = channel._native

    def check(self) -> bool:
        return lib.wp__channel_check(self.channel, self.waiter)

    def cancel(self) -> bool:
        return lib.wp__channel_cancel(self.channel, self.waiter)

    def granted(self) -> int:
        return lib.wp__waiter_result(self.waiter)


class _Send(_Exchange):
    def __init__(self, thread: VirtualThread, channel: Channel[T], number: int) -> None:
        super().__init__(thread, channel)
        self.token = ffi.cast("void *", number)

    def begin(self) -> int:
        return lib.wp__channel_begin_send(self.channel, self.token, self.waiter)

    def waits(self) -> tuple[int, int]:
        return lib.WP_WAIT_SEND, 0


class _Receive(_Exchange):
    def __init__(self, thread: VirtualThread, channel: Channel[T]) -> None:
        super().__init__(thread, channel)
        self.cell = ffi.new("void **")

    def begin(self) -> int:
        return lib.wp__channel_begin_receive(self.channel, self.cell, self.waiter)

    def waits(self) -> tuple[int, int]:
        return lib.WP_WAIT_RECEIVE, 0

    def granted(self) -> int:
        self.cell[0] = lib.wp__waiter_value(self.waiter)
        return super().granted()


class Channel(calls.ChannelCore, Unique, Generic[T]):
    """A FIFO of Python objects; each object is received exactly once.

    A sender waits while all slots are taken, and a receiver waits while the channel is empty.
    Senders are served in the order in which they came, and so are receivers.  An OS thread that
    waits blocks; a virtual thread (`VirtualThread`) parks, so that its carrier runs other work.
    Iteration receives objects until the channel is closed and empty.

    Args:
        capacity: the number of slots, 0 to 1,048,576 (`wakeproof.channel.MOST`); default 0: a
            sender waits until its object is received.

    Threads: any thread may call all methods.
    Spec: ``specs/sync/Channel.tla`` (NothingLost, Fifo, NobodyWaitsForNothing),
    ``specs/aio/ChannelFront.tla``.
    Source: ``kernel/sync/channel.h``, ``_native/channels.c``.

    Raises:
        UsageError: `capacity` is out of range.

    Example:
        >>> from wakeproof import Channel
        >>> channel = Channel(2)
        >>> channel.send("a"), channel.send("b"), channel.count
        (True, True, 2)
        >>> channel.close()
        >>> list(channel)
        ['a', 'b']
    """

    __slots__ = ("_native", "capacity")

    def __init__(self, capacity: int = 0) -> None:
        if not isinstance(capacity, int) or not 0 <= capacity <= MOST:
            raise UsageError(f"capacity is {capacity!r}; allowed: 0 to {MOST}")
        self.capacity = capacity
        self._native = made(lib.wp__channel_new(capacity), lib.wp__channel_free, "Channel")
        self._bind(int(ffi.cast("uintptr_t", self._native)), capacity)

    def send(self, item: T, timeout_s: float | None = None) -> bool:
        """Give `item` to a receiver, or put it into a slot, within `timeout_s` seconds.

        Returns True if the item was sent, False if the time ran out.

        Args:
            item: any object, None included.
            timeout_s: seconds, 0 or more; 0: do not wait; default None: wait without a limit.

        Raises:
            ClosedError: the channel is closed; the item is not sent.
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted; the item is
                not sent.

        After Ctrl-C in the main thread the item may or may not have been sent.  If it was not, the
        channel keeps a reference to it for as long as the channel lives.
        """
        deadline = deadline_ns(timeout_s)
        number, code = self._try_send(item)
        if code == lib.WP_TIMEOUT and deadline:
            return self._send_slow(number, deadline)
        return self._sent(number, code)

    def _try_send(self, item: T) -> tuple[int, int]:
        self._enter()
        number = self._keep(item)
        return number, lib.wp_channel_try_send(self._native, ffi.cast("void *", number))

    def _sent(self, number: int, code: int) -> bool:
        """End a send that has entered."""
        if code != lib.WP_OK:
            self._take(number)
        self._leave()
        return told(code, "send")

    def _send_slow(self, number: int, deadline: int | None) -> bool:
        """Send the object with that number, and wait for a slot; None: without a limit."""
        self._enter()
        until, thread = lib.WP_FOREVER if deadline is None else deadline, here.thread
        if thread is not None:
            code = parked(_Send(thread, self, number).turns(until))
        else:
            token = ffi.cast("void *", number)
            code = self._asleep(
                lambda to: lib.wp_channel_send_until(self._native, token, to), until
            )
        return self._sent(number, code)

    def _asleep(self, wait: Callable[[int], int], until: int) -> int:
        """Wait as an OS thread that has entered."""
        try:
            return asleep(wait, until)
        except BaseException:  # Ctrl-C: it waits no more
            self._leave()
            raise

    def receive(self, timeout_s: float | None = None) -> T:
        """Return the oldest object, and wait for one at most `timeout_s` seconds.

        Args:
            timeout_s: seconds, 0 or more; 0: do not wait; default None: wait without a limit.

        Raises:
            DeadlineError: the time ran out (a TimeoutError as well).
            ClosedError: the channel is closed and empty.
            UsageError: `timeout_s` is negative or not a number.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted; nothing was
                received.
        """
        deadline_ns(timeout_s)  # it is a time
        code, cell = self._try_receive()
        if code == lib.WP_OK:
            return self._received(code, cell, timeout_s)
        self._leave()
        return self._receive_slow(code, timeout_s)

    def _receive_slow(self, code: int, timeout_s: float | None) -> T:
        """Go on with a receive that has found nothing, as that code says."""
        deadline, cell = deadline_ns(timeout_s), ffi.new("void **")
        self._enter()
        if code == lib.WP_TIMEOUT and deadline:
            thread = here.thread
            if thread is None:
                code = self._asleep(
                    lambda until: lib.wp_channel_receive_until(self._native, cell, until), deadline
                )
            else:
                wait = _Receive(thread, self)
                code, cell = parked(wait.turns(deadline)), wait.cell
        return self._received(code, cell, timeout_s)

    def _try_receive(self) -> tuple[int, list[CPointer]]:
        self._enter()
        cell = ffi.new("void **")
        return lib.wp_channel_try_receive(self._native, cell), cell

    def _received(self, code: int, cell: list[CPointer], timeout_s: float | None) -> T:
        """End a receive that has entered."""
        self._leave()
        if not told(code, "receive"):
            raise DeadlineError(f"receive: nothing within {timeout_s} s")
        item: T = self._take(int(ffi.cast("uintptr_t", cell[0])))
        return item

    def close(self) -> None:
        """Refuse further objects; the objects in slots can still be received.

        Senders and receivers that wait get a ClosedError.  A second close does nothing.
        """
        self._enter()  # and never leave
        lib.wp_channel_close(self._native)

    def __repr__(self) -> str:
        return f"<Channel with {self.count} of {self.capacity} slots taken>"

    @property
    def count(self) -> int:
        """The number of objects in slots."""
        in_front: int = self._in_front
        return in_front if in_front >= 0 else lib.wp_channel_count(self._native)

    def __iter__(self) -> Iterator[T]:
        while True:
            try:
                item = self.receive()
            except ClosedError:
                return
            yield item


def _address_of(function: str) -> int:
    return int(ffi.cast("uintptr_t", ffi.addressof(lib, function)))


calls.bind_channel(
    _address_of("wp_channel_try_send"), _address_of("wp_channel_try_receive"),
    _address_of("wp_channel_count"), lib.WP_OK, lib.WP_TIMEOUT, deadline_ns, told,
)  # fmt: skip
if calls.CHANNELS_IN_C:
    del Channel.send, Channel.receive  # those of `ChannelCore` need no frame of Python
direct(Channel)
