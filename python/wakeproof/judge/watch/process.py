# SPDX-License-Identifier: Apache-2.0
"""A running process as /proc shows it: threads, the calls in which they sleep, memory, descriptors.

Nothing is written into the process, and no thread of it is stopped or traced.  Reading its memory
and its system calls needs the permission that a debugger needs (ptrace(2), "access mode").
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import pwd
import re
import select
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from wakeproof.errors import UnsupportedError, UsageError

MACHINE: Final = "x86_64"
"""The only machine whose system calls are known here."""
_ELF64: Final = 2
_EM_X86_64: Final = 62
_YAMA: Final = Path("/proc/sys/kernel/yama/ptrace_scope")
_HELP_WITH_YAMA: Final = {
    "1": "run watch as root, or set it to 0, or let the process call "
         "prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)",
    "2": "run watch as root, or set it to 0",
    "3": "nobody may look into another process until this machine starts again",
}  # fmt: skip
"""By what the file says; the first allows it to ancestors, the second to CAP_SYS_PTRACE alone."""
_PIDFD_OPEN, _PIDFD_GETFD = 434, 438
_PIDFD_THREAD: Final = os.O_EXCL
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_EXEC_START: Final = re.compile(r"se\.exec_start\s*:\s*([\d.]+)")
_LAST_CPU: Final = 36  # in /proc/PID/stat, behind the name
_WORD: Final = struct.Struct("<I")
_POINTER: Final = struct.Struct("<Q")


class GoneError(Exception):
    """The process has ended, or a thread of it has."""


@dataclass(frozen=True)
class Sleep:
    """One stay of a thread in a system call; another stay differs in `switches`."""

    number: int
    arguments: tuple[int, ...]
    sp: int
    pc: int
    switches: int  # how often the thread was given a CPU


@dataclass(frozen=True)
class Region:
    """A line of /proc/PID/maps."""

    begin: int
    end: int
    access: str
    offset: int
    inode: int
    path: str  # "": memory of its own


@dataclass(frozen=True)
class Thread:
    """A thread, and its state as a letter: R runs or could, S sleeps, D, T, t, Z as in ps(1)."""

    tid: int
    name: str
    state: str


class Process:
    """A process that is looked at.  Close it, or use it in a `with` block.

    Raises:
        UsageError: there is no such process, or none that has memory and 64 bits.
        UnsupportedError: the machine is unknown here, or the system forbids the look.
    """

    def __init__(self, pid: int) -> None:
        if platform.machine() != MACHINE:
            raise UnsupportedError(f"watch knows the system calls of {MACHINE} alone, and this "
                                   f"machine is {platform.machine()}")  # fmt: skip
        self.pid = pid
        self.folder = Path(f"/proc/{pid}")
        self._memory = -1
        self._pidfd = -1
        if not self.folder.is_dir():
            raise UsageError(f"there is no process {pid}")
        live = [one for one in self.threads() if one.state not in "ZX"]
        if not live:
            raise UsageError(f"process {pid} has ended: its parent has not waited for it")
        # A main thread that has ended keeps its number, but its folder shows no memory.  Of the
        # others each may end at any time, and may have a lower number than the main one.
        tid = pid if any(one.tid == pid for one in live) else live[0].tid
        self.folder = Path(f"/proc/{pid}/task/{tid}")
        try:
            self._check_kind()
            self._memory = os.open(self.folder / "mem", os.O_RDONLY)
            _read(self.folder / "syscall")
        except PermissionError:
            self.close()
            raise UnsupportedError(self._forbidden()) from None
        except (FileNotFoundError, GoneError):
            self.close()
            raise UsageError(f"process {pid} has just ended") from None

    def close(self) -> None:
        """Give back what the look has opened."""
        for fd in (self._memory, self._pidfd):
            if fd >= 0:
                os.close(fd)
        self._memory = self._pidfd = -1

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def command(self) -> str:
        """Return its command line."""
        words = (self.folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        return b" ".join(words).decode(errors="replace")

    def threads(self) -> list[Thread]:
        """Return its threads, also those that have ended and are still listed.

        Raises:
            GoneError: the process has ended.
        """
        found = []
        try:
            names = [one.name for one in Path(f"/proc/{self.pid}/task").iterdir()]
        except FileNotFoundError:
            raise GoneError from None
        for name in sorted(names, key=int):
            try:
                text = _read(Path(f"/proc/{self.pid}/task/{name}/stat"))
            except GoneError:
                continue
            before, _, after = text.rpartition(")")
            found.append(Thread(int(name), before.partition("(")[2], after.split()[0]))
        return found

    def sleep(self, tid: int) -> Sleep | None:
        """Return the system call in which the thread sleeps, or None if it runs or has ended."""
        try:
            words = self._of(tid, "syscall").split()
            switches = int(self._of(tid, "schedstat").split()[2])
        except GoneError:
            return None
        if len(words) != 9:
            return None
        values = [int(word, 16) for word in words[1:]]
        return Sleep(int(words[0]), tuple(values[:6]), values[6], values[7], switches)

    def cpu(self, tid: int) -> tuple[str, ...]:
        """Return its CPU time and how often it was given a CPU; () if it has ended."""
        try:
            used, _waited, switches = self._of(tid, "schedstat").split()
        except GoneError:
            return ()
        return used, switches

    def asleep_s(self, tid: int) -> float | None:
        """Return for how long the thread has had no CPU; None: this system does not tell."""
        try:
            its = _EXEC_START.search(self._of(tid, "sched"))
            cpu = int(self._of(tid, "stat").rpartition(")")[2].split()[_LAST_CPU])
        except (GoneError, OSError):
            return None
        ahead_s = _clock_of(cpu)
        if its is None or ahead_s is None:
            return None
        return max(0.0, time.monotonic() + ahead_s - float(its[1]) / 1e3)

    def own_numbers(self) -> dict[int, int]:
        """Return each thread by the number that it has for itself, in a container another one."""
        found = {}
        for thread in self.threads():
            try:
                words = re.search(r"^NSpid:\s(.*)$", self._of(thread.tid, "status"), re.MULTILINE)
            except GoneError:
                continue
            found[int(words[1].split()[-1]) if words else thread.tid] = thread.tid
        return found

    def kernel_function(self, tid: int) -> str:
        """Return where in the kernel the thread sleeps, or ""."""
        try:
            return self._of(tid, "wchan").strip("0\n")
        except (GoneError, PermissionError):
            return ""

    def kernel_stack(self, tid: int) -> tuple[str, ...]:
        """Return its stack in the kernel, the innermost function first; only root may read it."""
        try:
            lines = self._of(tid, "stack").splitlines()
        except (GoneError, OSError):
            return ()
        return tuple(line.split()[-1].partition("+")[0] for line in lines)

    def maps(self) -> list[Region]:
        """Return the regions of its memory, by address.

        Raises:
            GoneError: the process has ended.
        """
        found = []
        for line in _read(self.folder / "maps").splitlines():
            place, access, offset, _device, inode, *path = line.split(None, 5)
            begin, _, end = place.partition("-")
            found.append(Region(int(begin, 16), int(end, 16), access, int(offset, 16), int(inode),
                                path[0] if path else ""))  # fmt: skip
        return found

    def read(self, address: int, size: int) -> bytes | None:
        """Return memory, or None if not all of it is there."""
        try:
            got = os.pread(self._memory, size, address)
        except (OSError, OverflowError):
            return None
        return got if len(got) == size else None

    def word(self, address: int) -> int | None:
        """Return the 32 bits at an address."""
        got = self.read(address, 4)
        return None if got is None else int(_WORD.unpack(got)[0])

    def pointer(self, address: int) -> int | None:
        """Return the 64 bits at an address."""
        got = self.read(address, 8)
        return None if got is None else int(_POINTER.unpack(got)[0])

    def stack(self, sp: int, words: int) -> tuple[int, ...]:
        """Return up to so many words of a stack, fewer at its end."""
        for many in (words, words // 2, words // 8):
            got = self.read(sp, 8 * many)
            if got is not None:
                return struct.unpack(f"<{many}Q", got)
        return ()

    def descriptor(self, fd: int) -> tuple[str, str]:
        """Return what a descriptor is and what the kernel tells of it (/proc/PID/fdinfo)."""
        try:
            what = (self.folder / "fd" / str(fd)).readlink()
            return str(what), _read(self.folder / "fdinfo" / str(fd))
        except (OSError, GoneError):
            return "closed", ""

    def is_readable(self, fd: int) -> bool | None:
        """Return whether a descriptor is readable now; None: this system does not let us ask."""
        events = self._events(fd, select.POLLIN)
        return None if events is None else bool(events & select.POLLIN)

    def is_ready(self, fd: int, event: int) -> bool:
        """Return whether a call for that event, POLLIN or POLLOUT, would not wait."""
        return bool(self._events(fd, event))

    def _events(self, fd: int, event: int) -> int | None:
        """Poll a duplicate of a descriptor, from which nothing is read; None: it is forbidden."""
        if self._pidfd < 0:
            tid = int(self.folder.name)
            flags = 0 if tid == self.pid else _PIDFD_THREAD
            self._pidfd = int(_LIBC.syscall(_PIDFD_OPEN, tid, flags))
        copy = int(_LIBC.syscall(_PIDFD_GETFD, self._pidfd, fd, 0))
        if copy < 0:
            return None
        try:
            poll = select.poll()
            poll.register(copy, event)
            return sum(events for _, events in poll.poll(0))
        finally:
            os.close(copy)

    def others_hold(self, link: str, mark: str) -> bool:
        """Return whether another process has a descriptor of that kind and with that mark.

        `mark` is a line of its fdinfo, such as ``eventfd-id: 7``; "" for a pipe, whose link has a
        number.  Processes of other users count as not having it.
        """
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == self.pid:
                continue
            try:
                for entry in (folder / "fd").iterdir():
                    if str(entry.readlink()) == link and (
                        not mark or mark in _read(folder / "fdinfo" / entry.name)
                    ):
                        return True
            except (OSError, GoneError):
                continue
        return False

    def descriptors(self) -> Iterator[tuple[int, str]]:
        """Yield each open descriptor and what it is."""
        try:
            for entry in (self.folder / "fd").iterdir():
                yield int(entry.name), str(entry.readlink())
        except OSError:
            return

    def has_timers(self) -> bool:
        """Return whether a POSIX timer of its own can send it a signal."""
        try:
            return bool(_read(self.folder.parents[1] / "timers"))
        except (OSError, GoneError):
            return False

    def catches(self, number: int) -> bool:
        """Return whether it has a handler for a signal."""
        caught = re.search(r"^SigCgt:\s*(\w+)", _read(self.folder / "status"), re.MULTILINE)
        return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)

    def is_frozen(self) -> bool:
        """Return whether its control group is frozen."""
        try:
            groups = _read(self.folder / "cgroup").splitlines()
        except GoneError:
            return False
        for line in groups:
            _, controllers, path = line.split(":", 2)
            for root, file, frozen in (("freezer", "freezer.state", "FROZEN"),
                                       ("", "cgroup.events", "frozen 1"),
                                       ("unified", "cgroup.events", "frozen 1")):  # fmt: skip
                if root == "freezer" and "freezer" not in controllers:
                    continue
                at = Path("/sys/fs/cgroup") / root / path.lstrip("/") / file
                try:
                    if frozen in at.read_text(encoding="utf-8"):
                        return True
                except OSError:
                    continue
        return False

    def _of(self, tid: int, name: str) -> str:
        return _read(Path(f"/proc/{self.pid}/task/{tid}/{name}"))

    def _check_kind(self) -> None:
        if not _read(self.folder / "maps"):
            raise UsageError(f"process {self.pid} is a thread of the kernel: it has no memory")
        try:
            with (self.folder / "exe").open("rb") as file:
                head = file.read(20)
        except FileNotFoundError:
            raise UsageError(f"process {self.pid} has no program: it ends just now") from None
        if head[4] != _ELF64:
            raise UsageError(f"process {self.pid} has 32 bits; watch knows 64 alone")
        machine = struct.unpack_from("<H", head, 18)[0]
        if machine != _EM_X86_64:
            raise UsageError(f"process {self.pid} is of another machine (ELF machine {machine})")

    def _forbidden(self) -> str:
        uid = self.folder.stat().st_uid
        begin = f"the system forbids to look into process {self.pid}: "
        if uid != os.geteuid() != 0:
            try:
                owner = pwd.getpwuid(uid).pw_name
            except KeyError:
                owner = str(uid)
            users = owner if owner == "root" else f"{owner} or as root"
            return f"{begin}it belongs to {owner}; run watch as {users}"
        scope = _YAMA.read_text(encoding="utf-8").strip() if _YAMA.exists() else "0"
        if scope in _HELP_WITH_YAMA:
            return f"{begin}{_YAMA} is {scope}; {_HELP_WITH_YAMA[scope]}"
        return (f"{begin}give watch CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE), or run it "
                "outside the container")  # fmt: skip


@functools.cache
def _clock_of(cpu: int) -> float | None:
    """Return by how much the clock of a CPU, which its threads' times are of, is ahead of ours.

    The clocks of two CPUs may be half a second apart, so this thread moves there for a moment.
    """
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {cpu})
        found = _EXEC_START.search(_read(Path("/proc/thread-self/sched")))
        return float(found[1]) / 1e3 - time.monotonic() if found else None
    except (OSError, GoneError):
        return None
    finally:
        os.sched_setaffinity(0, before)


def _read(path: Path) -> str:
    """Return a file of /proc.

    Raises:
        GoneError: its thread has ended.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        raise GoneError from None
