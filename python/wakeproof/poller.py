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

Spec: ``specs/sched/Poller.tla``.  Source: ``kernel/sched/poller.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wakeproof._native.ffi import lib
from wakeproof._runtime.trampoline import POLL, here, leave
from wakeproof.errors import PollerClosedError, WrongThreadError

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.vthread import VirtualThread

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
    Spec: ``specs/sched/Poller.tla``.  Source: ``kernel/sched/poller.h``.

    Raises:
        WrongThreadError: the caller is not this poller.
    """

    __slots__ = ("_thread", "carrier")

    def __init__(self, thread: VirtualThread, carrier: Carrier) -> None:
        self._thread, self.carrier = thread, carrier

    def maybe_yield(self, had_io: bool) -> bool:
        """Have the others run; False: there was nothing to run.

        A park of the carrier that was not ended ends here.

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
        """Park the carrier, so that who brings work calls the wakeup; false: there is work.

        ``with poller.try_park() as parked:`` unparks it, whatever is raised inside; without that,
        call `unpark`.

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
        """Return how many seconds to block at most: to the carrier's next timer; None: no limit.

        Ask when it is parked: one that is armed later ends the sleep by a wakeup.
        """
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
