# SPDX-License-Identifier: Apache-2.0
"""Which process this is, without the system call that `os.getpid` is each time."""

from __future__ import annotations

import os

pid = os.getpid()


def _forked() -> None:
    global pid
    pid = os.getpid()


os.register_at_fork(after_in_child=_forked)
