# SPDX-License-Identifier: Apache-2.0
"""Mutex, semaphore and channel in split form, for tests: a waiter is memory, no thread sleeps."""

from __future__ import annotations

import ctypes
import importlib
import os
from pathlib import Path
from typing import Any, cast

OK, TIMEOUT, CLOSED, FORBIDDEN, MUST_PARK = 0, -1, -2, -7, 1
GRANTED = 2


class Waiter(ctypes.Structure):
    """struct wp_waiter of kernel/thread/wait_queue.h; a zeroed one belongs to an OS thread."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("next", "prev", "line", "thread", "push", "value")),
        *((name, ctypes.c_uint32) for name in ("number", "state", "amount")),
        ("result", ctypes.c_int16),
        ("why", ctypes.c_uint16),
        *((name, ctypes.c_void_p) for name in ("leave", "object")),
    )

    def is_granted(self) -> bool:
        return cast(int, self.state) == GRANTED


class Sync(ctypes.Structure):
    """Room for any of the three; zeroed it is a free mutex, or a semaphore without permits."""

    _fields_ = (("words", ctypes.c_uint32 * 2), ("rest", ctypes.c_uint64 * 16))


def library() -> Any:
    """The built kernel."""
    if "WAKEPROOF_LIBRARY" in os.environ:
        path = str(Path(os.environ["WAKEPROOF_LIBRARY"]) / "libwakeproof.so")
    else:
        path = str(importlib.import_module("wakeproof._native.kernel").__file__)
    kernel = ctypes.CDLL(path)
    for name in ("mutex_begin", "mutex_check", "mutex_cancel", "mutex_pass", "semaphore_begin"):
        getattr(kernel, f"wp__{name}").restype = ctypes.c_bool
    for name in ("wp__semaphore_cancel", "wp__waiter_cancel", "wp_semaphore_try_acquire"):
        getattr(kernel, name).restype = ctypes.c_bool
    return kernel
