# SPDX-License-Identifier: Apache-2.0
"""Gives a judge's package the judge's function, which is loaded when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module


def function_of(package: str) -> Callable[[str], object]:
    """Return the `__getattr__` of a judge's package, for the function of its name in `run`.

    For another name it loads nothing: ``from wakeproof.judge.check import own_spec`` looks for an
    attribute first, and `run` may need the very module that is being imported.
    """
    judge = package.rpartition(".")[2]

    def load(name: str) -> object:
        if name != judge:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"{package}.run"), name)
        return found

    return load
