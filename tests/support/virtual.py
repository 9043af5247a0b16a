# SPDX-License-Identifier: Apache-2.0
"""Virtual threads in tests: who runs, and until when one waits for another."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable

import wakeproof
from wakeproof import VirtualThread

PATIENCE_S = 60  # a lost wake fails the test instead of hanging it
Owner = Callable[[Callable[[], object]], object]
"""Runs the body of a test in the main thread, or in a virtual one."""


def parked(thread: VirtualThread, state: str = "parked") -> VirtualThread:
    """Return the started thread when it is in that state."""
    while thread.state != state:
        assert thread.is_alive()
    return thread


def myself() -> VirtualThread:
    """Return the virtual thread that calls."""
    thread = wakeproof.current()
    assert thread is not None
    return thread


def interrupt(process: subprocess.Popen[str]) -> str:
    """Send Ctrl-C until the process has ended, and return what it printed.

    CPython may put its main thread to sleep beside a signal that has just come: the next wakes it.
    """
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=PATIENCE_S / 6)[0]
    process.kill()
    raise AssertionError("Ctrl-C does not end it")
