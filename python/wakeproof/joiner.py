# SPDX-License-Identifier: Apache-2.0
"""What a scope does with its subtasks' outcomes: when it cancels, what its join returns.

Spec: ``specs/scope/Scope.tla``: Tell (FirstFailureWins).  Source: this file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wakeproof.errors import DeadlineError, StateError, UsageError

if TYPE_CHECKING:
    from wakeproof.subtask import Subtask


class Joiner:
    """Waits for all, whatever they come to.  Of one scope; others derive from it.

    Threads: `on_fork`, `on_timeout` and `result` belong to the scope's owner; `on_complete` is
    called by the subtasks, several at once.
    """

    _is_taken = False

    def on_fork(self, subtask: Subtask) -> bool:  # noqa: ARG002 - for those that derive
        """Before a subtask starts.  True: cancel the scope."""
        return False

    def on_complete(self, subtask: Subtask) -> bool:  # noqa: ARG002 - as on_fork
        """Look at a subtask that has ended before a cancellation.  True: cancel the scope."""
        return False

    def on_timeout(self) -> None:
        """Raise what `join` is to raise when the time is over, or let `result` say it."""
        raise DeadlineError("the scope's time is over")

    def result(self) -> Any:
        """Return what `join` returns; what this raises is the cause of its SubtaskError."""
        return None


def taken(joiner: Joiner) -> Joiner:
    """Return it, for a scope of its own.

    Raises:
        UsageError: it is no Joiner.
        StateError: it was taken before.
    """
    if not isinstance(joiner, Joiner):
        raise UsageError(f"joiner is {joiner!r}; allowed: what wakeproof.joiner's functions return")
    if joiner._is_taken:
        raise StateError(f"joiner is {joiner!r}, another scope's: make one for each")
    joiner._is_taken = True
    return joiner


class _Forks(Joiner):
    """Keeps the subtasks, in the order of their forks."""

    def __init__(self) -> None:
        self.forked: list[Subtask] = []

    def on_fork(self, subtask: Subtask) -> bool:
        self.forked.append(subtask)
        return False


class _FirstFailure(_Forks):
    """Cancels at the first failure, of which there is one."""

    def __init__(self, gives: Callable[[list[Subtask]], Any]) -> None:
        super().__init__()
        self.gives = gives
        self.lock = threading.Lock()
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
        self.lock = threading.Lock()
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
        raise LookupError("no subtask was forked, or none has ended")


class _Until(_Forks):
    """Cancels when the predicate says so."""

    def __init__(self, predicate: Callable[[Subtask], bool]) -> None:
        super().__init__()
        self.predicate = predicate

    def on_complete(self, subtask: Subtask) -> bool:
        return self.predicate(subtask)

    def on_timeout(self) -> None:
        """Let the subtasks say it."""

    def result(self) -> Any:
        return self.forked


def all_successful_or_raise() -> Joiner:
    """Return all results, in the order of the forks; the first failure cancels, and is raised.

    If somebody else cancels the scope, what had not ended by then fails the join.
    """
    return _FirstFailure(lambda forked: [one.result() for one in forked])


def await_all_successful_or_raise() -> Joiner:
    """Return None, also of a scope that somebody cancels; the first failure does, and is raised."""
    return _FirstFailure(lambda _: None)


def any_successful() -> Joiner:
    """Return the first result, which cancels the others; raise a failure if there is none."""
    return _FirstSuccess()


def await_all() -> Joiner:
    """Return None when all have ended, however they did."""
    return Joiner()


def all_until(predicate: Callable[[Subtask], bool]) -> Joiner:
    """Return all subtasks; cancel when the predicate, which they call, is true of one."""
    return _Until(predicate)
