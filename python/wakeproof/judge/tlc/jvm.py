# SPDX-License-Identifier: Apache-2.0
"""Java virtual machines that run TLC on many configurations, one after another.

To start Java and load TLC takes longer than to check a small spec.  A machine is a process of its
own (`tlc.jvm_child`): if a run takes too long or the machine fails, the process is killed, and the
next configuration gets a new machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import select
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

from wakeproof.errors import WakeproofError
from wakeproof.judge.process import Children, Finished, cpu_seconds, is_stalled
from wakeproof.judge.tlc import toolchain

CHILD = Path(__file__).with_name("jvm_child.py")
MOST_FRESH = 25
"""Runs with classes of their own before a machine is replaced: it never unloads any, 12 MB each."""
START_S = 60.0
_ANSWER = re.compile(rb"<tlc (\w+)>\n")


class JvmError(WakeproofError):
    """A shared machine gave no answer: the configuration must be run in a machine of its own."""


class Machine:
    """One process with one Java virtual machine; used by one thread at a time."""

    def __init__(self, children: Children, options: tuple[str, ...]) -> None:
        tools = toolchain.find()
        command = [sys.executable, "-P", str(CHILD), str(_library(tools.java)), str(tools.jar)]
        self._unpacked = tempfile.TemporaryDirectory(prefix="wakeproof-tlc-")
        command += [*options, f"-Djava.io.tmpdir={self._unpacked.name}"]
        self._children = children
        self._fresh = 0
        try:
            self._child = children.start(command, cwd=Path(self._unpacked.name), asked=True)
        except BaseException:
            self._unpacked.cleanup()
            raise
        try:
            if self._read(START_S, None) is None:
                raise JvmError(f"a shared JVM did not start in {START_S:.0f} s")
        except BaseException:
            self.end()
            raise

    @property
    def is_worn(self) -> bool:
        """Return whether the machine has loaded TLC as often as its memory allows."""
        return self._fresh >= MOST_FRESH

    def run(
        self,
        arguments: list[str],
        folder: Path,
        private: Path,
        *,
        fresh: bool,
        timeout_s: float,
        stall_s: float,
    ) -> Finished:
        """Run TLC with `arguments` in `folder`; `private` is a folder for what it writes.

        After `timed_out` the machine still runs, and only `end` may be called.

        Raises:
            JvmError: the machine gave no answer.
        """
        self._fresh += fresh
        output = private / "output"
        request = {
            "arguments": arguments, "folder": str(folder), "output": str(output),
            "private": str(private), "fresh": fresh,
        }  # fmt: skip
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(request) + "\n")
            self._child.stdin.flush()
        except OSError as error:
            raise JvmError(f"a shared JVM has ended: {error.strerror}") from None
        code = self._read(timeout_s, stall_s)
        if code is None:
            return Finished(-1, _text(output), timed_out=True)
        return Finished(int(code), _text(output), timed_out=False)

    def end(self) -> None:
        """Kill the machine."""
        self._children.forget(self._child)
        self._unpacked.cleanup()

    def _read(self, timeout_s: float, stall_s: float | None) -> bytes | None:
        """Return the machine's next answer; None: the time ran out first."""
        assert self._child.stdout is not None
        pipe = self._child.stdout.fileno()
        deadline = time.monotonic() + timeout_s
        said, cpu_s = b"", 0.0
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        while True:
            slice_s = max(0.0, min(deadline - time.monotonic(), stall_s or math.inf))
            if poll.poll(slice_s * 1000):
                part = os.read(pipe, 65536)
                said += part
                found = _ANSWER.search(said)
                if found:
                    return found.group(1)
                if not part:
                    last = said.decode("utf-8", "replace").strip().splitlines()[-1:]
                    raise JvmError("; ".join(["a shared JVM has ended", *last]))
            elif time.monotonic() >= deadline:
                return None
            else:
                before, cpu_s = cpu_s, cpu_seconds(self._child.pid)
                if is_stalled(cpu_s - before, slice_s):
                    raise JvmError(f"a shared JVM has stood still for {slice_s:.0f} s")


class Machines:
    """The machines of one job, one for each thread that calls.

    Leaving the `with` block kills them; no thread may be in `run` then.

    Threads: `run` and `end` from any number of threads.
    """

    def __init__(self, children: Children, options: tuple[str, ...]) -> None:
        self._children = children
        self._options = options
        self._lock = threading.Lock()
        self._idle: list[Machine] = []
        self._refused = ""  # why none can be started

    def __enter__(self) -> Machines:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def run(
        self,
        arguments: list[str],
        folder: Path,
        private: Path,
        *,
        fresh: bool,
        timeout_s: float,
        stall_s: float,
    ) -> Finished:
        """Run TLC with `arguments` in a machine that is idle, or in a new one.

        Args:
            arguments: of TLC.
            folder: where TLC looks for the files that the arguments name, and for modules.
            private: an existing folder for what TLC writes.
            fresh: load TLC's classes for this run alone; temporal formulas need that.
            timeout_s: seconds after which the run is ended, and its machine killed.
            stall_s: seconds without use of a CPU after which the machine is killed.

        Raises:
            JvmError: no machine gave an answer.
            JudgeError: the job was ended meanwhile.
        """
        machine = self._take()
        keeps = False
        try:
            done = machine.run(
                arguments, folder, private, fresh=fresh, timeout_s=timeout_s, stall_s=stall_s
            )
            keeps = not done.timed_out and not machine.is_worn
            return done
        finally:
            if keeps:
                with self._lock:
                    self._idle.append(machine)
            else:
                machine.end()

    def end(self) -> None:
        """Kill the idle machines."""
        with self._lock:
            idle, self._idle = self._idle, []
        for machine in idle:
            machine.end()

    def _take(self) -> Machine:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            if self._refused:
                raise JvmError(self._refused)
        try:
            return Machine(self._children, self._options)
        except JvmError as error:
            with self._lock:
                self._refused = str(error)
            raise


def can_share() -> bool:
    """Return whether many configurations may run in one JVM; only one version was tested."""
    tools = toolchain.find()
    return _library(tools.java).is_file() and _sha256(tools.jar) == toolchain.JAR_SHA256


def _library(java: Path) -> Path:
    """Return the library that holds the virtual machine of a `java` program."""
    return java.resolve().parent.parent / "lib" / "server" / "libjvm.so"


@cache
def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _text(file: Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return file.read_text(encoding="utf-8", errors="replace")
    return ""
