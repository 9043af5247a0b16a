# SPDX-License-Identifier: Apache-2.0
"""Who runs what is produced: one thread at a time produces, and a pool has the others.

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
    """How tasks were run.

    Attributes:
        consumed: by the producer.
        consumed_tagged: by the producer, as what must not block (`is_non_blocking`).
        executed: given to the pool, which may have refused.
        handed_over: by who was the producer, while another was to produce.
    """

    consumed: int
    consumed_tagged: int
    executed: int
    handed_over: int


class ExecutionStrategy(Unique):
    """Calls `produce` as long as it gives tasks, and decides who runs each.

    What `mode` means: "produce-consume", the producer runs all; "produce-execute-consume", the pool
    runs what may block; "execute-produce-consume", a thread of the pool is started to produce on,
    and the producer runs the task; "adaptive", so it does if the pool has a thread at once
    (``pool.try_execute``), else the pool runs what blocks, and the producer what is "either".

    Args:
        mode: one of these.
        produce: returns a task, which is called without arguments; or None: nothing now, and who
            has something calls `produce` or `dispatch`.  Never called by two threads at once.
        pool: any executor.  One with ``virtual_threads_executor`` has that run what may block.
        kind: of all tasks, or a function of a task: "blocking", it may; "non-blocking", it never
            does; "either", it does neither where `is_non_blocking`.
        failed: is told a task, or None for `produce` and `kind`, and what it raised; default:
            ``sys.unraisablehook`` is.  A failure changes nothing else; one of `produce` is as None.
        rejected: is told a task that the pool has refused, or has cancelled later, and the error;
            default: its ``close`` is called, if it has one, and `failed`.

    Threads: any.
    Spec: ``specs/pool/Strategy.tla`` (SingleProducer, NoLostProduction, RejectionIsReported,
    ExceptionDoesNotChangeRole).  Source: ``kernel/pool/strategy.h``.

    Raises:
        UsageError: an unknown mode or kind; `produce` cannot be called; `pool` is no executor.
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
            raise UsageError(f"produce is {produce!r}; allowed: what can be called")
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
        """Produce, and run tasks, unless somebody does already: who does looks once more.

        Raises:
            KeyboardInterrupt: the main thread was interrupted, in a task perhaps.
        """
        lib.wp_strategy_produce(self._native)
        self._driver.raise_interrupt()

    def dispatch(self) -> None:
        """Have another thread of the pool do so; an executor that has none does it here.

        Raises:
            RuntimeError: the pool refuses: nobody was told.
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
        """Whether nobody produces just now."""
        return lib.wp_strategy_is_idle(self._native)

    def statistics(self) -> StrategyStatistics:
        """Return how tasks were run so far."""
        ways = (lib.WP_CONSUMED, lib.WP_CONSUMED_TAGGED, lib.WP_EXECUTED, lib.WP_HANDED_OVER)
        return StrategyStatistics(*(lib.wp_strategy_count(self._native, how) for how in ways))


def is_non_blocking() -> bool:
    """Whether the caller must not block just now.  A virtual thread may: it parks."""
    return lib.wp_is_non_blocking()


def invoke_non_blocking(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `fn` with `is_non_blocking` true, unless the caller is a virtual thread."""
    call = Call(fn, args, kwargs)
    _strategy.tagged(call.run)
    value: T = call.future.result(0)
    return value


def combine_kinds(first: Kind, *others: Kind) -> Kind:
    """Return the kind of a task that does what tasks of all these do.

    "either" beside "non-blocking" is "either": it may block where not `is_non_blocking`.

    Raises:
        UsageError: an unknown kind.
    """
    combined = _strategy.number_of(first)
    for other in others:
        combined = lib.wp_kind_combine(combined, _strategy.number_of(other))
    return next(kind for kind in get_args(Kind) if _strategy.KINDS[kind] == combined)
