# SPDX-License-Identifier: Apache-2.0
"""Execution strategies: one thread at a time produces tasks, and a pool helps to run them.

Spec: ``specs/pool/Strategy.tla``.  Source: ``kernel/pool/strategy.h``,
``kernel/pool/nonblocking_tag.h``, ``_runtime/strategy.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal, ParamSpec, TypeVar, get_args

from wakeproof._native.ffi import lib
from wakeproof._runtime import strategy as _strategy
from wakeproof._runtime.call import Call
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.strategy import Driver, Kind, Task
from wakeproof._runtime.wait import made
from wakeproof.errors import UsageError

P = ParamSpec("P")
T = TypeVar("T")
Mode = Literal["produce-consume", "produce-execute-consume", "execute-produce-consume", "adaptive"]


@dataclass(frozen=True)
class StrategyStatistics:
    """How the tasks of a strategy were run.

    Attributes:
        consumed: tasks that the producer ran.
        consumed_tagged: tasks that the producer ran under the tag that they must not block
            (`is_non_blocking`).
        executed: tasks that were given to the pool, which may have refused them.
        handed_over: tasks that the former producer ran after it had let another thread produce.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> from wakeproof import ExecutionStrategy, QueuedThreadPool
        >>> with QueuedThreadPool(1) as pool:
        ...     strategy = ExecutionStrategy("produce-consume", lambda: None, pool)
        ...     strategy.produce()
        ...     strategy.statistics().consumed
        0
    """

    consumed: int
    consumed_tagged: int
    executed: int
    handed_over: int


class ExecutionStrategy(Unique):
    """A strategy that produces tasks, one thread at a time, and decides where each task runs.

    The *producer* is the thread that calls the function `produce` until it returns None.  An
    example of `produce` is a function that waits for the next client of a server.  The modes are
    those of Jetty's execution strategies:

    - "produce-consume": the producer runs every task.
    - "produce-execute-consume": the pool runs tasks that may block, the producer the others.
    - "execute-produce-consume": a thread of the pool starts to produce, and the former producer
      runs the task.
    - "adaptive": as "execute-produce-consume" if the pool has a thread ready (its method
      ``try_execute``).  Otherwise the pool runs tasks of the kind "blocking", and the producer runs
      those of the kind "either".

    Args:
        mode: one of these four.
        produce: a function that returns a task (a callable without arguments), or None if there is
            no task now.  When there is a task again, call the strategy's own `produce` or
            `dispatch`.  Two threads never call the function at the same time.
        pool: any executor.  If it has a ``virtual_threads_executor``, that executor runs the tasks
            that may block.
        kind: the kind of all tasks, or a function that is given a task and returns its kind.
            "blocking" (default): the task may block.  "non-blocking": it never blocks.  "either":
            it does not block while `is_non_blocking` is true.
        failed: a function that is called with a failed task and its exception; if `produce` or
            `kind` fails, it is called with None and the exception.  Default:
            ``sys.unraisablehook``.  After a failure the strategy continues; a failed `produce`
            counts as None.
        rejected: a function that is called with a task that the pool refused, or cancelled later,
            and the error; default: the task's ``close`` is called, if it has one, and then
            `failed`.

    Threads: any thread may call all methods.
    Spec: ``specs/pool/Strategy.tla`` (SingleProducer, NoLostProduction, RejectionIsReported,
    ExceptionDoesNotChangeRole).  Source: ``kernel/pool/strategy.h``.

    Raises:
        UsageError: the mode or the kind is unknown, `produce` cannot be called, or `pool` is not an
            executor.

    Example:
        >>> from wakeproof import ExecutionStrategy, QueuedThreadPool
        >>> done = []
        >>> tasks = [lambda: done.append("a"), lambda: done.append("b")]
        >>> with QueuedThreadPool(2) as pool:
        ...     strategy = ExecutionStrategy(
        ...         "produce-consume", lambda: tasks.pop(0) if tasks else None, pool
        ...     )
        ...     strategy.produce()
        >>> done
        ['a', 'b']
    """

    __slots__ = ("__weakref__", "_driver", "_native", "mode")

    def __init__(
        self,
        mode: Mode,
        produce: Callable[[], Task | None],
        pool: Executor,
        *,
        kind: Kind | Callable[[Task], Kind] = "blocking",
        failed: Callable[[Task | None, BaseException], object] | None = None,
        rejected: Callable[[Task, BaseException], object] | None = None,
    ) -> None:
        if mode not in get_args(Mode):
            raise UsageError(f"mode is {mode!r}; allowed: {', '.join(get_args(Mode))}")
        if not callable(kind) and kind not in _strategy.KINDS:
            raise UsageError(f"kind is {kind!r}; allowed: {', '.join(_strategy.KINDS)}, a function")
        if not isinstance(pool, Executor):
            raise UsageError(f"pool is {pool!r}; allowed: an Executor")
        if not callable(produce):
            raise UsageError(f"produce is {produce!r}; allowed: a callable")
        self.mode = mode
        self._driver = Driver(self._come, produce, pool, kind)
        self._driver.failed = failed or _strategy.tell
        self._driver.rejected = rejected or self._driver.reject
        config = self._driver.config(get_args(Mode).index(mode))
        self._native = made(
            lib.wp__strategy_new(config), lib.wp__strategy_free, "ExecutionStrategy"
        )

    def __repr__(self) -> str:
        return f"<ExecutionStrategy {self.mode}>"

    def produce(self) -> None:
        """Produce and run tasks until there are none.

        If another thread produces already, this call makes that thread check for tasks once more,
        and returns.

        Raises:
            KeyboardInterrupt: the main thread was interrupted, perhaps in a task.
        """
        lib.wp_strategy_produce(self._native)
        self._driver.raise_interrupt()

    def dispatch(self) -> None:
        """Let a thread of the pool produce.

        If the executor runs calls in the calling thread, that thread produces.

        Raises:
            RuntimeError: the pool refused the call, so no thread produces.
        """
        code = lib.wp_strategy_dispatch(self._native)
        if code == lib.WP_REFUSED:
            self.produce()
        elif code != lib.WP_OK:
            raise self._driver.refusal()

    def _come(self) -> None:
        lib.wp_strategy_run(self._native)

    @property
    def is_idle(self) -> bool:
        """Return whether no thread produces at this moment."""
        return lib.wp_strategy_is_idle(self._native)

    def statistics(self) -> StrategyStatistics:
        """Return how tasks were run so far."""
        ways = (lib.WP_CONSUMED, lib.WP_CONSUMED_TAGGED, lib.WP_EXECUTED, lib.WP_HANDED_OVER)
        return StrategyStatistics(*(lib.wp_strategy_count(self._native, how) for how in ways))


def is_non_blocking() -> bool:
    """Return whether the caller must not block now.

    It is True in `invoke_non_blocking`, and in some of the tasks that the producer of an
    `ExecutionStrategy` runs.  It is False in a virtual thread (`VirtualThread`), which parks and
    does not block.

    Threads: any thread may call it.

    Example:
        >>> from wakeproof import is_non_blocking
        >>> is_non_blocking()
        False
    """
    return lib.wp_is_non_blocking()


def invoke_non_blocking(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `fn` while `is_non_blocking` is true, unless the caller is a virtual thread.

    Returns what `fn` returns, and raises what it raises.

    Threads: any thread may call it.

    Example:
        >>> from wakeproof import invoke_non_blocking, is_non_blocking
        >>> invoke_non_blocking(is_non_blocking)
        True
    """
    call = Call(fn, args, kwargs)
    _strategy.tagged(call.run)
    value: T = call.future.result(0)
    return value


def combine_kinds(first: Kind, *others: Kind) -> Kind:
    """Return the kind of a task that does the work of tasks of these kinds (`ExecutionStrategy`).

    "either" with "non-blocking" is "either": the task may block unless `is_non_blocking` is true.

    Threads: any thread may call it.

    Raises:
        UsageError: a kind is unknown.

    Example:
        >>> from wakeproof import combine_kinds
        >>> combine_kinds("either", "non-blocking"), combine_kinds("either", "blocking")
        ('either', 'blocking')
    """
    combined = _strategy.number_of(first)
    for other in others:
        combined = lib.wp_kind_combine(combined, _strategy.number_of(other))
    return next(kind for kind in get_args(Kind) if _strategy.KINDS[kind] == combined)
