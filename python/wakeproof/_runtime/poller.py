# SPDX-License-Identifier: Apache-2.0
"""How a poller that is written in Python starts, is woken, and ends.

  register        the kernel starts its thread; its body may run before the caller continues
  wakeup          [poller.1] `_wake`, in the thread that has claimed the wakeup
  its end         its body returns; no thread is in its wakeup; the carrier has none: `_left`

The main thread runs signal handlers between any two instructions of Python, so Ctrl-C may raise
before the first instruction of a wakeup, or in the wakeup.  A claimed wakeup must happen, or the
carrier sleeps for ever; hence `once_more`.

Spec: ``Poller.tla`` (WakeReachesSleeper, WakeupIsOver).  Source: ``_native/vthreads.c``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime.here import drop_at_end
from wakeproof._runtime.jobs import threads
from wakeproof._runtime.trampoline import forget, here, once_more
from wakeproof._runtime.vthread_base import is_coroutine
from wakeproof.errors import (
    ClosedError,
    PollerClosedError,
    StateError,
    ThreadInterruptedError,
    UsageError,
)
from wakeproof.poller import Poller
from wakeproof.vthread import VirtualThread, context_to_start

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup


class _PollerThread(VirtualThread):
    """The virtual thread of a poller, which starts when it is made."""

    __slots__ = ("_blocks", "_wakeup")
    _is_poller = True

    def __init__(
        self,
        carrier: Carrier,
        wakeup: Callable[[], object],
        body: Callable[[Poller], Any],
        name: str | None,
        blocks: bool,
    ) -> None:
        self._wakeup, self._blocks = wakeup, blocks
        name = f"poller-{carrier.index}" if name is None else name
        super().__init__(_run, body, Poller(self, carrier), name=name, group=carrier)

    def _make(self, group: CarrierGroup, home: int) -> None:
        made = ffi.new("wp_vthread **")
        self._context, self._is_started = context_to_start(), True
        self._home, code = home, lib.WP_CLOSED
        threads[id(self)] = self
        try:
            code = lib.wp__poller_register(
                group._native, home, id(self), self._text(group), self._blocks, made
            )
        finally:  # Ctrl-C may follow the call; `Carrier.poller` then has the thread
            if made[0]:
                self._address = int(ffi.cast("uintptr_t", made[0]))
            else:
                self._is_started = False
                del threads[id(self)]
                self._call, self._wakeup = int, int
        if code != lib.WP_OK:
            raise _refused(f"register {self.name}", code, group, home)


def _refused(what: str, code: int, group: CarrierGroup, home: int) -> Exception:
    carrier = group[home]
    if code == lib.WP_CLOSED:
        return ClosedError(f"{what}: the group is closed")
    if code == lib.WP_ALREADY:
        there = carrier.poller
        who = f"{there.name!r}" if there else "that of wakeproof.io"
        return StateError(f"{what}: {carrier.name} has a poller: {who}")
    if code == lib.WP_FORBIDDEN:
        count = lib.wp_poller_blocking(group._native)
        return StateError(f"{what}: it blocks; {count} of {len(group)} carriers have pollers that "
                          "do, and one more would leave none free")  # fmt: skip
    return MemoryError(f"{what}: no memory")


def _run(body: Callable[[Poller], Any], poller: Poller) -> Any:
    """Call the body; if it ends because the group is closed, that is not a failure."""
    # the registering thread may not have set it yet
    poller._thread._address = int(ffi.cast("uintptr_t", lib.wp_vthread_current()))
    try:
        return body(poller)
    except PollerClosedError:
        return None
    except ThreadInterruptedError:  # a close interrupts parked threads
        if lib.wp__poller_yield_begin(True) != lib.WP_CLOSED:
            raise
        return None


def register(
    carrier: Carrier,
    wakeup: Callable[[], object],
    body: Callable[[Poller], Any],
    name: str | None,
    blocks: bool,
) -> VirtualThread:
    """Start a poller; see `Carrier.register_poller`."""
    if not callable(wakeup):
        raise UsageError(f"wakeup is {wakeup!r}; allowed: a callable without arguments")
    if not callable(body) or is_coroutine(body):
        raise UsageError(f"body is {body!r}; allowed: a callable, and no coroutine function")
    return _PollerThread(carrier, wakeup, body, name, bool(blocks))


def _wake(number: int) -> None:
    """Call the wakeup of a poller, in the thread that has claimed the wakeup."""
    drop_at_end()
    poller, caller = threads[number], here.thread
    here.thread = None  # the wakeup must not park the virtual thread that runs here
    try:
        poller._wakeup()  # type: ignore[attr-defined]
    finally:
        here.thread = caller


def _left(number: int) -> None:
    thread = threads[number]
    forget(thread)
    thread._wakeup = int  # type: ignore[attr-defined]


WAKEUP = ffi.callback("void(uint64_t)", _wake, onerror=once_more(_wake, "wakeup"))
LEFT = ffi.callback("void(uint64_t)", _left)
lib.wp__poller_hooks(WAKEUP, LEFT)
