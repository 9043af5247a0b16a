# SPDX-License-Identifier: Apache-2.0
"""Threads that must be OS threads, because they block for virtual threads.

``install(threads="virtual")`` makes each ``threading.Thread`` virtual, but not these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

is_os: ContextVar[bool] = ContextVar("is_os", default=False)


@contextmanager
def os_threads() -> Iterator[None]:
    """Let ``Thread.start`` start OS threads in this block, whatever `install` was told."""
    token = is_os.set(True)
    try:
        yield
    finally:
        is_os.reset(token)
