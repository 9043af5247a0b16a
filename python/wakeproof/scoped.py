# SPDX-License-Identifier: Apache-2.0
"""Scoped values: bound for a block, inherited by the forks of scopes opened in it.

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
    """One binding, and those around it.  Never changed."""

    __slots__ = ("around", "key", "value")

    def __init__(self, key: object, value: object, around: Bindings | None) -> None:
        self.key, self.value, self.around = key, value, around


_bindings: ContextVar[Bindings | None] = ContextVar("wakeproof.bindings", default=None)
bindings = _bindings.get


def unbind() -> None:
    """Begin without any: in the context of a thread that no scope has forked."""
    _bindings.set(None)


def _unwind(one: Bindings, name: str) -> None:
    """End a binding, and those in it.  Who is not in its context ends none."""
    at = innermost = _bindings.get()
    while at is not None and at is not one:
        at = at.around
    if at is one:
        _bindings.set(one.around)
    if innermost is not one:
        raise StructureError(f"{name}: its binding ended out of order, or in another thread")


class ScopedValue(Generic[T]):
    """A value that is bound for a block, and cannot be set: ``with user.bind("ada"): user.get()``.

    Bindings nest.  Forks of a `Scope` have those of its opening; other threads have none.

    Threads: any.
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
        """Whether the caller is in a block that binds it."""
        return self._find() is not None

    def get(self) -> T:
        """Return what it is bound to, innermost.

        Raises:
            LookupError: it is not bound.
        """
        found = self._find()
        if found is None:
            raise LookupError(f"{self.name}: not bound here")
        value: Any = found.value
        return value  # type: ignore[no-any-return]

    @contextmanager
    def bind(self, value: T) -> Iterator[None]:
        """Bind it in this block, whatever it is around it.

        Raises:
            StructureError: bindings made in the block had not ended; they have now, as it has.
        """
        mine = Bindings(self, value, _bindings.get())
        _bindings.set(mine)
        try:
            yield
        finally:
            _unwind(mine, self.name)
