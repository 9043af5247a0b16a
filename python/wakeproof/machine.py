# SPDX-License-Identifier: Apache-2.0
"""What this machine offers: CPUs, kernel features, programs.  Only reads; installs nothing."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wakeproof import _build, cgroup
from wakeproof.errors import MissingToolError, WakeproofError
from wakeproof.judge import toolchain

_MEMBARRIER = {"x86_64": 324, "aarch64": 283}  # system call numbers
_MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3  # bit in the answer to MEMBARRIER_CMD_QUERY
_IO_URING_SETUP = 425
_EPOLL_PWAIT2 = 441
_SHOWN = 4  # carriers, of many
_EFAULT, _EINVAL = 14, 22  # what io_uring_setup says to a null pointer where it exists


@dataclass(frozen=True)
class Finding:
    """One part: is it there, what was found or what to install, do the two commands need it."""

    part: str
    present: bool
    value: str
    needed: bool = False


def examine() -> list[Finding]:
    """Return everything that `wakeproof doctor` shows, in its order."""
    return [_cpus(), _quota(), carriers(None), carriers("linux"), _membarrier(), _epoll(),
            _io_uring(), _compiler(), *map(_binutil, BINUTILS), _headers(),
            _own_values(), *_tlc(),
            *map(_optional, OPTIONAL.items())]  # fmt: skip


OPTIONAL = {
    "second compiler": ("clang clang-19", "clang"),
    "C++ compiler": ("g++", "g++"),
    "aarch64 compiler": ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
    "aarch64 emulator": ("qemu-aarch64", "qemu-user"),
    "debugger": ("gdb", "gdb"),
    "moodycamel queue": ("/usr/include/concurrentqueue", "libconcurrentqueue-dev"),
    "Boost.Context": ("/usr/include/boost/context", "libboost-context-dev"),
}
"""part -> (programs or paths, one of which will do; Debian packages)."""


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
    """Say where carriers sit, by default (as WAKEPROOF_* say), or with that topology."""
    part = "carriers" + (f", {topology!r}" if topology else "")
    try:
        from wakeproof.config import settle  # loads the bindings, which may not be built
        from wakeproof.topology import Seats

        chosen = settle(topology=topology)
        seats = Seats(
            chosen.topology,
            chosen.carriers,
            stealing=chosen.work_stealing,
            scope=chosen.steal_scope,
        )
    except WakeproofError as error:
        return Finding(part, False, str(error))
    names = [seats.name(carrier) for carrier in range(chosen.carriers)]
    shown = [*names[:_SHOWN], "..", names[-1]] if len(names) > _SHOWN + 1 else names
    floating = ", floating" if None in seats.cores else ""
    return Finding(part, True, f"{len(names)}{floating}: {', '.join(shown)}")


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
    present = error in (errno.EINVAL, errno.EBADF)  # what it says of such arguments where it exists
    refused = f"not offered ({os.strerror(error)}): pollers sleep by the millisecond"
    return Finding(
        "epoll_pwait2", present, "timers of pollers to the nanosecond" if present else refused
    )


def has_io_uring() -> bool:
    """Whether the system lets this process make a ring."""
    return _syscall(_IO_URING_SETUP, 1, 0)[1] in (_EFAULT, _EINVAL)


def _io_uring() -> Finding:
    _, error = _syscall(_IO_URING_SETUP, 1, 0)
    if not has_io_uring():
        why = f"not offered ({os.strerror(error)}): threads of a pool read and write files"
        return Finding("io_uring", False, why)
    if not _build.has_uring(*_build.compiler()):
        return Finding("io_uring", False, "no liburing to build with: apt install liburing-dev")
    return Finding("io_uring", True, "available, with liburing")


def _compiler() -> Finding:
    name = (os.environ.get("CC") or "cc").split()[0]
    if not shutil.which(name):
        return Finding("C compiler", False, "not found: apt install gcc", needed=True)
    run = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
    return Finding("C compiler", True, f"{name}: {run.stdout.splitlines()[0]}", needed=True)


BINUTILS = ("objcopy", "nm")
"""What the explorer needs beside the compiler: judge/explored.py."""


def _binutil(name: str) -> Finding:
    found = shutil.which(name)
    return Finding(name, found is not None, found or "not found: apt install binutils", needed=True)


def require_judges() -> None:
    """Check that all judges can run: a compiler that links, what the explorer needs, Java and TLC.

    Raises:
        MissingToolError: what is missing, all of it, and what provides each.
    """
    findings = [_compiler(), *map(_binutil, BINUTILS)]
    missing = [f"{found.part}: {found.value}" for found in findings if not found.present]
    if findings[0].present:
        missing += _unlinked()
    try:
        toolchain.find()
    except MissingToolError as error:
        missing.append(str(error))
    if missing:
        raise MissingToolError("the judges cannot run: " + "; ".join(missing))


def _unlinked() -> list[str]:
    """Say what the compiler lacks: it may be there without assembler, linker or headers."""
    command = [*(os.environ.get("CC") or "cc").split(), "-x", "c", "-", "-pthread"]
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        program = "#include <stdatomic.h>\n#include <stdio.h>\nint main(void) { return 0; }\n"
        ended = subprocess.run([*command, "-o", str(Path(folder) / "program")], input=program,
                               capture_output=True, text=True, check=False)  # fmt: skip
    if ended.returncode == 0:
        return []
    said = next(iter(ended.stderr.strip().splitlines()), f"exit {ended.returncode}")
    return [f"{command[0]} builds no program ({said}): apt install gcc binutils libc6-dev"]


def _headers() -> Finding:
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    found = header.is_file()
    value = str(header) if found else "not found: apt install python3-dev (faster bindings)"
    return Finding("Python.h", found, value)


def _own_values() -> Finding:
    from wakeproof._rlock import IS_OWN  # loads the bindings

    each = "each virtual thread's own"
    shared = "shared by the virtual threads of a carrier: needs CPython 3.11 to 3.13 and Python.h"
    return Finding("threading.local, RLock", IS_OWN, each if IS_OWN else shared)


def _tlc() -> list[Finding]:
    try:
        tools = toolchain.find()
        version = toolchain.tlc_version(tools)
    except MissingToolError as error:
        return [Finding("Java and TLC", False, str(error), needed=True)]
    java = Finding("Java", True, f"{tools.java_version} ({tools.java})", needed=True)
    return [java, Finding("TLC", True, f"{version} ({tools.jar})", needed=True)]


def _optional(item: tuple[str, tuple[str, str]]) -> Finding:
    """Look for a part that the two commands can do without, except in CI."""
    part, (wanted, packages) = item
    found = next(filter(None, map(_path_of, wanted.split())), None)
    value = found or f"not found: apt install {packages}"
    return Finding(part, found is not None, value, needed=os.environ.get("WAKEPROOF_CI") == "1")


def _path_of(wanted: str) -> str | None:
    if wanted.startswith("/"):
        return wanted if Path(wanted).exists() else None
    return shutil.which(wanted)
