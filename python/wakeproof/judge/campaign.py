# SPDX-License-Identifier: Apache-2.0
"""A campaign: a judge's work in shards, run by a cluster of dask and merged by their keys.

A shard is a function of `wakeproof.judge` with arguments, and gives the same result wherever it
runs.  Its key is a hash of both and of our sources.  A shard of a worker that is lost runs again on
another one.  A result counts once, whatever comes twice, and all must be there at the end.

On a worker a shard runs in a process of its own (``python -m wakeproof.judge.campaign``), which
ends with all its children when the campaign ends, and when the worker does.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wakeproof
from wakeproof import locations
from wakeproof.errors import JudgeError, MissingToolError, UsageError, WakeproofError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

LOCAL = "local:"
CONNECT_S = 5.0
WORKERS_S = 30.0
PATIENCE_S = 30.0
"""A worker of a local cluster that says nothing for so long is lost; elsewhere the scheduler's
``worker-ttl`` says how long, by default five minutes."""
STOP_S = 5.0
NOT_STARTED = "Cluster failed to start"  # as dask says it
_PR_SET_PDEATHSIG = 1

Progress = Callable[[str, int, int], None]
"""Called with a shard that is done, the number of these, and the number of all."""


@dataclass(frozen=True)
class Shard:
    """A part of a judge's work: ``wakeproof.judge.MODULE:FUNCTION``, and its arguments.

    `files` are those of the user's own, which each worker must have at the same place.
    """

    name: str
    function: str
    arguments: tuple[Any, ...]
    files: tuple[Path, ...] = ()

    @property
    def key(self) -> str:
        """Return a name that is the same wherever and whenever the shard is the same."""
        texts = [hashlib.sha256(file.read_bytes()).hexdigest() for file in self.files]
        text = f"{sources()} {self.function} {self.arguments!r} {texts}"
        return f"wakeproof-{hashlib.sha256(text.encode()).hexdigest()[:32]}"

    def result(self) -> object:
        """Run it in this process."""
        module, _, name = self.function.partition(":")
        return getattr(importlib.import_module(module), name)(*self.arguments)


class Merged:
    """The results by the keys of their shards, in the order of the shards."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._names = {shard.key: shard.name for shard in shards}
        if len(self._names) != len(shards):
            raise UsageError("two shards of a campaign are the same")
        self._found: dict[str, Any] = {}

    def add(self, key: str, result: object) -> str:
        """Add a shard's result unless there is one; return the shard's name."""
        self._found.setdefault(key, result)
        return self._names[key]

    @property
    def done(self) -> int:
        """Return how many shards have a result."""
        return len(self._found)

    def results(self) -> list[Any]:
        """Return all results.

        Raises:
            JudgeError: one is missing.
        """
        lacking = [name for key, name in self._names.items() if key not in self._found]
        if lacking:
            raise JudgeError(f"the cluster gave no result of {', '.join(lacking)}")
        return [self._found[key] for key in self._names]


def run(
    shards: Sequence[Shard], address: str | None, progress: Progress | None = None
) -> list[Any]:
    """Run the shards in the cluster at `address`, and return their results in the same order.

    `address` is a scheduler's, such as ``tcp://10.0.0.1:8786``, or ``local:4`` for a cluster of
    four processes that lives as long as this call; None: no cluster, all of them in this process.

    Raises:
        UsageError: there is no dask, no scheduler, no worker, or a worker has other sources.
        JudgeError: a shard failed.
    """
    shows = progress or (lambda _name, _done, _total: None)
    merged = Merged(shards)
    if address is None:
        for shard in shards:
            shows(shard.name, merged.done, len(shards))
            merged.add(shard.key, shard.result())
        return merged.results()
    shows("connecting", 0, len(shards))
    with _client(address) as client:
        name = f"wakeproof-{os.urandom(8).hex()}"
        from distributed import KilledWorker, as_completed

        futures: list[Any] = []
        try:
            futures.extend(
                client.submit(work, name, sources(), shard, key=shard.key, pure=True)
                for shard in shards
            )
            for future in as_completed(futures):  # type: ignore[no-untyped-call]
                shown = merged.add(future.key, future.result())
                shows(shown, merged.done, len(shards))
        except KilledWorker as error:
            raise JudgeError(f"several workers ended while they ran it: {error}") from error
        except ModuleNotFoundError as error:
            raise UsageError(f"--dask {address}: a worker has no wakeproof: {error}") from None
        finally:
            _stop_all(client, name)
            client.cancel(futures, force=True)  # type: ignore[no-untyped-call]
    return merged.results()


