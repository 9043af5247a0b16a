# SPDX-License-Identifier: Apache-2.0
"""``select``, ``poll`` and ``epoll`` park, and with them ``selectors``, ``asyncio`` and others.

Each call looks without waiting, as the standard library does it; if nothing is ready the virtual
thread parks until something is, and looks again.
"""

from __future__ import annotations

import ctypes
import select
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from wakeproof._native.ffi import lib
from wakeproof._runtime import watch
from wakeproof._runtime.descriptor import FIRST_NAP_NS, LONGEST_NAP_NS, READ, WRITE
from wakeproof._runtime.ready import ready
from wakeproof._runtime.stdlib.replacement import Function, Replacement

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

Made = Callable[..., Any]
_S_PER_MS = 1e-3
_LONGEST_S = 2**31 * _S_PER_MS
_OF_LISTS = (select.POLLIN, select.POLLOUT, select.POLLPRI)
_SIDES = {select.POLLIN: READ, select.POLLOUT: WRITE}


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    yield Function(select, "select", _select)
    yield Function(type(select.poll()), "poll", _poll)
    yield Function(select.epoll, "poll", _epoll)
    yield Function(select.epoll, "close", _close)


def _caller(timeout: object, unit_s: float = 1) -> VirtualThread | None:
    """Return the calling virtual thread, if it may park for that timeout.

    The standard library refuses timeouts that are longer than an int of milliseconds.
    """
    if timeout is None:
        return watch.caller()
    if not isinstance(timeout, int | float) or timeout == 0:
        return None
    return watch.caller() if abs(timeout) * unit_s < _LONGEST_S else None


def _found(
    thread: VirtualThread,
    look: Callable[[], Any],
    wanted: Callable[[], Mapping[int, int]],
    timeout_s: float | None,
) -> Any:
    """Look until something of the wanted is ready, or the time runs out."""
    until = watch.until_of(timeout_s)
    found, nap_ns = look(), 0
    while not any(found) and _is_ready(thread, wanted(), until):
        found = look()
        # An event that the call does not report, such as the end of a stream that one writes to.
        if nap_ns and not any(found) and not watch.nap(nap_ns, until):
            break
        nap_ns = min(2 * nap_ns or FIRST_NAP_NS, LONGEST_NAP_NS)
    return found


def _is_ready(thread: VirtualThread, wanted: Mapping[int, int], until: int) -> bool:
    if not wanted:
        return watch.nap(lib.WP_FOREVER, until)
    if len(wanted) == 1:
        [(fd, events)] = wanted.items()
        if events in _SIDES:
            return watch.wait(thread, fd, _SIDES[events], until)
    return bool(ready(wanted, until))


def _select(original: Made) -> Made:
    def select_(reads: Any, writes: Any, others: Any, timeout: Any = None, /) -> Any:
        thread = None if timeout is not None and timeout < 0 else _caller(timeout)
        if thread is None:
            return original(reads, writes, others, timeout)
        lists = [each if isinstance(each, list) else list(each) for each in (reads, writes, others)]
        wanted = partial(_events_of, *lists)
        return _found(thread, partial(original, *lists, 0), wanted, timeout)

    return select_


def _events_of(*lists: list[Any]) -> dict[int, int]:
    wanted: dict[int, int] = {}
    for files, events in zip(lists, _OF_LISTS, strict=True):
        for file in files:
            fd = file if isinstance(file, int) else file.fileno()
            wanted[fd] = wanted.get(fd, 0) | events
    return wanted


def _registered(poll: select.poll) -> dict[int, int]:
    """Return the descriptors of a poll object and their events.

    It has no method for that: the dict is the first field of pollObject, in
    Modules/selectmodule.c of CPython 3.11 to 3.13; `_KNOWS` makes sure of it.
    """
    field = ctypes.py_object.from_address(id(poll) + object.__basicsize__)
    return cast("dict[int, int]", field.value)


def _knows() -> bool:
    probe = select.poll()
    probe.register(0, select.POLLIN)
    return _registered(probe) == {0: select.POLLIN}


def _poll(original: Made) -> Made:
    if not _knows():
        raise TypeError("the poll objects of this Python are others than those known here")
    under_way: set[int] = set()  # the poll objects that virtual threads poll

    def poll(self: select.poll, timeout: Any = None, /) -> Any:
        thread = _caller(timeout, _S_PER_MS)
        if thread is None:
            return original(self, timeout)
        if id(self) in under_way:
            raise RuntimeError("concurrent poll() invocation")
        timeout_s = None if timeout is None or timeout < 0 else timeout * _S_PER_MS
        look = partial(original, self, 0)
        under_way.add(id(self))
        try:
            return _found(thread, look, partial(_registered, self), timeout_s)
        finally:
            under_way.discard(id(self))

    return poll


def _epoll(original: Made) -> Made:
    def poll(self: select.epoll, timeout: Any = None, maxevents: int = -1) -> Any:
        thread = _caller(timeout)
        if thread is None:
            return original(self, timeout, maxevents)
        until = watch.until_of(None if timeout is None or timeout < 0 else timeout)
        while not (found := original(self, 0, maxevents)):
            if not watch.wait(thread, self.fileno(), READ, until, lib.WP_WAIT_READ):
                break
        return found

    return poll


def _close(original: Made) -> Made:
    def close(self: select.epoll) -> Any:
        if not self.closed:
            watch.closed(self.fileno())
        return original(self)

    return close
