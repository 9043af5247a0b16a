# SPDX-License-Identifier: Apache-2.0
"""``pytest --wakeproof-watch`` says who waits when a test hangs or fails, and what woke nobody.

A test that takes longer than ``--wakeproof-watch-after`` seconds is not ended.  Its waits are
printed, and it goes on.
"""

from __future__ import annotations

import _thread
import argparse
import os
import threading
import traceback
from collections.abc import Generator, Iterator
from typing import Any

import pytest

_AFTER_S = 10.0
_NOTES: pytest.StashKey[Any] = pytest.StashKey()
_STDERR: pytest.StashKey[int] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("wakeproof")
    group.addoption(
        "--wakeproof-watch", action="store_true",
        help="Say who waits, and which wakes woke nobody, when a test fails or takes long.",
    )  # fmt: skip
    group.addoption(
        "--wakeproof-watch-after", type=_after, default=_AFTER_S, metavar="SECONDS",
        help=f"Say so when a test has taken that long; {_AFTER_S:g}.",
    )  # fmt: skip


def _after(text: str) -> float:
    """Return a number of seconds.

    Raises:
        ArgumentTypeError: it is none that a thread can wait.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:  # not a number is neither
        raise argparse.ArgumentTypeError(f"it is {text!r}; allowed: more than 0 seconds")
    return seconds


def pytest_configure(config: pytest.Config) -> None:
    """Begin to take notes, if that is wanted."""
    if not config.getoption("--wakeproof-watch"):
        return
    from wakeproof.judge.watch.notes import Notes

    config.stash[_STDERR] = os.dup(2)  # pytest captures that of the tests
    config.stash[_NOTES] = Notes()
    config.stash[_NOTES].begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take no more notes."""
    if _NOTES in config.stash:
        config.stash[_NOTES].end()
        os.close(config.stash[_STDERR])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Print who waits if the test takes long."""
    notes = item.config.stash.get(_NOTES, None)
    if notes is None:
        return (yield)
    after_s = item.config.getoption("--wakeproof-watch-after")
    notes.forget()
    # A lock is not noted, as a condition would be.
    over = _thread.allocate_lock()
    over.acquire()

    def look() -> None:
        if not over.acquire(timeout=after_s):
            head = f"\nwakeproof: {item.nodeid} has taken {after_s:g} s\n"
            lines = [*notes.lines(), *_threads(threading.get_ident())]
            text = "".join(f"{line}\n" for line in lines)
            os.write(item.config.stash[_STDERR], f"{head}{text}".encode())

    thread = threading.Thread(target=look, name="wakeproof-watch", daemon=True)
    thread.start()
    try:
        return (yield)
    finally:
        over.release()
        thread.join()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure who waits, or has waited in vain."""
    report = yield
    notes = item.config.stash.get(_NOTES, None)
    if notes is not None and call.excinfo is not None and report.failed:
        lines = list(notes.lines())
        if lines:
            report.sections.append(("wakeproof: who waits", "\n".join(lines)))
    return report


def _threads(own: int) -> Iterator[str]:
    """Yield where each thread is."""
    from wakeproof._runtime.stacks import of_os_threads  # imported late: few sessions need it

    names = {one.ident: one.name for one in threading.enumerate()}
    for ident, frame in of_os_threads().items():
        if ident != own:
            at = traceback.extract_stack(frame)[-1]
            yield f"{names.get(ident, ident)} is at {at.filename}:{at.lineno} ({at.name})"
