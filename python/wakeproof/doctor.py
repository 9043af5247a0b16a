# SPDX-License-Identifier: Apache-2.0
"""Report what this machine offers: CPUs and features of Linux.  Nothing is installed.

``judge/needs.py`` adds what the judges need.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wakeproof import cgroup
from wakeproof._native import build as _build
from wakeproof.errors import WakeproofError

_MEMBARRIER = {"x86_64": 324, "aarch64": 283}  # system call numbers
_MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3  # bit in the answer to MEMBARRIER_CMD_QUERY
_IO_URING_SETUP = 425
_EPOLL_PWAIT2 = 441
_SHOWN = 4  # names shown when there are many carriers
_EFAULT, _EINVAL = 14, 22  # io_uring_setup's errors for a null pointer


@dataclass(frozen=True)
class Finding:
    """One row of the report.

    Attributes:
        part: what was examined.
        present: whether it is there.
        value: what was found, or what to install.
        needed: whether `wakeproof doctor` exits with 3 without it; default False.

    Threads: any thread may use it; it is immutable.

    Example:
        >>> Finding("Java", False, "not found", needed=True).present
        False
    """

    part: str
    present: bool
    value: str
    needed: bool = False


def examine() -> list[Finding]:
    """Return the rows of `wakeproof doctor` about the machine and the library, in their order."""
    return [_cpus(), _quota(), carriers(None), carriers("linux"), _membarrier(), _epoll(),
            _io_uring(), _headers(), _own_values()]  # fmt: skip


def _cpus() -> Finding:
    allowed = sorted(os.sched_getaffinity(0))
    enough = "" if len(allowed) > 1 else "; stress needs 2 to judge REQUIRED outcomes"
    value = f"{len(allowed)} allowed of {os.cpu_count()} ({platform.machine()}){enough}"
    return Finding("CPUs", True, value)


def _quota() -> Finding:
    quota = cgroup.quota()
    value = "none" if quota is None else f"{quota:g} CPUs"
    return Finding("cgroup quota", True, value)


def carriers(topology: Literal["linux"] | None) -> Finding:
    """Report the places of carriers: as the WAKEPROOF_* variables set them, or with `topology`."""
    part = "carriers" + (f", {topology!r}" if topology else "")
    try:
        from wakeproof.config import settle  # loads the bindings, which may be absent
        from wakeproof.topology import Seats

        chosen = settle(topology=topology)
        seats = Seats(
            chosen.topology,
            chosen.carriers,
            stealing=chosen.work_stealing,
            scope=chosen.scope,
        )
    except WakeproofError as error:
        return Finding(part, False, str(error))
    names = [seats.name(carrier) for carrier in range(chosen.carriers)]
    shown = [*names[:_SHOWN], "..", names[-1]] if len(names) > _SHOWN + 1 else names
    pinned = ", not pinned" if None in seats.cores else ""
    return Finding(part, True, f"{len(names)}{pinned}: {', '.join(shown)}")


def _syscall(number: int, *arguments: int) -> tuple[int, int]:
    """Return (result, errno) of a system call."""
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments))
    return result, ctypes.get_errno()


def _membarrier() -> Finding:
    number = _MEMBARRIER.get(platform.machine())
    supported, _ = _syscall(number, 0, 0, 0) if number else (-1, 0)
    present = supported > 0 and bool(supported & _MEMBARRIER_PRIVATE_EXPEDITED)
    value = "private expedited" if present else "not offered: guards use the symmetric fences"
    return Finding("membarrier", present, value)


def _epoll() -> Finding:
    error = _syscall(_EPOLL_PWAIT2, -1, 0, 0, 0, 0, 0)[1]
    present = error in (errno.EINVAL, errno.EBADF)  # its errors for such arguments, where it exists
    refused = f"not offered ({os.strerror(error)}): pollers sleep by the millisecond"
    return Finding(
        "epoll_pwait2", present, "timers of pollers to the nanosecond" if present else refused
    )


def has_io_uring() -> bool:
    """Return whether the system lets this process make an io_uring."""
    return _syscall(_IO_URING_SETUP, 1, 0)[1] in (_EFAULT, _EINVAL)


def _io_uring() -> Finding:
    _, error = _syscall(_IO_URING_SETUP, 1, 0)
    if not has_io_uring():
        why = f"not offered ({os.strerror(error)}): threads of a pool read and write files"
        return Finding("io_uring", False, why)
    if not _build.has_uring(*_build.compiler()):
        return Finding("io_uring", False, "no liburing to build with: apt install liburing-dev")
    return Finding("io_uring", True, "available, with liburing")


def _headers() -> Finding:
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    found = header.is_file()
    value = str(header) if found else "not found: apt install python3-dev (faster bindings)"
    return Finding("Python.h", found, value)


def _own_values() -> Finding:
    from wakeproof._runtime.line import IS_OWN  # imported late: it loads the bindings

    each = "each virtual thread's own"
    shared = "shared by the virtual threads of a carrier: needs CPython 3.11 to 3.14 and Python.h"
    return Finding("threading.local, RLock", IS_OWN, each if IS_OWN else shared)