@contextlib.contextmanager
def _client(address: str) -> Iterator[Client]:
    """Connect to a cluster, or start one."""
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise UsageError(
            "--dask needs the extra cluster: pip install 'wakeproof[cluster]'"
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    logging.getLogger("tornado").setLevel(logging.CRITICAL)
    with _cluster(address) as cluster:
        try:
            client = Client(cluster or address, timeout=CONNECT_S)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            said = next(iter(str(error).splitlines()), "")
            raise UsageError(
                f"--dask {address}: no scheduler answers there ({said}): start one with "
                "`dask scheduler`, or use --dask local:4"
            ) from None
        try:
            _require_workers(client, address)
            yield client
        finally:
            with contextlib.suppress(TimeoutError):  # the results are here, and the client ends
                client.close(timeout=STOP_S)  # type: ignore[no-untyped-call]


def _require_workers(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKERS_S)
    except TimeoutError:
        raise UsageError(
            f"--dask {address}: no worker has come in {WORKERS_S:.0f} s: start some with "
            f"`dask worker {address}`"
        ) from None
    try:
        client.get_versions(check=True)
    except ValueError as error:
        raise UsageError(f"--dask {address}: {error}") from None


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[LocalCluster | None]:
    """Start the processes of ``local:4``, and end them; None: a scheduler runs elsewhere."""
    if not address.startswith(LOCAL):
        yield None
        return
    number = address.removeprefix(LOCAL)
    if not number.isdigit() or not int(number):
        raise UsageError(f"--dask {address}; allowed: local:N with N of 1 or more, or an address")
    import dask
    from distributed import LocalCluster

    with (
        tempfile.TemporaryDirectory(prefix="wakeproof-", ignore_cleanup_errors=True) as own,
        dask.config.set({
            "distributed.scheduler.worker-ttl": f"{PATIENCE_S} s", "temporary-directory": own,
        }),
    ):  # fmt: skip
        try:
            cluster = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=int(number), threads_per_worker=1, processes=True,
                dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
            )  # fmt: skip
        except RuntimeError as error:
            if not str(error).startswith(NOT_STARTED):
                raise
            raise MissingToolError(
                f"--dask {address}: dask does not start its processes: {error.__cause__ or error}"
            ) from error
        try:
            yield cluster
        finally:
            _kill_workers(cluster)
            try:
                cluster.close(timeout=STOP_S)
            except TimeoutError:  # on a machine that is busy; the results are here
                _kill_workers(cluster)


def _kill_workers(cluster: LocalCluster) -> None:
    """Kill the workers, also one that was stopped by a signal and would not end by itself."""
    for worker in cluster.workers.values():
        if worker.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)


def _stop_all(client: Client, name: str) -> None:
    """End the processes of a campaign on all workers that answer."""
    stop = threading.Thread(
        target=lambda: client.run(stop_here, name, on_error="ignore"), daemon=True
    )
    stop.start()
    stop.join(STOP_S)


# On a worker.

_running: dict[str, set[subprocess.Popen[bytes]]] = {}
"""The processes of each campaign on this worker; one that was stopped has none any more."""
_lock = threading.Lock()


def work(campaign: str, expected: str, shard: Shard) -> object:
    """Run a shard in a process of its own, and return its result.

    Raises:
        UsageError: this machine has other sources, or lacks a file.
        JudgeError: the process ended without a result.
    """
    if expected != sources():
        raise UsageError(
            f"{socket.gethostname()}: wakeproof {wakeproof.__version__} there is of other sources "
            "than here: install the same"
        )
    lacking = [file for file in shard.files if not file.is_file()]
    if lacking:
        raise UsageError(f"{socket.gethostname()} has no {lacking[0]}")
    command = [sys.executable, "-P", "-m", "wakeproof.judge.campaign", str(os.getpid())]
    with _lock:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        _running.setdefault(campaign, set()).add(child)
    try:
        output, errors = child.communicate(pickle.dumps(shard))
    finally:
        with _lock:
            _running[campaign].discard(child)
        child.kill()
        child.wait()
    if child.returncode:
        said = errors.decode("utf-8", "replace").strip().splitlines()[-3:]
        raise JudgeError("; ".join([f"{shard.name}: exit code {child.returncode}", *said]))
    result = pickle.loads(output)  # noqa: S301 - of our own child
    if isinstance(result, WakeproofError):
        raise result
    return result


def stop_here(campaign: str) -> None:
    """End the processes of a campaign on this worker."""
    with _lock:
        for child in _running.get(campaign, ()):
            child.terminate()


@cache
def sources() -> str:
    """Return a hash of the judges, and of the sources that they judge."""
    total = hashlib.sha256(wakeproof.__version__.encode())
    own = Path(__file__).parent
    for root in (own, *(locations.sources() / name for name in ("kernel", "stress"))):
        for file in sorted(root.rglob("*.[chStp]*")):
            if file.suffix != ".pyc" and file.is_file():
                total.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return total.hexdigest()


# In the process of a shard.


def _end_all() -> None:
    """End the children that are left, such as one that was just being started, and this process."""
    for file in Path("/proc/self/task").glob("*/children"):
        for child in map(int, file.read_text(encoding="ascii").split()):
            for kill in (os.killpg, os.kill):  # it has a group of its own, or not
                with contextlib.suppress(ProcessLookupError):
                    kill(child, signal.SIGKILL)
    os.killpg(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Read a shard from stdin, and write its result to stdout."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # children end as after Ctrl-C
    shard: Shard = pickle.load(sys.stdin.buffer)  # noqa: S301 - of our parent
    if os.getppid() != int(sys.argv[1]):
        raise SystemExit(1)  # the worker ended before it could take this process with it
    out = os.dup(1)
    os.dup2(2, 1)  # nothing that a judge prints gets between
    try:
        result = shard.result()
    except WakeproofError as error:
        result = error
    except KeyboardInterrupt:
        _end_all()
        raise
    with os.fdopen(out, "wb") as stream:
        pickle.dump(result, stream)


if __name__ == "__main__":
    main()
