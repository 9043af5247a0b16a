# SPDX-License-Identifier: Apache-2.0
"""The base of a virtual thread: the kernel's handle, and what the close of a group does to it.

Spec: ``VThread.tla``.  Source: ``_native/vthreads.c``, ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import process, trampoline
from wakeproof._runtime.jobs import numbers
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.signal import Signal
from wakeproof._runtime.trampoline import here
from wakeproof._runtime.unheard import report
from wakeproof.carrier import Carrier, checked
from wakeproof.default import default_group
from wakeproof.errors import ClosedError, UsageError
from wakeproof.group import CarrierGroup
from wakeproof.scheduler import NativeScheduler

if TYPE_CHECKING:
    from wakeproof._native.ffi import CVThread, Null
    from wakeproof._runtime.admission import Permitted
    from wakeproof._runtime.wait import Wait
    from wakeproof.mutex import Mutex
    from wakeproof.scheduler import Scheduler

T = TypeVar("T")
State = Literal["new", "queued", "running", "parked", "pinned", "terminated", "closed"]
_STATES: dict[int | None, State] = {0: "parked", 1: "queued", 3: "closed", 9: "pinned"}
_EMPTY = contextvars.Context()


def is_coroutine(fn: Callable[..., object]) -> bool:
    code = getattr(fn, "__code__", None)
    if code is None:
        return inspect.iscoroutinefunction(fn)
    return bool(code.co_flags & inspect.CO_COROUTINE)


def check_callable(fn: object) -> None:
    """Raise UsageError, unless `fn` can be called."""
    if not callable(fn):
        raise UsageError(f"fn is {fn!r}; allowed: a callable")


def _nothing() -> None:
    """Stand in for the callable of a thread that has ended."""


def _place(group: CarrierGroup | Carrier | None) -> tuple[CarrierGroup, int]:
    if isinstance(group, Carrier):
        owner = group._owner()
        if owner is None:
            raise ClosedError(f"{group!r}: its group is gone; keep a reference to the group")
        return owner, group.index
    if group is None:
        group = here.thread._group if here.thread else default_group()
    if not isinstance(group, CarrierGroup):
        raise UsageError(f"group is {group!r}; allowed: a CarrierGroup, a Carrier, or None")
    return group, lib.WP_VTHREAD_HERE


class Handle(Unique):
    """One thread of the C kernel, from creation to end; `VirtualThread` has the other methods."""

    __slots__ = (
        "__weakref__", "_call", "_context", "_coroutine", "_done", "_error", "_greenlet", "_group",
        "_held", "_home", "_hub", "_is_closed", "_is_coroutine", "_is_heard", "_is_started",
        "_locals", "_name", "_native", "_number", "_permitted", "_pins", "_resume", "_runs",
        "_scope", "_scopes", "_value", "_wait",
    )  # fmt: skip
    _context: contextvars.Context
    _greenlet: Any
    _hub: Any
    _is_pinned = _is_poller = _has_no_locals = False
    _scheduler: Scheduler | NativeScheduler | None = None

    def __init__(
        self,
        fn: Callable[..., Any],
        /,
        *args: Any,
        name: str | None = None,
        group: CarrierGroup | Carrier | None = None,
        **kwargs: Any,
    ) -> None:
        self._native: CVThread | None = None
        check_callable(fn)
        self._name = checked(name)
        of, home = _place(group)
        of._check_process()
        self._group: CarrierGroup | None = of
        self._number = next(numbers)
        self._is_coroutine = is_coroutine(fn)
        self._call: Callable[[], Any] = partial(fn, *args, **kwargs) if args or kwargs else fn
        first = trampoline.first_of_coroutine if self._is_coroutine else trampoline.first_of_call
        self._resume: Callable[[Any], int] = first
        self._coroutine: Coroutine[Any, None, Any] | None = None
        self._done = Signal()
        self._is_started = self._is_closed = self._runs = False
        self._permitted: Permitted | None = None  # the call of a pool that it runs
        self._pins = 0
        self._value: Any = None
        self._wait: Wait | Signal | None = None  # what it waits for, unless it is a plain park
        self._held: set[Mutex] = set()  # kept alive while it holds them: the kernel lists them
        self._error: BaseException | None = None
        self._is_heard = False  # a caller has received its error
        self._locals: object = None  # its values in threading.local, while it does not run
        self._scope: Any = None  # the scope that forked it
        self._scopes: list[Any] = []  # the scopes that it has open
        is_named = name is not None or of.tracing != 0
        self._make(of, self.name.encode(errors="replace") if is_named else ffi.NULL, home)

    def _make(self, group: CarrierGroup, text: bytes | Null, home: int) -> None:
        """Make the kernel's thread.

        Raises:
            MemoryError: there is no memory.
        """
        scheduler, native = self._scheduler, ffi.NULL
        if isinstance(scheduler, NativeScheduler):
            native = ffi.cast("void *", scheduler.address)
        elif scheduler is not None:
            native = trampoline.SCHEDULER
        made = lib.wp__vthread_new(
            group._native, self._number, text, home, self._is_pinned, self._has_no_locals, native
        )
        if not made:
            raise MemoryError(f"{self.name}: no memory")
        self._native = made
        self._home = lib.wp__vthread_home(made)

    def __del__(
        self,
        _free: Any = lib.wp_vthread_free,
        _process: Any = process,
        _report: Any = report,
    ) -> None:
        native = getattr(self, "_native", None)  # None: its arguments were refused
        if native and (of := self._group) is not None and of._pid == _process.pid:
            if of._life[0]:
                self._native = None  # a hook may keep this object
                _free(native)
            if self._error is not None:
                _report(self)

    def __repr__(self) -> str:
        return f"<VirtualThread {self.name} {self.state}>"

    @property
    def name(self) -> str:
        """The name of the thread."""
        return self._name if self._name is not None else f"virtual-{self._number}"

    @property
    def state(self) -> State:
        """What the thread does now: "new", "queued", "running", "parked", "pinned" or "terminated".

        "pinned": it waits, and blocks its carrier.  "closed": its group was closed before the
        thread had ended.
        """
        if self._done.is_set:
            return "closed" if self._is_closed else "terminated"
        if not self._is_started:
            return "new"
        state = self._tell(lib.wp__vthread_state)
        return "running" if self._runs and state == 1 else _STATES.get(state, "terminated")

    def _check_process(self) -> None:
        group = self._group
        if group is not None:
            group._check_process()

    def _tell(self, what: Callable[..., T], *args: int) -> T | None:
        """Call the kernel, with the group kept alive, unless the thread was closed."""
        group, native = self._group, self._native
        return None if group is None or native is None else what(native, *args)

    def _told(self) -> Literal["parked", "queued", "running"]:
        state = self.state
        return state if state in ("parked", "queued") else "running"

    def _abandon_held(self) -> None:
        """Unlock the mutexes of the thread and mark them as abandoned, unless a close has."""
        if self._native is not None:
            lib.wp__vthread_abandon_held(self._native)
        for mutex in self._held:
            if mutex._holder is self:
                mutex._holder = None
        self._held.clear()

    def _let_go(self) -> None:
        """Drop what the thread ran with, because it never runs again."""
        self._call, self._coroutine, self._greenlet, self._hub = _nothing, None, None, None
        self._context, self._locals, self._permitted = _EMPTY, None, None

    def _hand_back(self) -> None:
        """End the thread because its group was closed before it had ended.

        The objects on the stack of its greenlet stay in memory for ever, because the OS thread of
        that stack has ended.  They do not keep the group alive.
        """
        self._is_closed = True
        if self._wait is not None:
            self._wait.abandon()
        trampoline.forget(self)
        self._native = None
        self._group = None
