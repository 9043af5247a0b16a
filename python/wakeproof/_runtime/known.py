# SPDX-License-Identifier: Apache-2.0
"""Make carriers known to `threading`: each is a thread with a name, in logs as well.

On a carrier ``threading.current_thread()`` returns the carrier's thread, under the name of the
virtual thread that the carrier runs at that moment.  `threading` forgets the carriers when their
group is closed.

Source: this file.
"""

from __future__ import annotations

import os
import sys
import threading
from threading import get_ident
from typing import TYPE_CHECKING, Any

from wakeproof._runtime.here import drop_at_end

if TYPE_CHECKING:
    from collections.abc import Callable

    from wakeproof.group import CarrierGroup

# The group of each OS thread that is a carrier, until that group is closed.
groups: dict[int, CarrierGroup] = {}
_threads: dict[int, CarrierThread] = {}
runs: Callable[[], Any] = int  # returns the calling virtual thread; `trampoline` sets it


class CarrierThread(threading._DummyThread):
    """One carrier, as `threading` knows it."""

    def __init__(self, name: str) -> None:
        self.carrier = name
        super().__init__()
        self.carrier = name  # not the name that Python gives it

    @property
    def _name(self) -> str:
        if get_ident() == self.ident and (thread := runs()):
            return str(thread.name)
        return self.carrier

    @_name.setter
    def _name(self, name: str) -> None:
        if getattr(self, "_ident", None) == get_ident() and (thread := runs()):
            thread._name = str(name)
        else:
            self.carrier = str(name)


def carrier_name(ident: int) -> str | None:
    """Return the name of the carrier with that OS thread; None: it is not known."""
    known = _threads.get(ident)
    return None if known is None else known.carrier


def carriers() -> list[tuple[int, int]]:
    """Return the OS threads of the known carriers: Python's number and the system's of each."""
    return [(ident, one.native_id or 0) for ident, one in list(_threads.items())]


def know(group: CarrierGroup | None) -> None:
    """Make the calling carrier known."""
    drop_at_end()
    carrier, me = None if group is None else group.running(), get_ident()
    if group is not None and carrier is not None:
        groups[me], _threads[me] = group, CarrierThread(carrier.name)
        _begin_tools()


def _begin_tools() -> None:
    """Begin on the calling carrier what `threading` begins on each of its OS threads.

    These are the functions of ``threading.settrace`` and ``setprofile``: coverage sets one.
    """
    if (trace := threading.gettrace()) is not None:
        sys.settrace(trace)
    if (profile := threading.getprofile()) is not None:
        sys.setprofile(profile)


def ident_of(group: CarrierGroup, name: str) -> int | None:
    """Return the number of the OS thread of a carrier; None: it has run nothing yet."""
    for ident, of in list(groups.items()):
        if of is group and _threads[ident].carrier == name:
            return ident
    return None


def forget(group: CarrierGroup) -> None:
    """Forget the carriers of a group, which have ended."""
    for ident in [ident for ident, of in list(groups.items()) if of is group]:
        groups.pop(ident, None)
        known = _threads.pop(ident, None)
        with threading._active_limbo_lock:  # type: ignore[attr-defined]
            active: dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined]
            if active.get(ident) is known:
                active.pop(ident, None)


def _forget_all() -> None:
    groups.clear()
    _threads.clear()


os.register_at_fork(after_in_child=_forget_all)
