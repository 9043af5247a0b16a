# SPDX-License-Identifier: Apache-2.0
"""What a virtual thread does with itself: `park`, `sleep`, `yield_now`; `pinned` sections.

And what any task may say of itself: that it is `blocking`.

For callables.  In a coroutine function, await those of `wakeproof.coroutine`: these block its
carrier, and are counted as pinned.

Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wakeproof._native.ffi import lib
from wakeproof._runtime import process, trampoline
from wakeproof._runtime.deadline import deadline_ns, sleep_ns
from wakeproof._runtime.signal import interrupted as _interrupted
from wakeproof._runtime.trampoline import here

if TYPE_CHECKING:
    from wakeproof.vthread import VirtualThread

_LONGEST_S = 1e9  # of an OS thread's sleep, some 31 years: time.sleep refuses much longer ones


def current() -> VirtualThread | None:
    """Return the calling virtual thread, also in a greenlet of its own; None: it is none."""
    return here.thread


def park(timeout_s: float | None = None) -> bool:
    """Take the caller's permit, or leave the carrier until it comes; False: the time ran out.

    A permit may have been given long ago: look at what you wait for, and park again.

    Raises:
        WrongThreadError: the caller is no virtual thread; OS threads have `Parker`.
        UsageError: `timeout_s` is negative or not a number.
        ThreadInterruptedError: it was interrupted; its permit may be taken.
    """
    thread = trampoline.caller("park")
    code = trampoline.park(thread, deadline_ns(timeout_s))
    if code == lib.WP_INTERRUPTED:
        raise _interrupted(thread)
    return code == lib.WP_OK


def sleep(seconds: float) -> None:
    """Leave the carrier for so long; takes no permit.  0: as `yield_now`.

    An OS thread blocks, as in `time.sleep`.

    Raises:
        UsageError: `seconds` is negative or not a number.
        ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
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
    """Let run what is queued on the carrier; nothing in a `pinned` section or a coroutine function.

    In an OS thread, let another one run.
    """
    thread = here.thread
    if thread is None:
        time.sleep(0)
    elif not thread._pins and not thread._is_coroutine:
        trampoline.leave(thread, trampoline.YIELD)


def interrupted() -> bool:
    """Clear the caller's flag; True: it was set.  An OS thread has none."""
    return here.thread is not None and lib.wp_vthread_clear_interrupt()


@contextmanager
def pinned() -> Iterator[None]:
    """Stay on the carrier: a park inside blocks it, and is counted.  Sections nest.

    In an OS thread, nothing.
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
    """Say that the block may keep the carrier for long: no task is placed there meanwhile.

    What is queued there, and is not pinned, goes to the others.  It ends with the task's step, if
    not before: say so again behind an ``await``.  Sections nest; the outermost counts.

    Gives True, or False: nothing was done, which is no error, for code that does not know who calls
    it.  So it is in a section within another, and where no carrier of a group that counts loads
    (`Placement` by load, or `Compensation`) runs the caller.
    """
    is_marked = not process.has_forked() and lib.wp_group_block() == lib.WP_OK
    try:
        yield is_marked
    finally:
        if is_marked:
            lib.wp_group_unblock()
