# SPDX-License-Identifier: Apache-2.0
"""psycopg 3 parks, although it waits in C: it has a wait function in Python as well.

``psycopg.waiting.wait`` is the function by which a connection waits for its server.  With
``psycopg[binary]`` or ``psycopg[c]`` that is a function in C, which holds the carrier.  In virtual
threads it becomes ``wait_poll`` of the same module, whose ``select.poll`` parks.  psycopg may be
imported before `wakeproof.install` or after it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from wakeproof._runtime.stdlib.replacement import Function, Replacement

_MODULE = "psycopg.waiting"


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    yield _Wait()


class _Wait(Replacement):
    """The wait function, now or once its module has been imported."""

    def __init__(self) -> None:
        super().__init__(_MODULE, "wait", lambda original: original)
        self._function: Function | None = None

    def install(self) -> None:
        """Replace it, or see to it that the import does."""
        if module := sys.modules.get(_MODULE):
            self._replace(module)
        else:
            sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Put back what was there before."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if self._function is not None:
            self._function.uninstall()
            self._function = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module for ``import``, as an entry of ``sys.meta_path``."""
        if name != _MODULE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def then_replace(module: ModuleType) -> None:
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self._replace(module)

            spec.loader.exec_module = then_replace  # type: ignore[method-assign]
        return spec

    def _replace(self, module: ModuleType) -> None:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            parks: Callable[..., Any] = module.wait_poll
            return parks if original is getattr(module, "wait_c", None) else original

        self._function = Function(module, "wait", make)
        self._function.install()
