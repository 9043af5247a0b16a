# SPDX-License-Identifier: Apache-2.0
"""One call of an executor, and the outcome that its future gets.

Source: ``virtual_pool.py``, ``queued_pool.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wakeproof._runtime.future import Future
from wakeproof._runtime.jobs import _in_parent


class Told:
    """What an executor does with a call, and with its future."""

    __slots__ = ()
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    future: Future[Any]
    is_told: bool  # whether its future was

    @property
    def inner(self) -> Callable[..., Any]:
        """The callable that its thread calls in the end."""
        return self.fn

    def begins(self) -> bool:
        """Return whether the call may run: its future was not cancelled."""
        self.is_told = True  # type: ignore[misc] # a slot of its subclasses
        return self.future.set_running_or_notify_cancel()

    def run(self) -> None:
        if self.begins():
            try:
                value = _in_parent(self.fn, *self.args, **self.kwargs)
            except BaseException as error:
                self.future.set_exception(error)
                del self  # the error's traceback refers to this frame
            else:
                self.future.set_result(value)

    async def run_coroutine(self) -> None:
        if self.begins():
            try:
                value = await self.fn(*self.args, **self.kwargs)
            except BaseException as error:
                self.future.set_exception(error)
                del self
            else:
                self.future.set_result(value)

    def fail(self, error: BaseException) -> None:
        """Set the exception of the future, unless `run` has set its outcome."""
        if not self.is_told and not self.begins():
            return
        if not self.future.done():
            self.future.set_exception(error)


class Call(Told):
    """One call, from its submission to its end."""

    __slots__ = ("args", "fn", "future", "is_told", "kwargs")

    def __init__(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.fn, self.args, self.kwargs, self.is_told = fn, args, kwargs, False
        self.future = Future()
