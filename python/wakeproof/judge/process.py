# SPDX-License-Identifier: Apache-2.0
"""Child processes that cannot outlive this one: each has a process group, which is killed whole.

A child that somebody else kills is an error that names it, never a verdict.  One that somebody
stops (SIGSTOP) is named on stderr; the time until it goes on counts for no limit.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from wakeproof.errors import EXIT_ENVIRONMENT, JudgeError, WakeproofError

STALLED = 0.01
"""The share of one CPU below which a child is stalled; a starved child gets more than that."""
WAIT_S = 86400.0
"""Longest wait at once: poll() counts milliseconds in an int, which is full after 24 days."""
LOOK_S = 2.0
"""How often we look whether a child is stopped; one look takes a millisecond or two."""
STOPPED_S = 3.0
"""A child that is stopped for so long is named."""
_LACKS = re.compile(r"^(?:(?:stress|explore): )?((?:no thread|no memory|out of memory)\b.*)", re.M)
"""What our own programs say if the system refuses them a thread or memory."""


class LostChildError(WakeproofError):
    """A child could not start, or was killed from outside: no verdict, and no judge's crash."""

    exit_code = EXIT_ENVIRONMENT


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
            JudgeError: the job was ended meanwhile.
            LostChildError: the program cannot be started, or somebody else has killed it.
        """
        child = self._starter.submit(self._start, command, cwd, env).result()
        try:
            ended = _wait(child, timeout_s, stall_s)
        finally:
            _kill_group(child)
            child.wait()  # otherwise it could outlive this process
            self._forget(child)
        if ended.code == -signal.SIGKILL and not ended.timed_out:
            raise self._killed(child)
        return ended

    def output(self, command: list[str], timeout_s: float) -> str:
        """Run a tool as `run` does, and return what it printed.

        Raises:
            JudgeError: as `run`; or the tool failed, so that what it printed may lack something.
        """
        ended = self.run(command, timeout_s=timeout_s)
        if ended.timed_out:
            raise JudgeError(f"{command[0]} did not end within {timeout_s:.0f} s")
        if ended.code:
            said = "; ".join(ended.output.strip().splitlines()[-2:])
            raise JudgeError(f"{' '.join(command[:2])} failed (exit code {ended.code}): {said}")
        return ended.output

    def start(
        self, command: list[str], *, cwd: Path | None = None, asked: bool = False
    ) -> subprocess.Popen[str]:
        """Start `command`; the caller reads its output, in which stderr joins stdout.

        The child runs until it ends, or is killed, or the `with` block is left; call `forget` then.
        With `asked` the caller writes to the child's stdin, which is empty otherwise.

        Raises:
            JudgeError: the job was ended meanwhile.
            LostChildError: the program cannot be started.
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
        self._forget(child)

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
                raise LostChildError(f"cannot start {command[0]}: {error.strerror}") from error
            self._live.add(child)
            _stops.add(child.pid, _name(command))
            return child

    def _forget(self, child: subprocess.Popen[str]) -> None:
        _stops.discard(child.pid)
        with self._lock:
            self._live.discard(child)

    def _killed(self, child: subprocess.Popen[str]) -> WakeproofError:
        """Return why there is no result of a child that was killed."""
        assert isinstance(child.args, list)
        if self._closed:
            return JudgeError(f"{child.args[0]} was ended: the job has ended")
        return LostChildError(
            f"{child.args[0]} (pid {child.pid}) was killed (SIGKILL), by another process, or by "
            "the system for lack of memory: there is no verdict; run this again"
        )


def check_resources(what: str, said: str) -> None:
    """Refuse what one of our programs said if the system gave it no thread or no memory.

    Raises:
        LostChildError: it did not; that is no defect of the code that is judged.
    """
    if found := _LACKS.search(said):
        raise LostChildError(f"{what}: {found[1]}: there is no verdict")


def _name(command: list[str]) -> str:
    """Return the name of a program; of our own modules, which Python runs, theirs."""
    own = [word for word in command[1:] if word.startswith("wakeproof.") or word.endswith(".py")]
    return Path([*own, *command][0] if command[0] == sys.executable else command[0]).name


class _Stops:
    """Looks which children are stopped, names them, and counts for how long.

    Threads: any; the looks are a thread's of its own, which runs while there is a child.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[int, str] = {}  # by the child's number, which is that of its session too
        self._seconds: dict[int, float] = {}
        self._looks = False

    def add(self, pid: int, name: str) -> None:
        """Watch a child that leads a session."""
        with self._lock:
            self._names[pid], self._seconds[pid] = name, 0.0
            if not self._looks:
                with contextlib.suppress(RuntimeError):  # no more threads: then none is named
                    threading.Thread(target=self._look, daemon=True).start()
                    self._looks = True

    def discard(self, pid: int) -> None:
        """Watch it no more."""
        with self._lock:
            self._names.pop(pid, None)
            self._seconds.pop(pid, None)

    def seconds(self, pid: int) -> float:
        """Return for how long the child, or one of its own children, was stopped so far."""
        with self._lock:
            return self._seconds.get(pid, 0.0)

    def _look(self) -> None:
        since: dict[int, float] = {}  # when each stopped process was first seen so
        named: set[int] = set()
        last = time.monotonic()
        while True:
            time.sleep(LOOK_S)
            with self._lock:
                names = dict(self._names)
                self._looks = bool(names)
                if not names:
                    return
            now = time.monotonic()
            stopped = _stopped(names.keys())
            since = {pid: since.get(pid, now) for pid in stopped}
            named &= since.keys()
            with self._lock:
                for session in set(stopped.values()) & self._seconds.keys():
                    self._seconds[session] += now - last
            for pid in since.keys() - named:
                if now - since[pid] >= STOPPED_S:
                    named.add(pid)
                    sys.stderr.write(
                        f"wakeproof: {names[stopped[pid]]} (pid {pid}) is stopped: continue it "
                        f"with kill -CONT {pid}, or end this with Ctrl-C\n"
                    )
            last = now


_stops = _Stops()


def _stopped(sessions: Collection[int]) -> dict[int, int]:
    """Return the processes of these sessions that a signal has stopped, each with its session."""
    found = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended
                fields = _fields(int(entry.name))
                if fields[0] == "T" and int(fields[3]) in sessions:
                    found[int(entry.name)] = int(fields[3])
    return found


def _fields(pid: int) -> list[str]:
    """Return what the system says of a process, from its state on."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()


def _kill_group(child: subprocess.Popen[str]) -> None:
    """Kill the whole group; its id is that of the child, and is not reused before the wait."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def _wait(child: subprocess.Popen[str], timeout_s: float | None, stall_s: float | None) -> Finished:
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    cpu_s = 0.0
    while True:
        left = deadline + _stops.seconds(child.pid) - time.monotonic()
        slice_s = max(0.0, min(left, stall_s or WAIT_S, WAIT_S))
        try:
            output, _ = child.communicate(timeout=slice_s)
            return Finished(child.returncode, output, timed_out=False)
        except subprocess.TimeoutExpired:
            before, cpu_s = cpu_s, cpu_seconds(child.pid)
            is_over = deadline + _stops.seconds(child.pid) <= time.monotonic()
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
    """Return the CPU time that a child has used, and the time for which it was stopped.

    A child that is stopped can use no CPU, and is not stalled.
    """
    fields = _fields(pid)
    used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used + _stops.seconds(pid)
