# SPDX-License-Identifier: Apache-2.0
"""Pollers: a virtual thread of one carrier that may block in the system for all that run there.

`Carrier.register_poller` starts one.  Its body looks for what has come, has the others run, and
blocks when there is nothing to run; whoever brings something to run then calls its wakeup:

    def body(poller):
        while True:                                      # a close ends it: PollerClosedError
            poller.maybe_yield(look(0))
            with poller.try_park() as parked:
                if parked and poller.can_park():         # right before the system call
                    look(poller.until())

A second form never parks its carrier: it spins, and its wakeup may do nothing.  A third parks
itself, by `wakeproof.park`, and its carrier sleeps without it.

Spec: ``specs/Poller.tla``.  Source: ``kernel/poller.h``, ``_vthreads.c``.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wakeproof._ffi import ffi, lib
from wakeproof._handle import is_coroutine
from wakeproof._jobs import threads
from wakeproof._mount import POLL, forget, here, leave
from wakeproof.errors import (
    ClosedError,
    PollerClosedError,
    StateError,
    ThreadInterruptedError,
    UsageError,
    WrongThreadError,
)
from wakeproof.vthread import VirtualThread, context_to_start

if TYPE_CHECKING:
    from wakeproof._ffi import Null
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup

_NS = 1e9


class Park:
    """What `Poller.try_park` gives: true if the carrier is parked; a context that unparks it."""

    __slots__ = ("_is_parked",)

    def __init__(self, is_parked: bool) -> None:
        self._is_parked = is_parked

    def __bool__(self) -> bool:
        return self._is_parked

    def __enter__(self) -> bool:
        return self._is_parked

    def __exit__(self, *_: object) -> None:
        lib.wp_poller_unpark()


class Poller:
    """What a poller's body is given, for itself alone: on any other thread each method raises.

    Once the group is being closed, and all others have ended, `maybe_yield` and `try_park` raise
    PollerClosedError: let it out of the body, after what there is to clean up.
    Spec: ``specs/Poller.tla``.  Source: ``kernel/poller.h``.

    Raises:
        WrongThreadError: the caller is not this poller.
    """

    __slots__ = ("_thread", "carrier")

    def __init__(self, thread: VirtualThread, carrier: Carrier) -> None:
        self._thread, self.carrier = thread, carrier

    def maybe_yield(self, had_io: bool) -> bool:
        """Have the others run once; False: there was nothing to run.

        Also whoever comes back from its park is unparked here.

        Args:
            had_io: whether it has found anything since the last call; if not, it may steal one
                task for its carrier.

        Raises:
            PollerClosedError: the group is being closed.
        """
        thread = self._check("maybe_yield")
        code = lib.wp__poller_yield_begin(bool(had_io))
        if code == lib.WP_OK:
            if thread._pins:
                return False
            leave(thread, POLL)
            code = lib.wp__poller_yield_end()
        return self._told(code)

    def try_park(self) -> Park:
        """Park the carrier, so that who brings work calls the wakeup; false: there is some.

        ``with poller.try_park() as parked:`` unparks it, whatever is raised inside.

        Raises:
            PollerClosedError: the group is being closed.
        """
        self._check("try_park")
        return Park(self._told(lib.wp_poller_try_park()))

    def can_park(self) -> bool:
        """Whether it may block now: ask right before each system call, and keep no answer."""
        self._check("can_park")
        return lib.wp_poller_can_park()

    def until(self) -> float | None:
        """Return how many seconds it may block: until the carrier's next timer; None: no limit."""
        self._check("until")
        until = lib.wp_poller_until()
        return None if until == lib.WP_FOREVER else max(0.0, (until - lib.wp_clock_ns()) / _NS)

    def unpark(self) -> None:
        """End the park of the carrier; harmless if there is none."""
        self._check("unpark")
        lib.wp_poller_unpark()

    def _check(self, what: str) -> VirtualThread:
        thread = self._thread
        if here.thread is not thread:
            raise WrongThreadError(f"{what}: the caller is not {thread.name}, the poller of "
                                   f"{self.carrier.name}")  # fmt: skip
        return thread

    def _told(self, code: int) -> bool:
        if code == lib.WP_CLOSED:
            lib.wp_vthread_clear_interrupt()  # the close has: who cleans up may park
            raise PollerClosedError(f"{self._thread.name}: its group is being closed")
        return code == lib.WP_OK


