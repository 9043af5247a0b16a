# SPDX-License-Identifier: Apache-2.0
"""Pollers: virtual threads that collect events, and block when their carrier has nothing to do.

A carrier is an OS thread that runs tasks and virtual threads (`CarrierGroup`).
`Carrier.register_poller` starts a poller on it.  The body of the poller checks for events, lets the
carrier run its tasks, and blocks in a system call when there is nothing to run.  A thread that then
brings a task for the carrier calls the poller's *wakeup*, which ends the system call::

    def body(poller):
        while True:                                      # a close ends it: PollerClosedError
            poller.maybe_yield(look(0))                  # look: collects events, for 0 seconds
            with poller.try_park() as parked:
                if parked and poller.can_park():         # right before the system call
                    look(poller.until())

There are two other forms.  A poller that never parks its carrier spins, and its wakeup may do
nothing.  A poller that parks itself with `wakeproof.park` lets its carrier sleep by itself.

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
    """The result of `Poller.try_park`: true if the carrier is parked; a block's end unparks it."""

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
    """The object by which the body of a poller runs and parks its carrier.

    A *poller* is a virtual thread that collects events, and blocks in a system call when its
    carrier (an OS thread of a `CarrierGroup`) has nothing else to run.  `Carrier.register_poller`
    starts it.  Once its group is being closed and all other threads have ended, `maybe_yield` and
    `try_park` raise PollerClosedError: clean up, and let the error leave the body.

    Attributes:
        carrier: the `Carrier` that it polls for.

    Threads: only the poller's own virtual thread; in any other thread each method raises an error.
    Spec: ``specs/sched/Poller.tla``.  Source: ``kernel/sched/poller.h``.

    Raises:
        WrongThreadError: the caller is not this poller.

    Example:
        >>> import select, socket
        >>> from wakeproof import CarrierGroup
        >>> ours, theirs = socket.socketpair()
        >>> def body(poller):
        ...     while True:
        ...         poller.maybe_yield(False)
        ...         with poller.try_park() as parked:
        ...             if parked and poller.can_park():
        ...                 if select.select([ours], [], [], poller.until())[0]:
        ...                     ours.recv(100)
        >>> with CarrierGroup(1) as group:
        ...     poller = group[0].register_poller(lambda: theirs.send(b"x"), body)
        ...     group.submit(len, "abc").result()
        3
        >>> ours.close(), theirs.close()
        (None, None)
    """

    __slots__ = ("_thread", "carrier")

    def __init__(self, thread: VirtualThread, carrier: Carrier) -> None:
        self._thread, self.carrier = thread, carrier

    def maybe_yield(self, had_io: bool) -> bool:
        """Let the carrier run its tasks; return False if there was nothing to run.

        If the carrier is still parked, this call unparks it first.

        Args:
            had_io: whether the poller has found an event since the last call.  If not, the carrier
                may steal one task from another carrier.

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
        """Park the carrier: from now on a thread that brings a task for it calls the wakeup.

        The result is false if there is something to run, and the carrier is not parked then.  The
        block ``with poller.try_park() as parked:`` unparks the carrier at its end, also after an
        exception; without such a block call `unpark`.

        Raises:
            PollerClosedError: the group is being closed.
        """
        self._check("try_park")
        return Park(self._told(lib.wp_poller_try_park()))

    def can_park(self) -> bool:
        """Return whether the poller may block now.

        Call it right before each system call, and do not keep the answer.
        """
        self._check("can_park")
        return lib.wp_poller_can_park()

    def until(self) -> float | None:
        """Return the seconds for which the poller may block: until the carrier's next timer.

        None: without a limit.  Call it after the carrier is parked: a timer that is set later calls
        the wakeup.
        """
        self._check("until")
        until = lib.wp_poller_until()
        return None if until == lib.WP_FOREVER else max(0.0, (until - lib.wp_clock_ns()) / _NS)

    def unpark(self) -> None:
        """Unpark the carrier; if it is not parked, this does nothing."""
        self._check("unpark")
        lib.wp_poller_unpark()

    def _check(self, what: str) -> VirtualThread:
        thread = self._thread
        if here.thread is not thread:
            raise WrongThreadError(
                f"{what}: the caller is not {thread.name}, the poller of {self.carrier.name}; "
                "call it in the poller's body"
            )
        return thread

    def _told(self, code: int) -> bool:
        if code == lib.WP_CLOSED:
            lib.wp_vthread_clear_interrupt()  # the close has interrupted it; its clean-up may park
            raise PollerClosedError(f"{self._thread.name}: its group is being closed")
        return code == lib.WP_OK
