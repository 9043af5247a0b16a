# SPDX-License-Identifier: Apache-2.0
"""One name of the standard library that `wakeproof.install` replaces, and how it is undone.

  Function    a function or method that does something else in virtual threads only.  One that is
              written in C is exchanged in place, in its definition: names that were imported
              before, bound methods and objects that were made before go through it, and OS threads
              pay one test.  Where that is not possible the attribute of its owner is replaced
              (`is_in_place` says which).
  Attribute   an attribute of a module or class that gets another value in all threads.

Source: ``_native/exchange.c``; this file.
"""

from __future__ import annotations

import functools
import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from wakeproof._runtime.here import here

try:
    from wakeproof._native import exchange as exchange
except ImportError:
    exchange = None  # type: ignore[assignment]

_IN_C = (types.BuiltinFunctionType, types.MethodDescriptorType)
_MISSING = object()


class Replacement(ABC):
    """A name that has not been replaced yet, or has been."""

    def __init__(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        self.owner = owner
        self.name = name
        self._make = make
        self._old: Any = _MISSING  # what the owner itself had, not what it inherits

    def __repr__(self) -> str:
        return f"{getattr(self.owner, '__name__', self.owner)}.{self.name}"

    @abstractmethod
    def install(self) -> None:
        """Replace it.

        Raises:
            TypeError: the owner does not let go of its attribute; nothing was replaced.
        """

    def uninstall(self) -> None:
        """Put back what was there before."""
        if self._old is _MISSING:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self._old)
        self._old = _MISSING

    def _set(self, new: object) -> None:
        self._old = vars(self.owner).get(self.name, _MISSING)
        setattr(self.owner, self.name, new)


class Attribute(Replacement):
    """An attribute of a module or class, which `make` makes from the old value."""

    def install(self) -> None:
        """Replace it, in all threads."""
        self._set(self._make(getattr(self.owner, self.name)))


class Function(Replacement):
    """A function or method for which virtual threads get what `make` makes from the old one.

    `make` receives a callable that always does what the function does without wakeproof.
    """

    is_in_place = False
    _exchanged: Any = None  # somebody may give its name another value meanwhile

    def install(self) -> None:
        """Replace it, in virtual threads."""
        old = getattr(self.owner, self.name)
        if exchange is not None and isinstance(old, _IN_C):
            exchange.exchange(old, self._make(original(old)))
            self._exchanged, self.is_in_place = old, True
        else:
            self._set(_by_caller(old, self._make(old)))

    def uninstall(self) -> None:
        """Put back what was there before."""
        if self.is_in_place:
            exchange.restore(self._exchanged)
            self._exchanged, self.is_in_place = None, False
        else:
            super().uninstall()


def original(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a callable that does what the function does without wakeproof, in any thread."""
    in_c = exchange is not None and isinstance(function, _IN_C)
    return exchange.original(function) if in_c else function


def _by_caller(old: Callable[..., Any], new: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `new` for virtual threads, and `old` for OS threads."""

    @functools.wraps(old)
    def either(*args: Any, **named: Any) -> Any:
        return (old if here.thread is None else new)(*args, **named)

    return either
