# SPDX-License-Identifier: Apache-2.0
"""Which scopes a thread has open, innermost last.

Spec: ``specs/scope/Nesting.tla`` (LifoClose, OwnerConfinement).  Source: this file.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from wakeproof._runtime.trampoline import here

if TYPE_CHECKING:
    from wakeproof.scope import Scope


class _Below(threading.local):
    """Those of an OS thread."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []


_below = _Below()


def stack() -> list[Scope]:
    """Return the caller's."""
    return _below.scopes if here.thread is None else here.thread._scopes


def me() -> object:
    """Return who the caller is, virtual or not."""
    return here.thread or threading.get_ident()


def parent() -> Scope | None:
    """Return the caller's innermost, else the one that has forked it."""
    scopes = stack()
    if scopes:
        return scopes[-1]
    return None if here.thread is None else here.thread._scope
