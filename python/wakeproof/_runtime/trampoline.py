# SPDX-License-Identifier: Apache-2.0
"""Run a Python virtual thread on a carrier, one step at a time, on the carrier's own stack.

A callable runs in a greenlet, which belongs to the OS thread that ran it first; so the virtual
thread stays there.  A coroutine has no stack, and continues on the carrier that runs its next step.

Spec: ``VThread.tla``.  Source: ``_native/vthreads.c``, ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

import _thread
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import core, known
from wakeproof._runtime.core import first_of_call as first_of_call
from wakeproof._runtime.core import first_of_coroutine as first_of_coroutine
from wakeproof._runtime.core import forget as forget
from wakeproof._runtime.core import leave as leave
from wakeproof._runtime.core import park as park
from wakeproof._runtime.here import GIVER, count_long, drop_at_end, own_dict
from wakeproof._runtime.here import here as here
from wakeproof._runtime.jobs import _in_parent, threads
from wakeproof.errors import WrongThreadError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from wakeproof._runtime.vthread_base import Handle
    from wakeproof.vthread import VirtualThread

DONE, YIELD, PARK, POLL = lib.WP_STEP_DONE, lib.WP_STEP_YIELD, lib.WP_STEP_PARK, lib.WP_STEP_POLL
_OURS = (
    __name__,
    "wakeproof._runtime.plain_core",
    "wakeproof._runtime.plain_calls",
    _in_parent.__module__,
    "wakeproof.subtask",
    "wakeproof._runtime.poller",
)


def _lasted(thread: Handle, _: int) -> None:
    """Count a step of more than 100 ms; of a poller, which may block for long, none counts."""
    if not thread._is_poller and thread._group is not None:
        thread._group._count_long()


STEP = ffi.callback("int(uint64_t)", core.first_step)  # the first of each OS thread, or all


def _given(number: int) -> None:
    """Give a thread that is to run to its scheduler, in the thread that made it runnable."""
    drop_at_end()
    thread, caller, own = threads[number], here.thread, own_dict()
    before = own.get(GIVER)
    here.thread = None  # the scheduler must not park the virtual thread that runs here
    own[GIVER] = caller
    try:
        thread._scheduler.submit(thread)  # type: ignore[union-attr] # it is one in Python
    finally:
        here.thread, own[GIVER] = caller, before


def _interrupt() -> None:
    """Interrupt the main thread, when its call of the kernel has probably returned."""
    time.sleep(0.01)
    _thread.interrupt_main()


def once_more(call: Callable[[int], None], what: str) -> Callable[..., None]:
    """Return what cffi calls after `call`, a callback by a thread's number, has failed.

    It makes the call once more, because the kernel makes it only once, unless the thread has ended
    meanwhile.  If that fails too, cffi gives both errors to ``sys.unraisablehook``.
    """

    def again(_: object, error: BaseException, trace: TracebackType) -> None:
        number = trace.tb_frame.f_locals["number"]
        thread = threads.get(number)  # None: it has ended, after the call and before its failure
        if thread is not None:
            with suppress(Exception):  # a user's exception class may refuse notes
                error.add_note(f"in the {what} of {thread.name}")
            call(number)
        if not isinstance(error, KeyboardInterrupt):
            raise error
        _thread.start_new_thread(_interrupt, ())

    return again


GIVEN = ffi.callback("void(uint64_t)", _given, onerror=once_more(_given, "scheduler"))
SCHEDULER = lib.wp__scheduler(GIVEN)
known.runs = lambda: here.thread
count_long(_lasted)


def _send_again(thread: VirtualThread, said: object) -> int | tuple[Any]:
    """Refuse what a coroutine awaits; return its next step, or what it returns, in a tuple."""
    coroutine = thread._coroutine
    assert coroutine is not None
    try:
        while said not in (YIELD, PARK):
            what = f"{thread.name}: awaits {said!r}; allowed: what wakeproof.coroutine has"
            said = coroutine.throw(TypeError(what))
    except StopIteration as stop:
        return (stop.value,)
    finally:
        del thread, coroutine  # the error's traceback refers to this frame
    return YIELD if said == YIELD else PARK


def _failed(thread: VirtualThread, error: BaseException) -> None:
    thread._error = named(error, repr(thread.name))


def named(error: BaseException, name: str) -> BaseException:
    """Name the thread in the error's traceback; drop our frames, which refer to the error."""
    note = f"in virtual thread {name}"
    with suppress(Exception):  # a user's exception class may refuse notes
        if note not in getattr(
            error, "__notes__", ()
        ):  # one exception may be raised again and again
            error.add_note(note)
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in _OURS:
        trace = trace.tb_next
    return error.with_traceback(trace)


def parks() -> VirtualThread | None:
    """Return the calling virtual thread, if it can leave its carrier."""
    thread = here.thread
    return None if thread is None or thread._pins or thread._is_coroutine else thread


def caller(what: str) -> VirtualThread:
    """Return the calling virtual thread.

    Raises:
        WrongThreadError: the caller is not a virtual thread.
    """
    thread = here.thread
    if thread is None:
        raise WrongThreadError(
            f"{what}: the caller is no virtual thread; run it in a wakeproof.VirtualThread"
        )
    return thread


def coroutine(what: str) -> VirtualThread:
    """Return the calling virtual thread, which runs a coroutine function.

    Raises:
        WrongThreadError: the caller is no such thread.
    """
    thread = caller(what)
    if not thread._is_coroutine:
        raise WrongThreadError(
            f"await {what}: {thread.name} is no coroutine function; make the blocking call"
        )
    return thread


def _forget_here() -> None:
    here.thread = None  # a forked child has the stack, but no carrier to return to


os.register_at_fork(after_in_child=_forget_here)
