# SPDX-License-Identifier: Apache-2.0
"""Virtual threads: callables and coroutine functions that park without blocking their carrier.

A carrier is an OS thread that runs virtual threads (`CarrierGroup`).  A virtual thread parks when
it waits by a call of wakeproof: it leaves its carrier, which runs other work meanwhile.

After `wakeproof.install` the waits of Python's standard library park as well.  All others block the
carrier, and delay whatever is queued there: without `install` ``time.sleep``,
``threading.Lock`` and events, other libraries' futures, plain sockets and files, and long
computations.  Three parts of wakeproof block it as well: `Parker`, `MpscQueue` and
``CarrierGroup.close``.  `wakeproof.watch` reports such waits.  Two kinds of parks block the carrier
as well, and are counted in ``Carrier.counts.pinned``: parks in a `pinned` section, and parks of a
coroutine that are not awaited (use `wakeproof.coroutine`).

Each virtual thread has its own `contextvars` and its own values in ``threading.local``.  It also
owns a ``threading.RLock`` by itself, and parks while it waits for one, unless it is a coroutine or
`pinned`.  Both need CPython 3.11 to 3.14, and a build with Python.h; elsewhere all virtual threads
of a carrier share what Python keeps for an OS thread.

``get_ident`` and ``get_native_id`` return the number of the carrier's OS thread, which
``signal.pthread_kill`` and ``sys._current_frames`` need.  ``threading.current_thread()`` also
describes the carrier, under the virtual thread's name; `current` returns the virtual thread.
With `wakeproof.install` ``get_ident`` and ``threading.current_thread()`` are the virtual thread's
own.

Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Coroutine
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, overload

from wakeproof import scoped
from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import jobs, known, signal, trampoline, unheard, vthread_base
from wakeproof._runtime import line as line  # lets a virtual thread park in an RLock
from wakeproof._runtime.core import IN_C, bind_core
from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.here import GIVER, direct, own_dict
from wakeproof._runtime.jobs import numbers
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.types import P, T
from wakeproof._runtime.vthread_base import Handle
from wakeproof._runtime.waiting import EACH_S
from wakeproof.carrier import Carrier, checked
from wakeproof.errors import ClosedError, DeadlineError, StateError, WrongThreadError
from wakeproof.scoped import bindings, unbind

if TYPE_CHECKING:
    from wakeproof.group import CarrierGroup


def context_to_start() -> contextvars.Context:
    """Return a copy of the caller's context, without the bindings of `ScopedValue`."""
    context = contextvars.copy_context()
    if bindings() is not None:
        context.run(unbind)
    return context


