# SPDX-License-Identifier: Apache-2.0
"""Wait until one of several descriptors is ready, whose owner and flags stay as they are.

  OS thread        poll(2)
  virtual thread   poll(2) without waiting; nothing is ready: an epoll of the descriptors, made for
                   this wait, is waited for (`watch`), because it is readable when one of them is
                   ready: poll again

The epoll holds the open files and not their numbers.  So a number that is closed and given to
another file during the wait reports nothing of that file.

Spec: ``specs/io/Descriptor.tla``.  Source: ``_native/watch.h``.
"""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Mapping
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING, Protocol

from wakeproof._native.ffi import lib
from wakeproof._runtime import watch
from wakeproof._runtime.descriptor import NS_PER_MS, READ, block, closed
from wakeproof._runtime.signal import interrupted
from wakeproof._runtime.trampoline import here, parks
from wakeproof._runtime.wait import Turns, parked
from wakeproof.errors import UsageError

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread


class SupportsFileno(Protocol):
    """An object of a descriptor."""

    def fileno(self) -> int:
        """Return the descriptor's number."""


Events = list[tuple[int, int]]
"""Descriptors and their events, as `select.poll` gives them."""

HasFileno = int | SupportsFileno

_LONGEST_MS = 1_000_000_000  # an int of poll(2)


def masks(file: HasFileno, read: bool, write: bool) -> tuple[int, int]:
    """Return the descriptor of a file, and the events of `select.poll` to wait for.

    Raises:
        UsageError: there is nothing to wait for, or `file` has no descriptor.
    """
    if not read and not write:
        raise UsageError("read and write are false; allowed: at least one is true")
    if isinstance(file, bool) or not (isinstance(file, int) or hasattr(file, "fileno")):
        raise UsageError(f"file is {file!r}; allowed: a descriptor or an object with fileno()")
    fd = file if isinstance(file, int) else file.fileno()
    if fd < 0:
        raise OSError(errno.EBADF, f"descriptor {fd}: {os.strerror(errno.EBADF)}")
    return fd, (select.POLLIN if read else 0) | (select.POLLOUT if write else 0)


def events_of(found: Events, wanted: int) -> int:
    """Return the events of one descriptor as those of `selectors`.

    Raises:
        OSError: it is not open.
    """
    events = 0
    for fd, seen in found:
        if seen & select.POLLNVAL:
            raise OSError(errno.EBADF, f"descriptor {fd}: {os.strerror(errno.EBADF)}")
        ends = seen & ~(select.POLLIN | select.POLLOUT)  # an error, or the other side's close
        if wanted & select.POLLIN and (seen & select.POLLIN or ends):
            events |= EVENT_READ
        if wanted & select.POLLOUT and (seen & select.POLLOUT or ends):
            events |= EVENT_WRITE
    return events


def looked(poll: select.poll) -> Events:
    """Return what is ready now.

    Raises:
        BlockingIOError: nothing is.
    """
    found = poll.poll(0)
    if not found:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return found


def polls(wanted: Mapping[int, int]) -> select.poll:
    """Return an object that polls the descriptors for their events."""
    poll = select.poll()
    for fd, events in wanted.items():
        poll.register(fd, events)
    return poll


def ready(wanted: Mapping[int, int], deadline: int) -> Events:
    """Wait until a descriptor is ready, and return all that are; an empty list: the time ran out.

    Args:
        wanted: for each descriptor the events of `select.poll`, such as ``select.POLLIN``.
        deadline: as of `deadline_ns`; 0: do not wait.

    Raises:
        OSError: the system cannot watch a descriptor.
        ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
    """
    poll = polls(wanted)
    found = poll.poll(0)
    thread = here.thread
    if found or deadline == 0:
        return found
    if thread is None:
        return _asleep(poll, deadline)
    if parks() is None:
        code, found = block(poll, deadline, thread, lambda: False)
        return told(thread, code, found)
    return told(thread, parked(turns(thread, wanted, poll, deadline, found)), found)


def _asleep(poll: select.poll, deadline: int) -> Events:
    while True:
        left_ms = -(-(deadline - lib.wp_clock_ns()) // NS_PER_MS)
        if deadline == lib.WP_FOREVER or left_ms > _LONGEST_MS:
            left_ms = _LONGEST_MS
        found = poll.poll(max(left_ms, 0))
        if found or left_ms <= 0:
            return found


def told(thread: VirtualThread, code: int, found: Events) -> Events:
    """Return what the turns have found, or raise the error of their `code`."""
    if code == lib.WP_INTERRUPTED:
        raise interrupted(thread)
    if code not in (lib.WP_OK, lib.WP_TIMEOUT):
        raise closed("wait")
    return found


def turns(
    thread: VirtualThread,
    wanted: Mapping[int, int],
    poll: select.poll,
    deadline: int,
    found: Events,
) -> Turns:
    """Wait as a virtual thread, and put what is ready into `found`."""
    watch.has_pollers(thread._group)  # else there will be naps
    epoll, all_found = watch.epoll_of(wanted), list[Events]()
    code = yield from watch.turns(
        thread, epoll.fileno(), READ, deadline, partial(looked, poll), all_found, epoll=epoll
    )
    found += all_found[0] if all_found else ()
    return code
