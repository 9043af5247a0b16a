# SPDX-License-Identifier: Apache-2.0
"""Virtual threads: callables and coroutine functions that park without blocking their carrier.

A carrier is blocked, with all that is queued there, by what blocks an OS thread: ``time.sleep``,
``threading`` locks and events, ``Future.result``, plain sockets and files, a long computation; of
wakeproof `Parker`, `MpscQueue` and ``CarrierGroup.close``.  None of these is seen.  Seen, and
counted as pinned (``Carrier.counts.pinned``), are parks in a `pinned` section, and parks of a
coroutine that are not awaited (`wakeproof.coroutine` has those).

What Python keeps by OS thread, all virtual threads of a carrier share: ``threading.local``,
``get_ident``, whose an ``RLock`` is: it keeps none of them out.  `contextvars` are each one's own.

Spec: ``specs/VThread.tla``.  Source: ``kernel/vthreads.h``.
"""

from __future__ import annotations

import contextvars
from typing import Any

from wakeproof._ffi import lib
from wakeproof._handle import Handle
from wakeproof._jobs import threads
from wakeproof._mount import here
from wakeproof.carrier import Carrier
from wakeproof.errors import ClosedError, DeadlineError, StateError, WrongThreadError
from wakeproof.scoped import bindings, unbind


def context_to_start() -> contextvars.Context:
    """Return the caller's, copied, without what a scope has bound."""
    context = contextvars.copy_context()
    if bindings() is not None:
        context.run(unbind)
    return context


class VirtualThread(Handle):
    """A thread of a group: it parks, and its carrier runs others meanwhile.

    ``VirtualThread(fn, *args).start().result()``.  Its `contextvars` are the starter's, copied.  A
    callable stays on the carrier that runs it first; a coroutine function's steps run on any that
    may steal.  What it raises, `result` raises; nobody else is told.  The interpreter's end does
    not wait for it.

    Args:
        fn: what it runs; other positional and keyword arguments are passed to it.
        name: in tracebacks, events and what a close returns; default: "virtual-" and a number.
        group: or one of its carriers, where a callable stays from the start; default: the group of
            the calling virtual thread, else `default_group`.

    Threads: `start` belongs to who made it; all else may be called from any thread.
    A thread that was parked when its group was closed never goes on; what it has locked stays so.
    A callable does not even clean up, and what is on its stack stays in memory.  A coroutine is
    closed, as Python does: its ``finally`` blocks run in who closes the group, and cannot await.
    Spec: ``specs/VThread.tla``.  Source: ``kernel/vthreads.h``.

    Raises:
        UsageError: `fn` cannot be called, or `name` is no str, or holds a NUL.
        ForkedError: the group is of the parent of this process.
    """

    __slots__ = ()
    is_virtual = True

    @property
    def home(self) -> Carrier:
        """The carrier that it is queued on; of a callable, once it runs, the one that runs it.

        With `place_at_resume` of its group, of a coroutine: the one where it began.

        Raises:
            ClosedError: its group was closed before it had ended.
        """
        if self._group is None:
            raise ClosedError(f"home of {self.name}: its group was closed")
        return self._group._all[self._home]

    def is_alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._is_started and not self._done.is_set

    def start(self) -> VirtualThread:
        """Have it run; returns itself.

        Raises:
            StateError: it was started before.
            ClosedError: the group is closed, or being closed.
        """
        return self._start(context_to_start())

    def _start(self, context: contextvars.Context) -> VirtualThread:
        self._check_process()
        if self._is_started:
            raise StateError(f"start {self.name}: it was started before")
        group, native = self._group, self._native  # the group lives meanwhile
        assert group is not None
        assert native is not None
        self._context, self._is_started = context, True
        if group._chosen:
            self._home = lib.wp__vthread_placed(native)
        threads[self._number] = self
        try:
            code = lib.wp_vthread_start(native)
        except BaseException:  # Ctrl-C, behind the call: once more says how that went
            self._is_started = lib.wp_vthread_start(native) != lib.WP_CLOSED
            raise
        else:
            self._is_started = code == lib.WP_OK
        finally:
            if not self._is_started:
                del threads[self._number]
        if not self._is_started:
            raise ClosedError(f"start {self.name}: the group is closed")
        return self

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended, at most `timeout_s` seconds; False: the time ran out.

        Raises:
            UsageError: `timeout_s` is negative or not a number.
            StateError: it was not started.
            WrongThreadError: it is the caller.
            ClosedError: its group was closed before it had ended.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        self._check_join()
        return self._joined(self._done.wait(timeout_s))

    def _check_join(self) -> None:
        self._check_process()
        if not self._is_started:
            raise StateError(f"join {self.name}: it was not started")
        if here.thread is self:
            raise WrongThreadError(f"join {self.name}: it would wait for itself")

    def _joined(self, is_done: bool) -> bool:
        if self._is_closed:
            raise ClosedError(f"join {self.name}: its group was closed before it had ended")
        return is_done

    def result(self, timeout_s: float | None = None) -> Any:
        """Return what it returned, or raise what it raised, as soon as it has ended.

        Raises:
            DeadlineError: the time ran out (a TimeoutError as well).
            ClosedError, StateError, UsageError, ThreadInterruptedError: as `join`.
        """
        if not self.join(timeout_s):
            raise DeadlineError(f"result of {self.name}: not within {timeout_s} s")
        try:
            if self._error is not None:
                raise self._error
            return self._value
        finally:
            del self  # the error's traceback has this frame

    def unpark(self) -> None:
        """Give its one permit: its park returns, or its next one does at once."""
        self._check_process()
        self._tell(lib.wp_vthread_unpark)

    def interrupt(self) -> None:
        """Set its flag: its wait raises ThreadInterruptedError, or its next one does."""
        self._check_process()
        self._tell(lib.wp_vthread_interrupt)
