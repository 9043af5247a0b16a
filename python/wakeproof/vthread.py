# SPDX-License-Identifier: Apache-2.0
"""Virtual threads: callables and coroutine functions that park without blocking their carrier.

A carrier is blocked, with all that is queued there, by what blocks an OS thread: ``time.sleep``,
``threading.Lock`` and events, futures of others, plain sockets and files, a long computation; of
wakeproof `Parker`, `MpscQueue` and ``CarrierGroup.close``.  None of these is seen.  Seen, and
counted as pinned (``Carrier.counts.pinned``), are parks in a `pinned` section, and parks of a
coroutine that are not awaited (`wakeproof.coroutine` has those).

Each has its own `contextvars`, its own values in ``threading.local``, and is an owner of its own to
``threading.RLock``: one that waits for such a lock leaves its carrier, unless it is a coroutine or
`pinned`.  (CPython 3.11 to 3.13, built with Python.h; else all threads of a carrier share what is
kept by OS thread.)  ``get_ident`` and ``get_native_id`` go on to number the OS thread, the
carrier's, for that is what others do with them: ``signal.pthread_kill``, ``sys._current_frames``.
``threading.current_thread()`` is the carrier's, too, under the virtual thread's name; which virtual
thread runs, `current` says.

Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, overload

from wakeproof._native.ffi import lib
from wakeproof._runtime import rlock as rlock  # an RLock parks who waits for it
from wakeproof._runtime.jobs import threads
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.types import P, T
from wakeproof._runtime.vthread_base import Handle
from wakeproof.carrier import Carrier
from wakeproof.errors import ClosedError, DeadlineError, StateError, WrongThreadError
from wakeproof.scoped import bindings, unbind

if TYPE_CHECKING:
    from wakeproof.group import CarrierGroup


def context_to_start() -> contextvars.Context:
    """Return the caller's, copied, without what a scope has bound."""
    context = contextvars.copy_context()
    if bindings() is not None:
        context.run(unbind)
    return context


class VirtualThread(Handle, Generic[T]):
    """A thread of a group: it parks, and its carrier runs others meanwhile.

    ``VirtualThread(fn, *args).start().result()``.  Its `contextvars` are the starter's, copied.  A
    callable stays on the carrier that runs it first; a coroutine function's steps run on any that
    may steal.  What it raises, `result` raises.  If nobody asks for that, ``threading.excepthook``
    gets it, once: when the last reference to it goes, or the interpreter ends; but no SystemExit,
    and no ThreadInterruptedError.  The interpreter's end does not wait for it.

    Args:
        fn: what it runs; other positional and keyword arguments are passed to it.
        name: in tracebacks, events and what a close returns; default: "virtual-" and a number.
        group: or one of its carriers, where it is queued, and which it may be stolen from until it
            begins (`Carrier.factory` makes threads that are not); default: the group of the calling
            virtual thread, else `default_group`.

    Threads: `start` belongs to who made it; all else may be called from any thread.
    A thread that was parked when its group was closed never goes on; what it has locked stays so.
    A callable does not even clean up, and what is on its stack stays in memory.  A coroutine is
    closed, as Python does: its ``finally`` blocks run in who closes the group, and cannot await.
    Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.

    Raises:
        UsageError: `fn` cannot be called, or `name` is no str, or holds a NUL.
        ForkedError: the group is of the parent of this process.
    """

    __slots__ = ()
    is_virtual = True

    if TYPE_CHECKING:  # beside a keyword of ours, the callable's arguments are not checked

        @overload
        def __init__(
            self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
        ) -> None: ...
        @overload
        def __init__(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> None: ...
        @overload
        def __init__(  # type: ignore[overload-cannot-match]
            self,
            fn: Callable[..., Coroutine[Any, Any, T]],
            /,
            *args: Any,
            name: str | None,
            group: CarrierGroup | Carrier | None = None,
            **kwargs: Any,
        ) -> None: ...
        @overload
        def __init__(  # type: ignore[overload-cannot-match]
            self,
            fn: Callable[..., Coroutine[Any, Any, T]],
            /,
            *args: Any,
            name: str | None = None,
            group: CarrierGroup | Carrier | None,
            **kwargs: Any,
        ) -> None: ...
        @overload
        def __init__(  # type: ignore[overload-cannot-match]
            self,
            fn: Callable[..., T],
            /,
            *args: Any,
            name: str | None,
            group: CarrierGroup | Carrier | None = None,
            **kwargs: Any,
        ) -> None: ...
        @overload
        def __init__(  # type: ignore[overload-cannot-match]
            self,
            fn: Callable[..., T],
            /,
            *args: Any,
            name: str | None = None,
            group: CarrierGroup | Carrier | None,
            **kwargs: Any,
        ) -> None: ...
        def __init__(self, fn: Any, /, *args: Any, **kwargs: Any) -> None: ...

    @property
    def home(self) -> Carrier:
        """The carrier that it is queued on; of a callable, once it runs, the one that runs it.

        With `Placement.at_resume` of its group, of a coroutine: the one where it began.

        Raises:
            ClosedError: its group was closed before it had ended.
        """
        if self._group is None:
            raise ClosedError(f"home of {self.name}: its group was closed")
        return self._group._all[self._home]

    def is_alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._is_started and not self._done.is_set

    def start(self) -> VirtualThread[T]:
        """Have it run; returns itself.

        Raises:
            StateError: it was started before.
            ClosedError: the group is closed, or being closed.
        """
        return self._start(context_to_start())

    def _start(self, context: contextvars.Context) -> VirtualThread[T]:
        self._check_process()
        if self._is_started:
            raise StateError(f"start {self.name}: it was started before")
        group, native = self._group, self._native  # the group lives meanwhile
        assert group is not None
        assert native is not None
        self._context, self._is_started = context, True
        if group._is_placed:
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

    def result(self, timeout_s: float | None = None) -> T:
        """Return what it returned, or raise what it raised, as soon as it has ended.

        Raises:
            DeadlineError: the time ran out (a TimeoutError as well).
            ClosedError, StateError, UsageError, ThreadInterruptedError: as `join`.
        """
        if not self.join(timeout_s):
            raise DeadlineError(f"result of {self.name}: not within {timeout_s} s")
        try:
            if self._error is not None:
                self._is_heard = True
                raise self._error
            value: T = self._value
            return value
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