class _PollerThread(VirtualThread):
    """Starts when it is made."""

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

    def _make(self, group: CarrierGroup, text: bytes | Null, home: int) -> None:
        made = ffi.new("wp_vthread **")
        self._context, self._is_started = context_to_start(), True
        self._home, code = home, lib.WP_CLOSED
        threads[self._number] = self
        try:
            code = lib.wp__poller_register(
                group._native, home, self._number, text, self._blocks, made
            )
        finally:  # Ctrl-C, behind the call: `Carrier.poller` has it
            if made[0]:
                self._native = made[0]
            else:
                self._is_started = False
                del threads[self._number]
                self._let_go()
        if code != lib.WP_OK:
            raise _refused(f"register {self.name}", code, group, home)


def _refused(what: str, code: int, group: CarrierGroup, home: int) -> Exception:
    carrier = group[home]
    if code == lib.WP_CLOSED:
        return ClosedError(f"{what}: the group is closed")
    if code == lib.WP_AGAIN:
        there = carrier.poller
        who = f"{there.name!r}" if there else "that of wakeproof.io"
        return StateError(f"{what}: {carrier.name} has a poller: {who}")
    if code == lib.WP_FORBIDDEN:
        count = lib.wp_poller_blocking(group._native)
        return StateError(f"{what}: it blocks; {count} of {len(group)} carriers have pollers that "
                          "do, and one more would leave none free")  # fmt: skip
    return MemoryError(f"{what}: no memory")


def _run(body: Callable[[Poller], Any], poller: Poller) -> Any:
    """Call the body; that its group is closed is no failure."""
    poller._thread._native = lib.wp_vthread_current()  # who registers it may be behind
    try:
        return body(poller)
    except PollerClosedError:
        return None
    except ThreadInterruptedError:  # a close interrupts who is parked
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
    """Start one; see `Carrier.register_poller`."""
    if not callable(wakeup):
        raise UsageError(f"wakeup is {wakeup!r}; allowed: what can be called without arguments")
    if not callable(body) or is_coroutine(body):
        raise UsageError(f"body is {body!r}; allowed: a callable, and no coroutine function")
    return _PollerThread(carrier, wakeup, body, name, bool(blocks))


def _wake(number: int) -> None:
    """Call the wakeup of that poller, in whatever thread has claimed it."""
    poller, caller = threads[number], here.thread
    here.thread = None  # it must not park who happens to run
    try:
        poller._wakeup()  # type: ignore[attr-defined]
    finally:
        here.thread = caller


def _wake_again(_: object, error: BaseException, trace: TracebackType) -> None:
    """Call it once more: a signal handler of the main thread may have raised that, before it even.

    A sticky wakeup takes no harm.  If it fails again, cffi gives both to ``sys.unraisablehook``.
    """
    number = trace.tb_frame.f_locals["number"]
    with suppress(Exception):  # a class of theirs may take no note
        error.add_note(f"in the wakeup of {threads[number].name}")
    _wake(number)
    if not isinstance(error, KeyboardInterrupt):
        raise error
    _thread.start_new_thread(_thread.interrupt_main, ())  # once the call that woke has returned


def _left(number: int) -> None:
    forget(threads[number])


WAKEUP = ffi.callback("void(uint64_t)", _wake, onerror=_wake_again)
LEFT = ffi.callback("void(uint64_t)", _left)
lib.wp__poller_hooks(WAKEUP, LEFT)
