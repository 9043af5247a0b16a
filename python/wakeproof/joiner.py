# SPDX-License-Identifier: Apache-2.0
"""Joiners: policies that decide when a scope is cancelled and what its join returns.

Spec: ``specs/scope/Scope.tla``: Tell (FirstFailureWins).  Source: this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wakeproof._runtime.brief import BriefLock
from wakeproof.errors import DeadlineError, StateError, UsageError

if TYPE_CHECKING:
    from wakeproof.subtask import Subtask


class Joiner:
    """The policy of one `Scope`: when the scope is cancelled, and what its `join` returns.

    This base class waits for all subtasks, whatever their outcomes.  Derive from it for a policy of
    your own, or use a function of `wakeproof.joiner`.  One joiner serves one scope.

    Threads: the owner of the scope calls `on_fork`, `on_timeout` and `result`.  The thread of each
    subtask calls `on_complete`, and several may do so at the same time.

    Example:
        >>> from wakeproof import CarrierGroup, Joiner, Scope
        >>> class Count(Joiner):
        ...     forks = 0
        ...     def on_fork(self, subtask):
        ...         self.forks += 1
        ...         return False
        ...     def result(self):
        ...         return self.forks
        >>> with CarrierGroup(1) as group, Scope(Count(), group=group) as scope:
        ...     part = scope.fork(len, "abc")
        ...     scope.join()
        1
    """

    _is_taken = False

    def on_fork(self, subtask: Subtask) -> bool:  # noqa: ARG002 - for those that derive
        """Examine a subtask before it starts; return True to cancel the scope."""
        return False

    def on_complete(self, subtask: Subtask) -> bool:  # noqa: ARG002 - as on_fork
        """Examine a subtask that ended before any cancellation; return True to cancel the scope."""
        return False

    def on_timeout(self) -> None:
        """Raise the error of `join` when the time is over; to let `result` decide, return."""
        raise DeadlineError("join: the scope was cancelled after its timeout_s")

    def result(self) -> Any:
        """Return the result of `join`; an exception becomes the cause of its SubtaskError."""
        return None


def taken(joiner: Joiner) -> Joiner:
    """Return the joiner, and mark it as used by a scope.

    Raises:
        UsageError: it is not a Joiner.
        StateError: another scope uses it, or has used it.
    """
    if not isinstance(joiner, Joiner):
        raise UsageError(f"joiner is {joiner!r}; allowed: what wakeproof.joiner's functions return")
    if joiner._is_taken:
        raise StateError(f"joiner is {joiner!r}, another scope's: make one for each")
    joiner._is_taken = True
    return joiner


class _Forks(Joiner):
    """Keeps the subtasks in the order in which they were forked."""

    def __init__(self) -> None:
        self.forked: list[Subtask] = []

    def on_fork(self, subtask: Subtask) -> bool:
        self.forked.append(subtask)
        return False


class _FirstFailure(_Forks):
    """Cancels at the first failure, and keeps that failure only."""

    def __init__(self, gives: Callable[[list[Subtask]], Any]) -> None:
        super().__init__()
        self.gives = gives
        self.lock = BriefLock()
        self.failure: BaseException | None = None

    def on_complete(self, subtask: Subtask) -> bool:
        if subtask._error is None:
            return False
        with self.lock:
            is_first = self.failure is None
            self.failure = self.failure or subtask._error
        return is_first

    def result(self) -> Any:
        if self.failure is not None:
            raise self.failure
        return self.gives(self.forked)


class _FirstSuccess(_Forks):
    """Cancels at the first success."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = BriefLock()
        self.success: Subtask | None = None

    def on_complete(self, subtask: Subtask) -> bool:
        if subtask._error is not None:
            return False
        with self.lock:
            is_first = self.success is None
            self.success = self.success or subtask
        return is_first

    def result(self) -> Any:
        if self.success is not None:
            return self.success._value
        failures = [one._error for one in self.forked if one._error is not None]
        if failures:
            raise failures[0]
        raise LookupError(
            "join: there is no result; fork a subtask that ends before the scope does"
        )


class _Until(_Forks):
    """Cancels when the predicate returns true."""

    def __init__(self, predicate: Callable[[Subtask], bool]) -> None:
        super().__init__()
        self.predicate = predicate

    def on_complete(self, subtask: Subtask) -> bool:
        return self.predicate(subtask)

    def on_timeout(self) -> None:
        """Return, so that `result` decides."""

    def result(self) -> Any:
        return self.forked


def all_successful_or_raise() -> Joiner:
    """Return a joiner for which `Scope.join` returns all results, in the order of the forks.

    The first failure cancels the scope, and the join raises it.  If something else cancels the
    scope before all subtasks have ended, the join fails.

    Example:
        >>> from wakeproof import CarrierGroup, Scope, joiner
        >>> with CarrierGroup(1) as group:
        ...     with Scope(joiner.all_successful_or_raise(), group=group) as scope:
        ...         parts = [scope.fork(pow, 2, n) for n in range(3)]
        ...         scope.join()
        [1, 2, 4]
    """
    return _FirstFailure(lambda forked: [one.result() for one in forked])


def await_all_successful_or_raise() -> Joiner:
    """Return a joiner for which `Scope.join` returns None, also after a call of `Scope.cancel`.

    The first failure cancels the scope, and the join raises it.
    """
    return _FirstFailure(lambda _: None)


def any_successful() -> Joiner:
    """Return a joiner for which `Scope.join` returns the first result that a subtask returns.

    That result cancels the other subtasks.  If there is no result, the join raises a failure.

    Example:
        >>> from wakeproof import CarrierGroup, Scope, joiner
        >>> with CarrierGroup(1) as group:
        ...     with Scope(joiner.any_successful(), group=group) as scope:
        ...         parts = [scope.fork(int, text) for text in ("x", "7")]
        ...         scope.join()
        7
    """
    return _FirstSuccess()


def await_all() -> Joiner:
    """Return a joiner for which `Scope.join` returns None when all subtasks have ended.

    The outcomes of the subtasks do not matter.
    """
    return Joiner()


def all_until(predicate: Callable[[Subtask], bool]) -> Joiner:
    """Return a joiner for which `Scope.join` returns all subtasks.

    The scope is cancelled when the predicate returns true for a subtask.

    Args:
        predicate: a callable that is given each `Subtask` that has ended, in that subtask's thread.
    """
    return _Until(predicate)
