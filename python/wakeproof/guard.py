# SPDX-License-Identifier: Apache-2.0
"""Guards let one poller block in a system call without missing queued work.

Spec: ``specs/wakeup/Guard.tla``.  Source: ``kernel/wakeup/guard.h``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime.deadline import NS_PER_S, deadline_ns
from wakeproof.errors import UsageError

Fences = Literal["symmetric", "asymmetric"]


def _is_asymmetric(fences: str) -> bool:
    if fences not in ("symmetric", "asymmetric"):
        raise UsageError(f"fences is {fences!r}; allowed: 'symmetric', 'asymmetric'")
    return fences == "asymmetric"


def _in_force(asymmetric: bool) -> Fences:
    return "asymmetric" if asymmetric else "symmetric"


@dataclass(frozen=True)
class GuardStatistics:
    """What the poller has done with one guard since the guard was made.

    Attributes:
        enters: calls of `enter`.
        blocks: calls of `enter` that let the poller block.
        claims: announcements of a sleep to which a producer reacted with a wakeup.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import WakeupGuard
        >>> guard = WakeupGuard(lambda: None)
        >>> guard.enter(lambda: False)
        False
        >>> guard.statistics()
        GuardStatistics(enters=1, blocks=0, claims=0)
    """

    enters: int
    blocks: int
    claims: int


class WakeupGuard:
    """An eventcount: one thread waits for work in a queue, and producers wake it only if it sleeps.

    The *poller* is the one thread that takes work from the queue, and blocks when there is none.
    It calls `enter` before and `exit` after the call that blocks (of a selector, a socket or a
    `Parker`).  A *producer* is any thread that appends to the queue; afterwards it calls the
    guard's `wakeup`.

    The *transport* is what wakes the poller, such as a write to an eventfd.  It must be *sticky*: a
    wakeup that comes before the block must end the block (as with an eventfd, a socket or a
    `Parker`).  For a transport that is not sticky, such as a condition variable, use
    `RendezvousGuard`.

    Args:
        wakeup: the transport, a callable without arguments.  For each announced sleep at most one
            producer calls it, in the producer's thread.
        fences: the memory fences of the two sides.  "symmetric" (default); or "asymmetric", for
            pollers that sleep rarely: a wakeup then costs about 2 ns less, and each `enter` costs
            microseconds.  If the system forbids asymmetric fences, symmetric ones are used.

    Threads: `enter`, `exit` and `statistics` belong to the poller; any thread may call `wakeup`.
    Spec: ``Guard.tla`` (NoLostWakeup, WakeIsClaimed).  Source: ``kernel/wakeup/guard.h``.

    Raises:
        ValueError: `fences` is neither of the two.

    Example:
        >>> from wakeproof import Parker, WakeupGuard
        >>> parker, queue = Parker(), []
        >>> guard = WakeupGuard(parker.unpark)
        >>> if guard.enter(lambda: not queue):  # the poller announces a sleep
        ...     queue.append("work")  # a producer pushes, and wakes the poller
        ...     guard.wakeup()
        ...     parker.park(guard.max_block_s)  # so the poller does not block
        True
        True
        >>> guard.exit()
        True
    """

    def __init__(self, wakeup: Callable[[], object], *, fences: Fences = "symmetric") -> None:
        guard = lib.wp__guard_new(_is_asymmetric(fences))
        if not guard:
            raise MemoryError("WakeupGuard: no memory")
        self._guard = ffi.gc(guard, lib.wp__guard_free)
        self._transport = wakeup
        self._announced = False
        self._fence_failed = False
        self._enters = self._blocks = self._claims = 0

    @property
    def fences(self) -> Fences:
        """The pair of fences in force."""
        return _in_force(lib.wp__guard_is_asymmetric(self._guard))

    @property
    def max_block_s(self) -> float | None:
        """The seconds for which the poller may block after this `enter`; None: without a limit.

        It is 0.001 if the system refused the expensive fence of an asymmetric guard.  A wakeup may
        then be missed, so the poller has to check the queue again after that time.
        """
        return lib.WP_GUARD_NAP_NS / NS_PER_S if self._fence_failed else None

    def enter(self, idle: Callable[[], bool]) -> bool:
        """Announce a sleep, then call `idle` to check that there is nothing to do.

        Args:
            idle: a callable without arguments that returns whether the queue is empty.

        Returns what `idle` returned.  True: block now, for at most `max_block_s`, then call `exit`.
        False, or an exception of `idle`: the announcement is withdrawn before this returns.  If a
        producer has already seen the announcement, it has called the transport, or is about to;
        that wakeup stays in the transport, and the next block returns immediately.
        """
        may_block = False
        try:
            self._enters += 1
            self._announced = True
            self._fence_failed = lib.wp_guard_announce(self._guard) != lib.WP_OK
            may_block = bool(idle())
            self._blocks += may_block
        finally:
            if not may_block:
                self.exit()
        return may_block

    def exit(self) -> bool:
        """Withdraw the announcement after the block; without an announcement this does nothing.

        Returns True if a producer has reacted to the announcement: a wakeup is in the transport, or
        on its way there.
        """
        if not self._announced:
            return False
        self._announced = False
        claimed = not lib.wp_guard_leave(self._guard)
        self._claims += claimed
        return claimed

    def wakeup(self) -> bool:
        """Call the transport if the poller has announced a sleep; call this after each push.

        Returns True if this call called the transport.  If the transport raises, this call raises
        the same exception, and the next `wakeup`, of any thread, calls the transport again.
        """
        if not lib.wp_guard_signal(self._guard):
            return False
        try:
            self._transport()
        except BaseException:
            lib.wp_guard_announce(self._guard)  # at worst one redundant wake later
            raise
        return True

    def statistics(self) -> GuardStatistics:
        """Return what the poller has counted so far."""
        return GuardStatistics(self._enters, self._blocks, self._claims)


class RendezvousGuard:
    """An eventcount with its own way to block: the wait and the wakeup share one lock.

    The *poller* is the one thread that takes work from a queue: in a loop it calls `wait`, and then
    checks the queue.  A *producer* is any thread that appends to the queue; afterwards it calls
    `wakeup`, which makes no system call while the poller is awake.  See `WakeupGuard` for a poller
    that blocks in a system call of its own.

    Args:
        fences: as in `WakeupGuard`.

    Threads: `wait` belongs to the poller; any thread may call `wakeup`.
    Spec: ``specs/wakeup/Guard.tla`` (rendezvous signals).  Source: ``kernel/wakeup/guard.h``.

    Raises:
        ValueError: `fences` is neither of the two.

    Example:
        >>> from wakeproof import CarrierGroup, RendezvousGuard
        >>> guard, queue = RendezvousGuard(), []
        >>> def produce():
        ...     queue.append("work")
        ...     guard.wakeup()
        >>> with CarrierGroup(1) as group:
        ...     done = group.submit(produce)
        ...     while not queue:
        ...         woken = guard.wait(lambda: not queue)
        >>> queue
        ['work']
    """

    def __init__(self, *, fences: Fences = "symmetric") -> None:
        rendezvous = lib.wp__rendezvous_new(_is_asymmetric(fences))
        if not rendezvous:
            raise MemoryError("RendezvousGuard: no memory")
        self._rendezvous = ffi.gc(rendezvous, lib.wp__rendezvous_free)

    @property
    def fences(self) -> Fences:
        """The pair of fences in force."""
        return _in_force(lib.wp__rendezvous_is_asymmetric(self._rendezvous))

    def wait(self, idle: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Announce a sleep, call `idle`, and sleep if it returns True.

        Args:
            idle: a callable without arguments that returns whether the queue is empty.
            timeout_s: seconds, 0 or more; default None: sleep without a limit.

        Returns True if the queue should be checked: `idle` returned False, or a producer woke the
        poller.  Returns False if the time ran out.  The announcement is withdrawn in every case,
        also when `idle` raises.

        Raises:
            ValueError: `timeout_s` is negative or not a number.
        """
        deadline = deadline_ns(timeout_s)
        guard = lib.wp__rendezvous_guard(self._rendezvous)
        try:
            sound = lib.wp_guard_announce(guard) == lib.WP_OK
            if not idle():
                return True
            nap = lib.WP_FOREVER if sound else lib.wp_clock_ns() + lib.WP_GUARD_NAP_NS
            code = lib.WP_INTERRUPTED
            while code == lib.WP_INTERRUPTED:  # the interpreter runs its handlers here
                code = lib.wp_rendezvous_block_interruptible(self._rendezvous, min(deadline, nap))
            return code == lib.WP_OK or nap < deadline
        finally:
            lib.wp_guard_leave(guard)

    def wakeup(self) -> bool:
        """Wake the poller if it has announced a sleep; call this after each push.

        Returns True if this call woke it.
        """
        return lib.wp_rendezvous_signal(self._rendezvous)
