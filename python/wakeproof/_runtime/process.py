# SPDX-License-Identifier: Apache-2.0
"""The identity of this process, without the system call that `os.getpid` makes each time."""

from __future__ import annotations

import os
import threading

pid = os.getpid()
_survivor = 0  # the thread that called `os.fork`: the only one that the child has


def has_forked() -> bool:
    """Return whether the calling thread has forked this process, and so is no carrier here."""
    return threading.get_ident() == _survivor


def _forked() -> None:
    global pid, _survivor
    pid, _survivor = os.getpid(), threading.get_ident()


os.register_at_fork(after_in_child=_forked)
