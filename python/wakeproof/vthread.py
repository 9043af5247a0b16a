# SPDX-License-Identifier: Apache-2.0
"""Virtual threads: callables and coroutine functions that park without blocking their carrier.

A carrier is an OS thread that runs virtual threads (`CarrierGroup`).  A virtual thread parks when
it waits by a call of wakeproof: it leaves its carrier, which runs other work meanwhile.

All other waits block the carrier, and delay whatever is queued there: ``time.sleep``,
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

Spec: ``specs/thread/VThread.tla``.  Source: ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Coroutine
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, overload

from wakeproof._native.ffi import lib
from wakeproof._runtime import line as line  # lets a virtual thread park in an RLock
from wakeproof._runtime.jobs import threads
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.types import P, T
from wakeproof._runtime.vthread_base import Handle
from wakeproof.carrier import Carrier
from wakeproof.errors import ClosedError, DeadlineError, StateError, WrongThreadError
from wakeproof.scoped import bindings, unbind

if TYPE_CHECKING:
    from wakeproof._native.ffi import CVThread
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
        return self._is_started and not self._done.is_set

    def start(self) -> VirtualThread[T]:
        """Start the thread, and return it.

        Raises:
            StateError: it was started before.
            ClosedError: the group is closed, or being closed.
        """
        return self._start(context_to_start())

    def _start(
        self,
        context: contextvars.Context,
        begin: Callable[[CVThread], int] = lib.wp_vthread_start,
    ) -> VirtualThread[T]:
        self._check_process()
        if self._is_started:
            raise StateError(f"start {self.name}: it was started before; make another")
        group, native = self._group, self._native  # this reference keeps the group alive meanwhile
        assert group is not None
        assert native is not None
        self._context, self._is_started = context, True
        if group._is_placed:
            self._home = lib.wp__vthread_placed(native)
        threads[self._number] = self
        try:
            code = begin(native)
        except BaseException:  # Ctrl-C may follow the call: a second call returns its outcome
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

    def _submit_next(self) -> None:
        """Start or unpark the thread; if the caller yields next, it may run before others."""
        if not self._is_started:
            self._start(context_to_start(), lambda own: lib.wp__vthread_submit_next(own, True))
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
        if here.thread is not None:
            raise WrongThreadError(f"run {self.name}: {here.thread.name} runs here; call it in an "
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
        self._check_join()
        return self._joined(self._done.wait(timeout_s))

    def _check_join(self) -> None:
        self._check_process()
        if not self._is_started:
            raise StateError(f"join {self.name}: it was not started; call start() first")
        if here.thread is self:
            raise WrongThreadError(f"join {self.name}: it would wait for itself")

    def _joined(self, is_done: bool) -> bool:
        if self._is_closed:
            raise ClosedError(f"join {self.name}: its group was closed before it had ended")
        return is_done

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
