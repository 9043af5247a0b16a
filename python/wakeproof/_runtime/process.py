# SPDX-License-Identifier: Apache-2.0
"""Which process this is, without the system call that `os.getpid` is each time."""

from __future__ import annotations

import os
import threading

pid = os.getpid()
_survivor = 0  # the only thread that a child has of its parent


def has_forked() -> bool:
    """Whether the calling thread is one of the parent's, and so no carrier here."""
    return threading.get_ident() == _survivor


def _forked() -> None:
    global pid, _survivor
    pid, _survivor = os.getpid(), threading.get_ident()


os.register_at_fork(after_in_child=_forked)
