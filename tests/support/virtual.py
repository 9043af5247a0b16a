# SPDX-License-Identifier: Apache-2.0
"""Virtual threads in tests: the current one, held carriers, and how long to wait for another."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

import wakeproof
from wakeproof import Carrier, VirtualThread

PATIENCE_S = 60  # a lost wake fails the test instead of hanging it
Owner = Callable[[Callable[[], object]], object]
"""Runs the body of a test in the main thread, or in a virtual one."""


def parked(thread: VirtualThread, state: str = "parked") -> VirtualThread:
    """Return the started thread when it is in that state."""
    while thread.state != state:
        assert thread.is_alive()
    return thread


def until(is_so: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, "what is awaited never came"
        time.sleep(0.001)


@contextlib.contextmanager
def held(*carriers: Carrier) -> Iterator[list[threading.Event]]:
    """Occupy each carrier by a task that no thief can take, until its event is set."""
    events = [threading.Event() for _ in carriers]
    for carrier, go_on in zip(carriers, events, strict=True):
        begun = threading.Event()
        carrier.factory(pinned=True)(lambda b=begun, g=go_on: (b.set(), g.wait(PATIENCE_S)))
        assert begun.wait(PATIENCE_S)
    try:
        yield events
    finally:
        for go_on in events:
            go_on.set()


def myself() -> VirtualThread:
    """Return the calling virtual thread."""
    thread = wakeproof.current()
    assert thread is not None
    return thread


def interrupt(process: subprocess.Popen[str]) -> str:
    """Send Ctrl-C until the process has ended, and return its output.

    CPython may put its main thread to sleep although a signal has just come; the next one wakes it.
    """
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=PATIENCE_S / 6)[0]
    process.kill()
    raise AssertionError("Ctrl-C does not end it")
