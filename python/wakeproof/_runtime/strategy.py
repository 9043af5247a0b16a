# SPDX-License-Identifier: Apache-2.0
"""The callbacks of a strategy, which the kernel calls to produce, to run and to start a producer.

Each callback returns also after an exception, because no exception of Python may reach the kernel.
Spec: ``specs/pool/Strategy.tla``.  Source: ``kernel/pool/strategy.h``.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime.producer_start import Came, here
from wakeproof._runtime.unheard import unraisable
from wakeproof.errors import UsageError

if TYPE_CHECKING:
    from wakeproof._native.ffi import CPointer, CStrategyConfig

Kind = Literal["blocking", "non-blocking", "either"]
Task = Callable[[], object]
KINDS = {"blocking": lib.WP_BLOCKING, "non-blocking": lib.WP_NON_BLOCKING, "either": lib.WP_EITHER}
# Each driver is kept alive by its strategy.
_drivers: WeakValueDictionary[int, Driver] = WeakValueDictionary()
_numbers = itertools.count(1)


def number_of(kind: Kind) -> int:
    """Return the number of a kind in C.

    Raises:
        UsageError: the kind is unknown.
    """
    if kind not in KINDS:
        raise UsageError(f"kind is {kind!r}; allowed: {', '.join(KINDS)}")
    return KINDS[kind]


def tell(task: Task | None, error: BaseException) -> None:
    """Report an exception to ``sys.unraisablehook``; None: `produce` or `kind` has failed."""
    what = "in the produce of an ExecutionStrategy" if task is None else "in a task of a strategy"
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") == __name__:
        trace = trace.tb_next
    unraisable(error.with_traceback(trace), f"Exception ignored {what}", task)


def _is_main() -> bool:
    return threading.get_ident() == threading.main_thread().ident


class Driver:
    """The callables and tasks of one strategy, by its number."""

    def __init__(
        self,
        come: Callable[[], None],
        produce: Callable[[], Task | None],
        pool: Executor,
        kind: Kind | Callable[[Task], Kind],
    ) -> None:
        self.come, self.produce, self.pool, self.kind = come, produce, pool, kind
        self.executor: Executor = getattr(pool, "virtual_threads_executor", None) or pool
        self.try_execute: Callable[[Task], Future[Any] | None] | None = getattr(
            pool, "try_execute", None
        )
        self.failed: Callable[[Task | None, BaseException], object] = tell
        self.rejected: Callable[[Task, BaseException], object] = self.reject
        self.tasks: dict[int, Task] = {}
        self.refusals: dict[int, Exception] = {}  # by the number of the task, or 0
        self.interrupt: KeyboardInterrupt | None = None
        self.number = next(_numbers)
        _drivers[self.number] = self

    def config(self, mode: int) -> CStrategyConfig:
        config = ffi.new("wp_strategy_config *")
        config.mode, config.arg = mode, ffi.cast("void *", self.number)
        for name, callback in _CALLBACKS.items():
            setattr(config, name, callback)
        return config

    def tell(self, task: Task | None, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt) and _is_main():
            self.interrupt = error
            return
        try:
            self.failed(task, error)
        except BaseException as another:
            tell(task, another)

    def raise_interrupt(self) -> None:
        if self.interrupt is not None and _is_main():
            error, self.interrupt = self.interrupt, None
            raise error

    def refusal(self) -> Exception:
        return self.refusals.pop(0, None) or RuntimeError("dispatch: the pool refuses")

    def reject(self, task: Task, error: BaseException) -> None:
        """Close the task, if it can be closed, and report the failure."""
        close = getattr(task, "close", None)
        if close is not None:
            close()
        self.failed(task, error)

    def next(self) -> int:
        if here.is_withdrawn or (self.interrupt is not None and _is_main()):
            return 0
        try:
            task: object = self.produce()
        except BaseException as error:
            self.tell(None, error)
            return 0
        if task is None:
            return 0
        if not callable(task):  # treat it as an exception, or `produce` would be called for ever
            self.tell(None, UsageError(f"produce returned {task!r}; allowed: a callable, or None"))
            return 0
        number = next(_numbers)
        self.tasks[number] = task
        return number

    def kind_of(self, number: int) -> int:
        if not callable(self.kind):
            return KINDS[self.kind]
        try:
            said = self.kind(self.tasks[number])
            return number_of(said)
        except BaseException as error:
            self.tell(None, error)
        return lib.WP_BLOCKING

    def run(self, number: int) -> None:
        task = self.tasks.pop(number)
        try:
            task()
        except BaseException as error:
            self.tell(task, error)

    def execute(self, number: int) -> int:
        ended = partial(self.ended, number)
        return self.accepted(number, self.executor, partial(self.run, number), ended)

    def start(self) -> int:
        came = Came(self.come)
        code = self.accepted(0, self.pool, came, came.withdraw)
        return code if came.is_elsewhere() else lib.WP_REFUSED

    def accepted(
        self,
        number: int,
        executor: Executor,
        call: Callable[[], None],
        ended: Callable[[Future[Any]], object],
    ) -> int:
        try:
            future = executor.submit(call)
        except Exception as error:
            self.refusals[number] = error
            return lib.WP_CLOSED
        future.add_done_callback(ended)
        return lib.WP_OK

    def ended(self, number: int, future: Future[Any]) -> None:
        """Reject the task if it has never begun: the executor has cancelled it."""
        task = self.tasks.pop(number, None)
        if task is not None:
            error = None if future.cancelled() else future.exception(0)
            self.reject_now(task, error or CancelledError())

    def try_start(self) -> bool:
        if self.try_execute is None:
            return False
        came = Came(self.come)
        try:
            future = self.try_execute(came)
        except Exception:
            return False
        if future is None:
            return False
        future.add_done_callback(came.withdraw)
        return came.is_elsewhere()

    def refused(self, number: int) -> None:
        self.reject_now(self.tasks.pop(number), self.refusals.pop(number))

    def reject_now(self, task: Task, error: BaseException) -> None:
        try:
            self.rejected(task, error)
        except BaseException as another:
            self.tell(task, another)


def _driver(arg: CPointer) -> Driver:
    return _drivers[int(ffi.cast("uintptr_t", arg))]


def _number(task: CPointer) -> int:
    return int(ffi.cast("uintptr_t", task))


def _made(cdecl: str, call: Callable[..., Any], error: int | None = None) -> Any:
    return ffi.callback(cdecl, call) if error is None else ffi.callback(cdecl, call, error)


_CALLBACKS = {
    "produce": _made("void *(void *)", lambda arg: ffi.cast("void *", _driver(arg).next())),
    "kind": _made("enum wp_kind(void *, void *)", lambda a, t: _driver(a).kind_of(_number(t))),
    "run": _made("void(void *, void *)", lambda a, t: _driver(a).run(_number(t))),
    "execute": _made(
        "int(void *, void *)", lambda a, t: _driver(a).execute(_number(t)), lib.WP_CLOSED
    ),
    "reject": _made("void(void *, void *, int)", lambda a, t, _: _driver(a).refused(_number(t))),
    "start": _made("int(void *)", lambda arg: _driver(arg).start(), lib.WP_CLOSED),
    "try_start": _made("bool(void *)", lambda arg: _driver(arg).try_start()),
}

_tagged: dict[int, Callable[[], None]] = {}
_RUN = _made("void(void *)", lambda arg: _tagged.pop(_number(arg))())


def tagged(call: Callable[[], None]) -> None:
    """Make the call with this OS thread tagged as non-blocking, unless a virtual thread calls."""
    number = next(_numbers)
    _tagged[number] = call
    lib.wp_invoke_non_blocking(_RUN, ffi.cast("void *", number))
