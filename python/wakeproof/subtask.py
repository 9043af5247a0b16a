# SPDX-License-Identifier: Apache-2.0
"""A fork of a scope, and its outcome.

Spec: ``Scope.tla``: Begin, Record (NoForkRunsAfterCancel, NoResultAfterCancel).  Source:
``scope.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal

from wakeproof._runtime.trampoline import here, named
from wakeproof._runtime.types import T
from wakeproof.errors import StateError, SubtaskError

if TYPE_CHECKING:
    from wakeproof.scope import Scope
    from wakeproof.vthread import VirtualThread


class Subtask(Generic[T]):
    """One subtask of a `Scope`, which `Scope.fork` returns.

    Its state is "unavailable" first.  The state becomes "success" or "failed" when the subtask
    ends, and stays "unavailable" if the scope is cancelled before that.

    Threads: any thread after the scope is joined; before that only the subtask's own thread.

    Example:
        >>> from wakeproof import CarrierGroup, Scope, joiner
        >>> with CarrierGroup(1) as group, Scope(joiner.await_all(), group=group) as scope:
        ...     part = scope.fork(int, "x")
        ...     scope.join()
        ...     part.state, part.exception()
        ('failed', ValueError("invalid literal for int() with base 10: 'x'"))
    """

    __slots__ = ("_call", "_error", "_scope", "_thread", "_value", "state")
    _thread: VirtualThread

    def __init__(self, scope: Scope, call: Callable[[], Any]) -> None:
        self._scope, self._call = scope, call
        self._value: Any = None
        self._error: BaseException | None = None
        self.state: Literal["unavailable", "success", "failed"] = "unavailable"

    def __repr__(self) -> str:
        return f"<Subtask {self._thread.name} {self.state}>"

    @property
    def inner(self) -> Callable[[], Any]:
        """The callable that its thread calls in the end."""
        return self._call

    def result(self) -> T:
        """Return what the subtask returned.

        Raises:
            StateError: the scope is not joined, or it was cancelled before the subtask had ended.
            SubtaskError: the subtask failed; its exception is the cause.
        """
        self._check()
        if self._error is not None:
            raise SubtaskError(f"{self._thread.name}: {self._error!r}") from self._error
        value: T = self._value
        return value

    def exception(self) -> BaseException | None:
        """Return what the subtask raised; None if it raised nothing.

        Raises:
            StateError: as `result`.
        """
        self._check()
        return self._error

    def _check(self) -> None:
        if not self._scope.is_joined and here.thread is not self._thread:
            raise StateError(f"{self._thread.name}: the scope is not joined; join it first")
        if self.state == "unavailable":
            raise StateError(f"{self._thread.name}: the scope was cancelled before it ended")

    def _run(self) -> None:
        if self._scope.is_cancelled:
            return
        try:
            value = self._call()
        except BaseException as error:
            self._failed(error)
        else:
            self._scope._complete(self, value, None)
        finally:
            del self  # the error's traceback refers to this frame

    async def _run_coroutine(self) -> None:
        if self._scope.is_cancelled:
            return
        try:
            value = await self._call()
        except BaseException as error:
            self._failed(error)
        else:
            self._scope._complete(self, value, None)
        finally:
            del self  # the error's traceback refers to this frame

    def _failed(self, error: BaseException) -> None:
        of = f"{self._thread.name!r} of {self._scope.name}"
        self._scope._complete(self, None, named(error, of))