class VirtualThread(Handle, Generic[T]):
    """A thread that costs little, because many of them take turns on a few OS threads.

    A virtual thread belongs to a `CarrierGroup`, and one of the group's carriers (OS threads) runs
    it.  When the virtual thread waits, it *parks*: its carrier runs other work meanwhile.  A
    callable stays on the carrier that runs it first.  A coroutine function may continue on another
    carrier after each ``await``.

    The thread starts with a copy of the starter's `contextvars`.  `result` raises the exception of
    `fn`.  If `result` is not called, ``threading.excepthook`` receives the exception once, when the
    last reference to the thread goes or the interpreter exits; SystemExit and
    ThreadInterruptedError are not reported.  The interpreter does not wait for virtual threads when
    it exits.

    Args:
        fn: a callable or a coroutine function; other positional and keyword arguments are passed to
            it.
        name: the name in tracebacks, in events, and in what a close returns; default: "virtual-"
            and a number.
        group: the group that runs the thread; or a `Carrier`, which then queues the thread.  With
            work stealing another carrier may take the thread before it begins; `Carrier.factory`
            makes threads that stay.  Default None: the group of the calling virtual thread, else
            `default_group`.

    Threads: `start` belongs to the thread that made it; any thread may call all other methods.

    A virtual thread that is parked when its group is closed never continues.  A `Mutex` that it
    holds becomes free, and the next `acquire` of the mutex raises AbandonedError.  The permits of a
    `Semaphore` and all other locks of the thread stay taken.  The thread's ``finally`` blocks do
    not run if `fn` is a plain callable, and what is on its stack stays in memory.  A coroutine is
    closed as Python does it: its ``finally`` blocks run in the thread that closes the group, and
    cannot await.

    Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.

    Raises:
        UsageError: `fn` cannot be called, or `name` is not a str or contains a NUL.
        ForkedError: the group belongs to the parent of this process.

    Example:
        >>> from wakeproof import CarrierGroup, VirtualThread
        >>> with CarrierGroup(2) as group:
        ...     thread = VirtualThread(sum, [1, 2], name="adder", group=group).start()
        ...     thread.result()
        3
    """

    __slots__ = ()
    is_virtual = True

    if TYPE_CHECKING:  # with a keyword of ours the callable's arguments are unchecked

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
        """The carrier that queues the thread; once a callable has begun, the one that runs it.

        In a group with `Placement.at_resume` a coroutine's home is the carrier where it began.

        Raises:
            ClosedError: the group was closed before the thread had ended.
        """
        if self._group is None:
            raise ClosedError(f"home of {self.name}: its group was closed")
        return self._group._all[self._home]

    def is_alive(self) -> bool:
        """Return whether the thread was started and has not ended."""
        return self._is_started and not self._has_ended

    def start(self) -> VirtualThread[T]:
        """Start the thread, and return it.

        Raises:
            StateError: it was started before.
            ClosedError: the group is closed, or being closed.
        """
        self._begin(None)
        return self

    def _start(self, context: contextvars.Context) -> VirtualThread[T]:
        self._begin(context)
        return self

    def _submit_next(self) -> None:
        """Start or unpark the thread; if the caller yields next, it may run before others."""
        if not self._is_started:
            self._begin(None, True)
            return
        self._check_process()
        self._tell(lib.wp__vthread_submit_next, False)

    def run_step(self) -> bool:
        """Run the thread until it parks, yields or ends; its `Scheduler` was given the thread.

        Returns False, and runs nothing, if the thread was not given since its last step.

        Raises:
            StateError: the thread has no scheduler.
            WrongThreadError: the caller is a virtual thread; or the thread runs a callable, which
                has begun on another OS thread.

        Threads: an OS thread, or a task of a group.  All steps of a callable must be run by one OS
        thread; those of a coroutine function by any.
        """
        self._check_process()
        if self._scheduler is None:
            raise StateError(f"run {self.name}: its carriers run it; only threads of a factory "
                             "with a scheduler are run by it")  # fmt: skip
        if (caller := here.thread or own_dict().get(GIVER)) is not None:
            raise WrongThreadError(f"run {self.name}: {caller.name} runs here; call it in an "
                                   "OS thread or a task")  # fmt: skip
        runner = getattr(self, "_runner", None)
        if runner not in (None, get_ident()):
            raise WrongThreadError(f"run {self.name}: its stack belongs to OS thread {runner}, "
                                   "which began it; run all of its steps there")  # fmt: skip
        return self._tell(lib.wp__vthread_run) == lib.WP_OK

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until the thread has ended.

        Returns True when it has ended, False if the time ran out.

        Args:
            timeout_s: seconds, 0 or more; default None: wait without a limit.

        Raises:
            UsageError: `timeout_s` is negative or not a number.
            StateError: the thread was not started.
            WrongThreadError: the caller is this thread.
            ClosedError: the group was closed before the thread had ended.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
            DeadlockError: there is no limit, every virtual thread waits for another, and nothing
                is left that could wake one.
        """
        if not self._has_ended or self._is_closed:
            self._check_join()
        is_done = self._waits(timeout_s)
        if self._is_closed:
            self._check_join()
        return is_done

    def _check_join(self) -> None:
        self._check_process()
        if not self._is_started:
            raise StateError(f"join {self.name}: it was not started; call start() first")
        if here.thread is self:
            raise WrongThreadError(f"join {self.name}: it would wait for itself")
        if self._is_closed:
            raise ClosedError(f"join {self.name}: its group was closed before it had ended")

    def result(self, timeout_s: float | None = None) -> T:
        """Wait until the thread has ended; return what `fn` returned, or raise what it raised.

        Args:
            timeout_s: as of `join`.

        Raises:
            DeadlineError: the time ran out (a TimeoutError as well).
            ClosedError, StateError, UsageError, ThreadInterruptedError, DeadlockError: as `join`.
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
            del self  # the error's traceback refers to this frame

    def unpark(self) -> None:
        """Give the thread its permit for `park`: a park now, or else the next one, returns.

        A thread that waits for a lock, channel, socket or file takes a permit as well, and goes on
        to wait.  So give it only to a thread that parks by itself, or let a `Latch` or a `Channel`
        tell the thread.
        """
        self._check_process()
        self._tell(lib.wp_vthread_unpark)

    def interrupt(self) -> None:
        """Set the interrupt flag: the current or next wait raises ThreadInterruptedError."""
        self._check_process()
        self._tell(lib.wp_vthread_interrupt)

    def is_interrupted(self) -> bool:
        """Return whether the interrupt flag is set, and leave it as it is.

        A wait that raises ThreadInterruptedError clears the flag, and so does `interrupted`.
        """
        self._check_process()
        return bool(self._tell(lib.wp__vthread_is_interrupted))


