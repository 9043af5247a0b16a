# SPDX-License-Identifier: Apache-2.0
"""Wait for a child process by its pidfd, a descriptor that is readable when the process has ended.

Source: ``ready.py``.
"""

from __future__ import annotations

import errno
import os
import select
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from wakeproof._runtime.deadline import deadline_ns
from wakeproof._runtime.ready import ready
from wakeproof.errors import UnsupportedError, UsageError

Child = int | subprocess.Popen[Any]


def ended(child: Child) -> Callable[[], int | None]:
    """Return a function that returns the exit code of the child, or None while the child runs.

    Raises:
        UsageError: `child` is no process number and no ``subprocess.Popen``.
    """
    if isinstance(child, subprocess.Popen):
        return child.poll
    if isinstance(child, bool) or not isinstance(child, int) or child <= 0:
        raise UsageError(
            f"child is {child!r}; allowed: the number of a child process, 1 or more, or a "
            "subprocess.Popen"
        )
    number = child

    def code() -> int | None:
        found, status = os.waitpid(number, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if found else None

    return code


@contextmanager
def pidfd(child: Child) -> Iterator[int]:
    """Open a pidfd of the child for this block.

    Raises:
        UnsupportedError: the system has none.
        ProcessLookupError: there is no such process.
    """
    number = child if isinstance(child, int) else child.pid
    try:
        fd = os.pidfd_open(number)
    except OSError as error:
        if error.errno == errno.ENOSYS:
            raise UnsupportedError(
                "wait_child: this system has no pidfd_open; Linux has it from version 5.3 on"
            ) from error
        raise
    try:
        yield fd
    finally:
        os.close(fd)


def wait_child(child: Child, timeout_s: float | None = None) -> int:
    """Wait until a child process has ended, and return its exit code.

    A virtual thread (`VirtualThread`) parks meanwhile: its carrier, the OS thread that runs it,
    does other work.  An OS thread blocks.

    Args:
        child: the number of a child process of this process, or a ``subprocess.Popen``.  Of a
            number the system forgets the child, as after ``os.waitpid``.
        timeout_s: seconds, 0 or more; default None: wait without a limit.

    Returns the exit code as ``subprocess.Popen.returncode`` has it: negative if a signal ended the
    child.

    Threads: any thread may call it.

    Raises:
        TimeoutError: the time ran out.
        ChildProcessError: there is no such child, or another call has waited for it.
        UsageError: `child` or `timeout_s` is not allowed.
        UnsupportedError: the system has no pidfds (Linux before 5.3).
        ThreadInterruptedError: the caller is a virtual thread, and was interrupted.

    Example:
        >>> import subprocess
        >>> from wakeproof import CarrierGroup, VirtualThread, io
        >>> with CarrierGroup(1) as group:
        ...     child = subprocess.Popen(["sh", "-c", "exit 3"])
        ...     VirtualThread(io.wait_child, child, group=group).start().result()
        3
    """
    deadline, code = deadline_ns(timeout_s), ended(child)
    found = code()
    if found is None:
        with pidfd(child) as fd:
            ready({fd: select.POLLIN}, deadline)
        found = code()
    return exit_code(found, child, timeout_s)


def exit_code(found: int | None, child: Child, timeout_s: float | None) -> int:
    """Return the exit code that was found.

    Raises:
        TimeoutError: it is None.
    """
    if found is None:
        number = child if isinstance(child, int) else child.pid
        raise TimeoutError(
            errno.ETIMEDOUT, f"process {number} has not ended within {timeout_s} seconds"
        )
    return found
