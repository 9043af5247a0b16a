# SPDX-License-Identifier: Apache-2.0
"""Runs TLC on one configuration in several processes, which may be on several machines.

TLC has a server, which holds the queue of states and the fingerprints, and workers, which compute
next states and check the invariants.  The server and some workers run here; workers on other
machines come and go as they like.  TLC 2.15 leaves gaps, which are closed here:

- The server evaluates no assumption, so plain TLC runs as far as the initial states first.
- The server ends with exit code 0, and does not name what is violated.  A run that is not whole and
  without an error gives `Outcome.CRASH`, and the caller runs plain TLC, which explains it.
- A checkpoint has no fingerprints; they are read from the trace file, which may be longer than it
  was at the checkpoint.  The states behind that length would be known and never be expanded, so the
  file is cut there before a run is taken up again.
- A worker remembers the states that it has sent.  If an answer is lost and the worker lives on, the
  states of that answer are lost.  The server says what it has repeated; such a run has no verdict.
- The server never ends a checkpoint during which a worker is lost.  It is killed then, and started
  again from the checkpoint before.

Temporal properties are not checked at all: the caller must not ask for them.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.process import Children, Finished
from wakeproof.judge.tlc import toolchain
from wakeproof.judge.tlc.run import LARGE_JVM, SHORT_JVM, TRIES, Outcome, TlcResult, read_result

HERE = "127.0.0.1"
PREFIX = "wakeproof-tlc-"
PROGRESS_S = 1.0
CHECKPOINT_S = 600.0
PATIENCE_S = 120.0
"""A worker that gives no answer for so long is given up, and its states are explored again."""
SILENCE_S = 600.0
"""A server that reports nothing for so long is started again, from its last checkpoint."""
_SERVER = "tlc2.tool.distributed.TLCServer"
_WORKER = "tlc2.tool.distributed.TLCWorker"
_START = re.compile(r"@!@!@STARTMSG (\d+)")
_INITIAL = ("2190", "2191", "2207", "2208")  # other ones if some coincide
_CHECKPOINTED, _RECOVERED = "2196", "2198"
_CAME, _LOST, _REPEATED = "7001", "7006", "7007"
_PROGRESS = re.compile(r"([\d,]+) states generated.*?([\d,]+) distinct states found.*?([\d,]+) st")
_EXAMINED = re.compile(r"(\d+) states examined")
_WHOLE = "whole.json"
_LATE, _SILENT = "late", "silent"  # why the server was killed


@dataclass(frozen=True)
class Cluster:
    """How many workers run here, and how other machines reach this one (`HERE`: they do not)."""

    workers: int
    host: str = HERE
    checkpoint_s: float = CHECKPOINT_S
    patience_s: float = PATIENCE_S
    silence_s: float = SILENCE_S

    def checked(self) -> Cluster:
        """Return it if workers can exist and find the server.

        Raises:
            UsageError: they cannot.
        """
        if self.workers < (self.host == HERE):
            raise UsageError(f"jobs is {self.workers}; allowed: 1 or more, with --host 0 or more")
        try:
            socket.getaddrinfo(self.host, None)
        except OSError as error:
            raise UsageError(f"--host {self.host}: {error.strerror}") from None
        return self


@dataclass
class State:
    """How far a run is: what was counted, and which workers take part."""

    found: int = 0
    queued: int = 0
    rate: float = 0.0  # generated states a second, since the last call
    workers: int = 0
    lost: int = 0
    taken_up: int = 0  # states of the checkpoint with which the run began
    checkpoints: int = 0
    command: str = ""  # starts a worker on another machine; "": only this machine takes part


Tick = Callable[[State], None]
"""Called at the start, and then whenever the server reports."""


def run(
    module: Path,
    config: Path,
    key: str,
    cluster: Cluster,
    *,
    children: Children,
    timeout_s: float,
    options: tuple[str, ...] = (),
    tick: Tick = lambda _state: None,
) -> TlcResult:
    """Model-check `module` under `config`; take up an earlier run with the same `key`.

    `key` must be a hash of everything that the result depends on.

    Raises:
        MissingToolError: no Java or no TLC.
        JudgeError: there is no result: all workers have ended, or an answer of one was lost.
    """
    begin = time.monotonic()
    refused = _until_initial(module, config, children, options)
    if refused is not None:
        return refused
    with _place(key) as place:
        for _ in range(TRIES):
            job = _Run(module, config, place, cluster, children, tick)
            ended = job.to_end(_checkpoint(place, module), timeout_s, options)
            if not ended.stalled:
                break
        if job.repeated > job.state.lost:
            shutil.rmtree(place, ignore_errors=True)
            raise JudgeError(
                f"{module.name}: the answer of a worker that goes on was lost, and TLC can leave "
                "states out after that: check it again"
            )
        result = read_result(ended, time.monotonic() - begin)
        if result.outcome is not Outcome.TIMEOUT:
            shutil.rmtree(place, ignore_errors=True)
        return result


def _until_initial(
    module: Path, config: Path, children: Children, options: tuple[str, ...]
) -> TlcResult | None:
    """Return what is wrong before the first step, such as a false assumption; None: nothing."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as private:
        command = [*_java(SHORT_JVM, private), "tlc2.TLC", "-tool", "-metadir", private]
        child = children.start([*command, *_files(module, config), *options], cwd=module.parent)
        output = ""
        try:
            assert child.stdout is not None
            for line in child.stdout:
                output += line
                if _code(line) in _INITIAL:
                    return None
            code = child.wait()
        finally:
            children.forget(child)
    return read_result(Finished(code, output, timed_out=False), time.monotonic() - begin)


