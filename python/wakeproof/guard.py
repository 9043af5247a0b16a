# SPDX-License-Identifier: Apache-2.0
"""Guards let one poller block without missing queued work.

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
    """What the poller has done with one guard since it was made; counted by the poller.

    Attributes:
        enters: calls of `enter`.
        blocks: those that said that the poller may block.
        claims: announcements that a producer answered with a wake.
    """

    enters: int
    blocks: int
    claims: int


class WakeupGuard:
    """Lets a poller block in the kernel, and its producers skip the wake unless it does.

    The poller, around whatever it blocks in (a selector, a socket, a `Parker`)::

        if guard.enter(lambda: not queue):
            selector.select(guard.max_block_s)
        guard.exit()

    A producer: append to the queue, then ``guard.wakeup()``.  The transport must be *sticky*: a
    wake that comes before the block must end it (eventfd, socket, permit).  For one that is not
    (a condition variable) use `RendezvousGuard`.

    Args:
        wakeup: the transport, called by one producer for each announced sleep; any thread.
        fences: "symmetric", or "asymmetric" for pollers that sleep rarely: wakeups get about
            2 ns cheaper, each `enter` costs microseconds.  Symmetric where the system forbids it.

    Threads: `enter`, `exit` and `statistics` belong to the poller; `wakeup` to any thread.
    Spec: ``Guard.tla`` (NoLostWakeup, WakeIsClaimed).  Source: ``kernel/wakeup/guard.h``.

    Raises:
        ValueError: `fences` is neither of the two.
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
        """How long the poller may block after this `enter`, in seconds; None: as long as it likes.

        0.001 when the system refused the heavy fence of an asymmetric guard: a wake may then be
        missed, so the poller has to look again by itself.
        """
        return lib.WP_GUARD_NAP_NS / NS_PER_S if self._fence_failed else None

    def enter(self, idle: Callable[[], bool]) -> bool:
        """Announce a sleep, then ask `idle` whether there is really nothing to do.

        Returns what `idle` said.  True: block now, at most `max_block_s`, then call `exit`.
        False, or an exception of `idle`: the announcement is taken back before this returns.
        A producer that answered it has called the transport, or is about to: that wake stays
        in the transport, and the next block returns at once.
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
        """Take the announcement back, after the block; harmless when there is none.

        Returns True if a producer answered it: a wake is in the transport or on its way there.
        """
        if not self._announced:
            return False
        self._announced = False
        claimed = not lib.wp_guard_leave(self._guard)
        self._claims += claimed
        return claimed

    def wakeup(self) -> bool:
        """Call the transport if the poller announced a sleep; call this after each push.

        Returns True if this call did.  If the transport raises, the exception comes out here and
        the wake is owed again: the next `wakeup`, of any thread, calls the transport.
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
        """Return what has happened so far."""
        return GuardStatistics(self._enters, self._blocks, self._claims)


class RendezvousGuard:
    """A guard with its own place to block: check and wait meet the claim under one lock.

    The poller: ``guard.wait(lambda: not queue)``, then look at the queue, in a loop.  A producer:
    append to the queue, then ``guard.wakeup()``, which costs no system call while it is awake.

    Args:
        fences: as in `WakeupGuard`.

    Threads: `wait` belongs to the poller; `wakeup` to any thread.
    Spec: ``specs/wakeup/Guard.tla`` (rendezvous signals).  Source: ``kernel/wakeup/guard.h``.

    Raises:
        ValueError: `fences` is neither of the two.
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
        """Announce a sleep, ask `idle`, and sleep if it says True, at most `timeout_s` seconds.

        Returns True: look at the queue (`idle` said False, or a producer woke us); False: the time
        ran out.  The announcement is taken back on every way out, an exception of `idle` included.

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
        """Wake the poller if it announced a sleep; call this after each push.

        Returns True if this call woke it.
        """
        return lib.wp_rendezvous_signal(self._rendezvous)