if IN_C:
    del VirtualThread.start  # that of `Core` needs no frame of Python
direct(VirtualThread)


def _refuse_start(thread: VirtualThread[Any]) -> None:
    raise StateError(f"start {thread.name}: it was started before; make another")


def _closed_start(thread: VirtualThread[Any]) -> None:
    raise ClosedError(f"start {thread.name}: the group is closed")


_OBJECTS = {
    "numbers": numbers, "nothing": vthread_base.nothing,
    "empty": contextvars.Context(), "partial": partial, "thread_type": VirtualThread,
    "bindings": scoped._bindings, "check_callable": vthread_base.check_callable,
    "checked": checked, "place": vthread_base._place, "is_coroutine": vthread_base.is_coroutine,
    "know": known.know, "failed": trampoline._failed,
    "send": trampoline._send_again, "keep": unheard.keep, "report": unheard.report,
    "in_child": jobs._end, "refuse_start": _refuse_start, "closed_start": _closed_start,
    "context_to_start": context_to_start, "deadline_ns": deadline_ns,
    "interrupted": signal.interrupted, "hopeless": signal.hopeless,
    "wait_long": signal.wait_long, "soon_s": EACH_S, "signal": signal.Signal,
    "refuse_yield": partial(trampoline.coroutine, "yield_now"),
    "refuse_join": partial(trampoline.coroutine, "join"),
    "refuse_park": partial(trampoline.coroutine, "park"),
}  # fmt: skip
_CALLED = (  # in the order of core.c
    "wp__vthread_new", "wp__vthread_home", "wp__vthread_placed", "wp_vthread_start",
    "wp__vthread_submit_next", "wp_vthread_free", "wp_vthread_unpark", "wp__vthread_unpark_if",
    "wp__vthread_park_number", "wp__vthread_park_begin_for", "wp__vthread_park_end",
    "wp__vthread_park_for", "wp_group_block", "wp_group_unblock", "wp_group_tracing",
    "wp__parker_new", "wp__parker_free", "wp_parker_park_interruptible", "wp_parker_unpark",
    "wp_vthread_settle", "wp__worker_has_none", "wp__vthread_then",
)  # fmt: skip
_CODES = (
    lib.WP_OK, lib.WP_TIMEOUT, lib.WP_INTERRUPTED, lib.WP_MUST_PARK, lib.WP_WAIT_JOIN,
    lib.WP_VTHREAD_HERE, lib.WP_FOREVER, lib.WP_WAIT_SLEEP,
)  # fmt: skip


def _address(function: Any) -> int:
    return int(ffi.cast("uintptr_t", function))


def _addresses() -> tuple[int, ...]:
    return *(_address(ffi.addressof(lib, name)) for name in _CALLED), _address(trampoline.STEP)


_step = bind_core(_OBJECTS, _addresses(), _CODES)
lib.wp__vthread_steps(ffi.cast("int(*)(uint64_t)", _step) if _step else trampoline.STEP)