class _Run:
    """One run of the server with its workers."""

    def __init__(
        self,
        module: Path,
        config: Path,
        place: Path,
        cluster: Cluster,
        children: Children,
        tick: Tick,
    ) -> None:
        self._module, self._config, self._place, self._cluster = module, config, place, cluster
        self._children, self._tick, self._port = children, tick, _free_port()
        self._living: set[int] = set()
        self._said: deque[str] = deque(maxlen=3)  # by workers, at last
        self.state = State()
        self._over, self._heard, self._ended = threading.Event(), time.monotonic(), ""
        self.repeated = 0  # answers that the server asked for again
        self._generated, self._at = 0, time.monotonic()

    def to_end(self, folder: Path | None, timeout_s: float, options: tuple[str, ...]) -> Finished:
        """Run the server, from the checkpoint in `folder` if there is one."""
        where = ["-recover", str(folder)] if folder else ["-metadir", str(self._place)]
        cluster = self._cluster
        named = {
            f"{_SERVER}.report": round(1000 * PROGRESS_S),
            "tlc2.TLCGlobals.chkpt": round(1000 * cluster.checkpoint_s),
            "sun.rmi.transport.tcp.responseTimeout": round(1000 * cluster.patience_s),
            "sun.rmi.transport.tcp.handshakeTimeout": round(1000 * cluster.patience_s),
        }
        with tempfile.TemporaryDirectory(prefix=PREFIX) as private:
            command = [*_java(LARGE_JVM, private, self._named(named)), _SERVER, "-tool", "-fp", "0"]
            command += [*where, *options, *_files(self._module, self._config)]
            server = self._children.start(command, cwd=self._module.parent)
            workers = [self._worker(private, server) for _ in range(cluster.workers)]
            if cluster.host != HERE:
                self.state.command = self.command
            self._tick(self.state)
            watch = threading.Thread(
                target=self._watch, args=(server, time.monotonic() + timeout_s), daemon=True
            )
            watch.start()
            try:
                output = "".join(self._lines(server))
                code = server.wait()
            finally:
                self._over.set()
                for child in (server, *workers):
                    self._children.forget(child)
                watch.join()
        if cluster.workers and not self._living and code < 0 and not self._ended:
            raise JudgeError("; ".join(["all workers have ended", *self._said]))
        return Finished(code, output, bool(self._ended), stalled=self._ended == _SILENT)

    def _watch(self, server: subprocess.Popen[str], deadline: float) -> None:
        """Kill the server when the time is out, or when it has been silent for too long."""
        while not self._over.wait(min(1.0, self._cluster.silence_s / 4)):
            now = time.monotonic()
            if now > deadline or now - self._heard > self._cluster.silence_s:
                self._ended = _LATE if now > deadline else _SILENT
                self._children.kill(server)
                return

    @property
    def command(self) -> str:
        """Return the command line that starts a worker on another machine."""
        return (f"java -D{_SERVER}.port={self._port} -cp tla2tools.jar {_WORKER} "
                f"{self._cluster.host}")  # fmt: skip

    def _named(self, more: dict[str, int]) -> tuple[str, ...]:
        named = {f"{_SERVER}.port": self._port, "java.rmi.server.hostname": self._cluster.host}
        return tuple(f"-D{name}={value}" for name, value in {**named, **more}.items())

    def _worker(self, private: str, server: subprocess.Popen[str]) -> subprocess.Popen[str]:
        """Start a worker with one thread; the last one to end takes a server with it."""
        named = self._named({f"{_WORKER}.threadCount": 1})
        child = self._children.start(
            [*_java(SHORT_JVM, private, named), _WORKER, self._cluster.host], cwd=Path(private)
        )

        def read() -> None:
            assert child.stdout is not None
            with contextlib.suppress(ValueError):  # closed at the end
                for line in child.stdout:
                    if line.strip():
                        self._said.append(line.strip())
            self._living.discard(child.pid)
            if not self._living and self._cluster.host == HERE and child.wait() != 0:
                self._children.kill(server)

        self._living.add(child.pid)
        threading.Thread(target=read, daemon=True).start()
        return child

    def _lines(self, server: subprocess.Popen[str]) -> Iterator[str]:
        """Yield the server's lines, and follow what they say."""
        assert server.stdout is not None
        code = ""
        for line in server.stdout:
            self._heard = time.monotonic()
            yield line
            started = _code(line)
            if not started:
                self._follow(code, line)
            code = started

    def _follow(self, code: str, line: str) -> None:
        state = self.state
        if code == _CHECKPOINTED and self.repeated <= state.lost:
            _note(self._place, self._module)
            state.checkpoints += 1
        elif code == _RECOVERED:
            state.taken_up = int(_EXAMINED.findall(line)[0])
        elif code == _CAME:
            state.workers += 1
        elif code == _LOST:
            state.workers, state.lost = state.workers - 1, state.lost + 1
        elif code == _REPEATED:
            self.repeated += 1
        elif found := _PROGRESS.search(line):
            made, state.found, state.queued = (int(n.replace(",", "")) for n in found.groups())
            now = time.monotonic()
            state.rate = (made - self._generated) / max(now - self._at, 1e-3)
            self._generated, self._at = made, now
            self._tick(replace(state))


