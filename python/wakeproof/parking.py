# SPDX-License-Identifier: Apache-2.0
"""Calls by which a virtual thread parks, sleeps or yields, and by which a task announces a block.

They are for plain callables.  A coroutine function awaits the functions of `wakeproof.coroutine`
instead: those of this module would block its carrier, and are then counted in
`CarrierCounts.pinned`.

Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import lib
from wakeproof._runtime import process, trampoline
from wakeproof._runtime.core import yield_here
from wakeproof._runtime.deadline import deadline_ns, sleep_ns
from wakeproof._runtime.signal import interrupted as _interrupted
from wakeproof._runtime.trampoline import here

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

# The virtual threads, by number, and OS threads, by negative number, that are in `blocking`.
announced: set[int] = set()
_LONGEST_S = 1e9  # about 31 years, for OS threads: time.sleep refuses much longer sleeps


def current() -> VirtualThread | None:
    """Return the calling virtual thread; None if the caller is an OS thread and not virtual.

    A greenlet that a virtual thread has made counts as that virtual thread.

    Threads: any thread may call it.

    Example:
        >>> from wakeproof import current
        >>> current() is None
        True
    """
    return here.thread


def park(timeout_s: float | None = None) -> bool:
    """Wait until the calling virtual thread has its permit, and take the permit.

    Each `VirtualThread` has one permit, which `VirtualThread.unpark` gives.  While the thread waits
    it is parked: its carrier, the OS thread that runs it, does other work.

    Returns True if the permit was taken, False if the time ran out.  The permit may have been given
    long ago: so check the condition for which you wait, and park again if it is false.

    Args:
        timeout_s: seconds, 0 or more; 0: do not wait; default None: wait without a limit.

    Threads: virtual threads only.

    Raises:
        WrongThreadError: the caller is not a virtual thread; OS threads have `Parker`.
        UsageError: `timeout_s` is negative or not a number.
        ThreadInterruptedError: the caller was interrupted; its permit may have been taken.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThread, park
        >>> with CarrierGroup(1) as group:
        ...     thread = VirtualThread(park, group=group).start()
        ...     thread.unpark()
        ...     thread.result()
        True
    """
    thread = trampoline.caller("park")
    code = trampoline.park(thread, deadline_ns(timeout_s))
    if code == lib.WP_INTERRUPTED:
        raise _interrupted(thread)
    return code == lib.WP_OK


def sleep(seconds: float) -> None:
    """Wait for `seconds`; an unpark does not end this wait.

    A virtual thread (`VirtualThread`) parks: its carrier, the OS thread that runs it, does other
    work meanwhile.  An OS thread blocks, as in `time.sleep`.

    Args:
        seconds: 0 or more; 0: as `yield_now`.

    Threads: any thread may call it.

    Raises:
        UsageError: `seconds` is negative or not a number.
        ThreadInterruptedError: the caller is a virtual thread, and was interrupted.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThread, sleep
        >>> with CarrierGroup(1) as group:
        ...     VirtualThread(sleep, 0.001, group=group).start().join()
        True
    """
    deadline = sleep_ns(seconds)
    thread = here.thread
    if thread is None:
        time.sleep(min(seconds, _LONGEST_S))
        return
    had_permit = False
    while (code := trampoline.park(thread, deadline, lib.WP_WAIT_SLEEP)) == lib.WP_OK:
        had_permit = True
    if had_permit:
        thread._tell(lib.wp_vthread_unpark)
    if code == lib.WP_INTERRUPTED:
        raise _interrupted(thread)
    if deadline == 0:
        yield_now()


def yield_now() -> None:
    """Let other work run first, and then continue.

    A virtual thread (`VirtualThread`) is queued again at its carrier, the OS thread that runs it,
    and the carrier runs what was queued there before.  In a `pinned` section and in a coroutine
    function this call does nothing.  In an OS thread it lets another OS thread run.

    Threads: any thread may call it.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThread, yield_now
        >>> def two_steps():
        ...     yield_now()
        ...     return "done"
        >>> with CarrierGroup(1) as group:
        ...     VirtualThread(two_steps, group=group).start().result()
        'done'
    """
    if not yield_here():
        time.sleep(0)


def submit_and_yield(thread: VirtualThread[Any]) -> None:
    """Start a virtual thread, or unpark it if it was started, and then let it run.

    The caller yields as in `yield_now`.  In a group with bounded run queues
    (`wakeproof.config.Tuning`) the thread runs next, if its home is this carrier and nothing else
    is queued here; in other groups it is queued as any other.  In a `pinned` section, in a
    coroutine function and in an OS thread the call only starts or unparks.

    Args:
        thread: a thread that the caller has made and not started, or any thread that was started.

    Threads: any thread may call it.

    Raises:
        ClosedError: the group of a thread that was not started is closed, or being closed.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThread, submit_and_yield
        >>> def hands_over():
        ...     other = VirtualThread(print, "the other runs")
        ...     submit_and_yield(other)
        ...     print("and then the caller")
        >>> with CarrierGroup(1) as group:
        ...     VirtualThread(hands_over, group=group).start().result()
        the other runs
        and then the caller
    """
    thread._submit_next()
    if here.thread is not None:
        yield_now()


def interrupted() -> bool:
    """Clear the interrupt flag of the caller, and return whether the flag was set.

    `VirtualThread.interrupt` sets the flag of a virtual thread.  An OS thread has no such flag, so
    this returns False there.

    Threads: any thread may call it.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThread, interrupted
        >>> with CarrierGroup(1) as group:
        ...     thread = VirtualThread(interrupted, group=group)
        ...     thread.interrupt()
        ...     thread.start().result()
        True
    """
    return here.thread is not None and lib.wp_vthread_clear_interrupt()


@contextmanager
def pinned() -> Iterator[None]:
    """Keep the calling virtual thread on its carrier in this block.

    A virtual thread that waits usually leaves its carrier, the OS thread that runs it.  In this
    block it blocks the carrier instead, and `CarrierCounts.pinned` counts the wait.  The wait is
    announced as by `blocking`: in a group with `Compensation` other carriers take over what is
    queued there, except for pinned threads and callables that have begun there.  Blocks nest.  In
    an OS thread the block does nothing.

    Threads: any thread may use it.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThread, pinned, sleep
        >>> def stays():
        ...     with pinned():
        ...         sleep(0.001)
        >>> with CarrierGroup(1) as group:
        ...     VirtualThread(stays, group=group).start().join(), group[0].counts.pinned
        (True, 1)
    """
    thread = here.thread
    if thread is None:
        yield
        return
    thread._pins += 1
    try:
        yield
    finally:
        thread._pins -= 1


@contextmanager
def blocking() -> Iterator[bool]:
    """Announce that this block may occupy the carrier for long, so that other carriers help.

    A carrier is the OS thread that runs the caller, in a `CarrierGroup`.  During the block no new
    task is placed on this carrier, and the tasks that are queued there go to other carriers, unless
    they are pinned.  The announcement ends with the block, or earlier when the caller parks or
    awaits, so announce again after an ``await``.  Blocks nest, and only the outermost one has an
    effect.

    Yields True if the announcement was made.  It yields False, which is no error, in three cases:
    in a nested block, in a thread that is no carrier, and in a group without `Compensation` whose
    `Placement` compares no loads.  So a library may always announce.

    Threads: any thread may use it.

    Example:
        >>> from wakeproof import CarrierGroup, Compensation, blocking
        >>> def reads():
        ...     with blocking() as announced:
        ...         return announced
        >>> with CarrierGroup(1, compensation=Compensation(spare_carriers=1)) as group:
        ...     group.submit(reads).result(), reads()
        (True, False)
    """
    is_marked = not process.has_forked() and lib.wp_group_block() == lib.WP_OK
    who = -get_ident() if here.thread is None else here.thread._number
    is_first = who not in announced
    announced.add(who)
    try:
        yield is_marked
    finally:
        if is_first:
            announced.discard(who)
        if is_marked:
            lib.wp_group_unblock()
