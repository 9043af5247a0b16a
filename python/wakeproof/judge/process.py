# SPDX-License-Identifier: Apache-2.0
"""Child processes that cannot outlive this one: each has a process group, which is killed whole."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from wakeproof.errors import JudgeError

STALLED = 0.01
"""The share of one CPU below which a child is stalled; a starved child gets more than that."""
WAIT_S = 86400.0
"""Longest wait at once: poll() counts milliseconds in an int, which is full after 24 days."""


@dataclass(frozen=True)
class Finished:
    """How a child ended: exit code (negative: a signal), output, and whether it timed out."""

    code: int
    output: str
    timed_out: bool
    stalled: bool = False  # it used no CPU for `stall_s` seconds; timed_out is set as well


class Children:
    """The children of one job.  Leaving the `with` block kills what still runs.

    Threads: `run` from any number of threads; `kill_all` from any thread, for instance on Ctrl-C.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: set[subprocess.Popen[str]] = set()
        self._closed = False
        # Ctrl-C may raise at any place of the main thread, so it is blocked while a child is
        # started: otherwise the child could run and be in no list.
        self._starter = ThreadPoolExecutor(1)

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_all()
        with self._lock:
            left = list(self._live)
        for child in left:  # of threads that are not joined
            child.wait()

    def run(
        self,
        command: list[str],
        *,
        cwd: Path | None = None,
        timeout_s: float | None = None,
        env: dict[str, str] | None = None,
        stall_s: float | None = None,
    ) -> Finished:
        """Run `command` to its end or until `timeout_s` seconds are over; stderr joins stdout.

        A child that uses almost no CPU for `stall_s` seconds is killed as well.

        Raises:
            JudgeError: the job was ended meanwhile, or the program cannot be started.
        """
        child = self._starter.submit(self._start, command, cwd, env).result()
        try:
            return _wait(child, timeout_s, stall_s)
        finally:
            _kill_group(child)
            child.wait()  # otherwise it could outlive this process
            with self._lock:
                self._live.discard(child)

    def start(
        self, command: list[str], *, cwd: Path | None = None, asked: bool = False
    ) -> subprocess.Popen[str]:
        """Start `command`; the caller reads its output, in which stderr joins stdout.

        The child runs until it ends, or is killed, or the `with` block is left; call `forget` then.
        With `asked` the caller writes to the child's stdin, which is empty otherwise.

        Raises:
            JudgeError: the job was ended meanwhile, or the program cannot be started.
        """
        return self._starter.submit(self._start, command, cwd, None, asked).result()

    def kill(self, child: subprocess.Popen[str]) -> None:
        """Kill a started child with all its descendants."""
        _kill_group(child)

    def forget(self, child: subprocess.Popen[str]) -> None:
        """Kill a started child if it still runs, wait for it, and forget it."""
        _kill_group(child)
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # of what was written after its end
                    pipe.close()
        with self._lock:
            self._live.discard(child)

    def kill_all(self) -> None:
        """Kill every child with all its descendants, and let none start any more."""
        with self._lock:
            self._closed = True
            for child in self._live:
                _kill_group(child)

    def _start(
        self,
        command: list[str],
        cwd: Path | None,
        env: dict[str, str] | None,
        asked: bool = False,
    ) -> subprocess.Popen[str]:
        with self._lock:
            if self._closed:
                raise JudgeError(f"{command[0]} was not started: the job has ended")
            try:
                child = subprocess.Popen(
                    command,
                    cwd=cwd,
                    env=env,
                    stdin=subprocess.PIPE if asked else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,
                )
            except OSError as error:
                raise JudgeError(f"cannot start {command[0]}: {error.strerror}") from error
            self._live.add(child)
            return child


def _kill_group(child: subprocess.Popen[str]) -> None:
    """Kill the whole group; its id is that of the child, and is not reused before the wait."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def _wait(child: subprocess.Popen[str], timeout_s: float | None, stall_s: float | None) -> Finished:
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    cpu_s = 0.0
    while True:
        left = deadline - time.monotonic()
        slice_s = max(0.0, min(left, stall_s or WAIT_S, WAIT_S))
        try:
            output, _ = child.communicate(timeout=slice_s)
            return Finished(child.returncode, output, timed_out=False)
        except subprocess.TimeoutExpired:
            before, cpu_s = cpu_s, cpu_seconds(child.pid)
            is_over = slice_s >= left
            stalled = not is_over and bool(stall_s) and is_stalled(cpu_s - before, slice_s)
            if not is_over and not stalled:
                continue
            _kill_group(child)
            output, _ = child.communicate()
            return Finished(child.returncode, output, timed_out=True, stalled=stalled)


def is_stalled(cpu_s: float, seconds: float) -> bool:
    """Return whether a process that used `cpu_s` of CPU in `seconds` counts as stalled."""
    return cpu_s < STALLED * seconds


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that the process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