def _note(place: Path, module: Path) -> None:
    """Note that the checkpoint in `place` is whole."""
    for folder in place.iterdir():
        if (folder / f"{module.stem}.st.chkpt").is_file():
            text = json.dumps({"folder": folder.name, "files": _stamps(folder)})
            locations.write_atomically(place / _WHOLE, text)


def _stamps(folder: Path) -> dict[str, list[int]]:
    files = {file.name: file.stat() for file in sorted(folder.glob("*.chkpt"))}
    return {name: [found.st_size, found.st_mtime_ns] for name, found in files.items()}


def _checkpoint(place: Path, module: Path) -> Path | None:
    """Return the folder of a whole checkpoint, ready to be taken up; None: begin anew.

    A run that was killed while it wrote a checkpoint has parts of two.
    """
    try:
        noted = json.loads((place / _WHOLE).read_text(encoding="utf-8"))
        folder = place / str(noted["folder"])
        if _stamps(folder) != noted["files"]:
            raise ValueError("parts of two checkpoints")
        trace = folder / f"{module.stem}.st"
        length, last = struct.unpack(">qq", trace.with_suffix(".st.chkpt").read_bytes())
        if not 0 <= last < length <= trace.stat().st_size:
            raise ValueError("a trace that is too short")
        os.truncate(trace, length)
    except (OSError, ValueError, KeyError, struct.error):
        for old in place.iterdir():
            if old.is_dir():
                shutil.rmtree(old)
        return None
    return folder


@contextlib.contextmanager
def _place(key: str) -> Iterator[Path]:
    """Yield the folder of the runs with this key; only one process may have it."""
    place = locations.cache() / "distributed" / key[:20]
    place.mkdir(parents=True, exist_ok=True)
    with (place.parent / f"{place.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{place}: another process runs this configuration") from None
        place.mkdir(exist_ok=True)
        yield place


def _java(jvm: tuple[str, ...], private: str, named: tuple[str, ...] = ()) -> list[str]:
    tools = toolchain.find()
    return [str(tools.java), *jvm, *named, f"-Djava.io.tmpdir={private}", "-cp", str(tools.jar)]


def _files(module: Path, config: Path) -> list[str]:
    beside = os.path.relpath(config.parent.resolve() / config.name, module.parent.resolve())
    return ["-config", beside, module.name]


def _code(line: str) -> str:
    """Return the number of the message that begins with this line; "": none does."""
    found = _START.match(line)
    return found[1] if found else ""


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        port: int = one.getsockname()[1]
        return port
