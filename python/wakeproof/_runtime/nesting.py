# SPDX-License-Identifier: Apache-2.0
"""The scopes that a thread has open; the innermost one is the last.

Spec: ``specs/scope/Nesting.tla`` (LifoClose, OwnerConfinement).  Source: this file.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from wakeproof._runtime.trampoline import here

if TYPE_CHECKING:
    from wakeproof.scope import Scope


class _Below(threading.local):
    """The open scopes of an OS thread."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []


_below = _Below()


def stack() -> list[Scope]:
    """Return the open scopes of the caller."""
    return _below.scopes if here.thread is None else here.thread._scopes


def me() -> object:
    """Return the identity of the caller, a virtual thread or an OS thread."""
    return here.thread or threading.get_ident()


def parent() -> Scope | None:
    """Return the caller's innermost open scope, or else the scope that has forked the caller."""
    scopes = stack()
    if scopes:
        return scopes[-1]
    return None if here.thread is None else here.thread._scope
