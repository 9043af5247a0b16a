# SPDX-License-Identifier: Apache-2.0
"""Programs that run side by side on chosen CPUs, and the resources that Linux reports for them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from wakeproof.errors import JudgeError
from wakeproof.judge.process import Children

STARTS_S, ENDS_S = 60.0, 60.0
LISTENING = "listening on "
# This script becomes the program (exec), so that the program has the process id that we know.  The
# program runs on the given CPUs from its first thread on, may open as many descriptors as the
# system allows, and is killed when its parent ends.
ON_CPUS = """\
import ctypes, os, resource, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
os.sched_setaffinity(0, map(int, sys.argv[1].split(",")))
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
os.execvp(sys.argv[2], sys.argv[2:])"""


@dataclass(frozen=True)
class Usage:
    """The resources that the threads of a process have used so far.

    They are CPU seconds, the seconds in which threads were ready but had no CPU, and context
    switches.
    """

    cpu_s: float
    waited_s: float
    switches: int

    def since(self, before: Usage) -> Usage:
        """Return the resources that were used after `before`."""
        return Usage(
            self.cpu_s - before.cpu_s,
            self.waited_s - before.waited_s,
            self.switches - before.switches,
        )


def usage(pid: int, proc: Path = Path("/proc")) -> Usage:
    """Return the usage of a process; apart from CPU time, only of the threads that it has now."""
    here = proc / str(pid)
    fields = (here / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    waited_ns, switches = 0, 0
    for task in here.glob("task/*"):
        try:
            lines = (task / "status").read_text(encoding="utf-8").splitlines()
            waited_ns += int((task / "schedstat").read_text(encoding="utf-8").split()[1])
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
        switches += sum(int(line.split()[1]) for line in lines if "_ctxt_switches:" in line)
    return Usage(cpu_s, waited_ns / 1e9, switches)


class Running:
    """A program that runs on some CPUs until the `with` block is left."""

    def __init__(self, children: Children, command: list[str], cpus: tuple[int, ...]) -> None:
        self._name = Path(command[0]).name
        on_cpus = [sys.executable, "-I", "-S", "-c", ON_CPUS, ",".join(map(str, cpus))]
        self._children = children
        self._child = children.start([*on_cpus, *command])

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self._children.forget(self._child)

    @property
    def pid(self) -> int:
        """Return the process's id."""
        return self._child.pid

    def line(self, timeout_s: float = STARTS_S) -> str | None:
        """Return the next line that the program prints; None: it has ended.

        Raises:
            JudgeError: nothing came for `timeout_s` seconds.
        """
        assert self._child.stdout is not None
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._children.kill(self._child)

        watch = threading.Timer(timeout_s, expire)
        watch.daemon = True  # Ctrl-C may come while it is started: nobody cancels it then
        try:
            watch.start()
            line = self._child.stdout.readline()
        finally:
            watch.cancel()
        if expired.is_set():
            raise JudgeError(f"{self._name} said nothing for {timeout_s:g} seconds")
        return line.rstrip("\n") if line else None

    def address(self) -> str:
        """Return the HOST:PORT on which the program listens.

        Raises:
            JudgeError: it printed something else, or nothing.
        """
        line = self.line()
        if line is None or not line.startswith(LISTENING):
            said = " ".join([line or "", *self.rest()]).strip()
            raise JudgeError(f"{self._name} does not listen: {said[-500:] or 'it said nothing'}")
        return line.removeprefix(LISTENING)

    def rest(self, timeout_s: float = ENDS_S) -> list[str]:
        """Return the lines that the program prints until it ends.

        Raises:
            JudgeError: it does not end.
        """
        lines = []
        while (line := self.line(timeout_s)) is not None:
            lines.append(line)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout_s)
        return lines

    def end(self) -> list[str]:
        """End the program by SIGTERM; return the lines that it printed until then.

        Raises:
            JudgeError: it does not end.
        """
        self._child.send_signal(signal.SIGTERM)
        return self.rest()

    @property
    def code(self) -> int | None:
        """Return the exit code of the program; None: it still runs."""
        return self._child.poll()
