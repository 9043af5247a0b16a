# SPDX-License-Identifier: Apache-2.0
"""Scoped values: bound for a block, and inherited by the forks of scopes that open in the block.

Spec: ``specs/scope/Nesting.tla`` (BindingsInherited).  Source: this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from wakeproof.errors import StructureError

T = TypeVar("T")


class Bindings:
    """One binding and the ones around it; it never changes."""

    __slots__ = ("around", "key", "value")

    def __init__(self, key: object, value: object, around: Bindings | None) -> None:
        self.key, self.value, self.around = key, value, around


_bindings: ContextVar[Bindings | None] = ContextVar("wakeproof.bindings", default=None)
bindings = _bindings.get


def unbind() -> None:
    """Remove the bindings from the context of a thread that is not a subtask of a scope."""
    _bindings.set(None)


def _unwind(one: Bindings, name: str) -> None:
    """End a binding and the bindings inside it; in another context this does nothing."""
    at = innermost = _bindings.get()
    while at is not None and at is not one:
        at = at.around
    if at is one:
        _bindings.set(one.around)
    if innermost is not one:
        raise StructureError(f"{name}: its binding ended out of order, or in another thread")


class ScopedValue(Generic[T]):
    """A value that is bound for a block, and cannot be changed inside the block.

    Bindings nest.  The subtasks of a `Scope` inherit the bindings that were in force when the scope
    was entered; a thread that no scope has started begins without bindings.

    Args:
        name: the name of the value in errors.

    Threads: any thread may call all methods.

    Example:
        >>> from wakeproof import CarrierGroup, Scope, ScopedValue
        >>> user = ScopedValue("user")
        >>> with CarrierGroup(1) as group, user.bind("ada"), Scope(group=group) as scope:
        ...     part = scope.fork(user.get)
        ...     scope.join()
        ...     part.result()
        'ada'
        >>> user.is_bound()
        False
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<ScopedValue {self.name}>"

    def _find(self) -> Bindings | None:
        one = _bindings.get()
        while one is not None and one.key is not self:
            one = one.around
        return one

    def is_bound(self) -> bool:
        """Return whether the caller is in a block that binds this value."""
        return self._find() is not None

    def get(self) -> T:
        """Return the innermost binding of this value.

        Raises:
            LookupError: the value is not bound.
        """
        found = self._find()
        if found is None:
            raise LookupError(f"{self.name}: not bound here; get it in a block of `bind`")
        value: Any = found.value
        return value  # type: ignore[no-any-return]

    @contextmanager
    def bind(self, value: T) -> Iterator[None]:
        """Bind this scoped value to `value` in the block; the end of the block ends the binding.

        Raises:
            StructureError: bindings that were made in the block had not ended; all have ended now.
        """
        mine = Bindings(self, value, _bindings.get())
        _bindings.set(mine)
        try:
            yield
        finally:
            _unwind(mine, self.name)
