# SPDX-License-Identifier: Apache-2.0
"""Flask under gunicorn with the worker of wakeproof, against clients in OS threads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.clients import servers
from tests.clients.test_clients import CALLS, PACKAGES, Came, needs
from tests.support.running import run

OURS = "wakeproof.gunicorn.VirtualThreadWorker"
PATIENCE_S = 60
pytestmark = pytest.mark.slow


@contextmanager
def serving(folder: Path, worker: str, *flags: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Run gunicorn; yield its port and its process."""
    needs("gunicorn")
    port = servers.free_port()
    command = [sys.executable, "-m", "gunicorn", "-k", worker, "-b", f"127.0.0.1:{port}"]
    command += ["--chdir", str(Path(__file__).parent), "--no-control-socket", *flags, "app:app"]
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": str(PACKAGES)}, stdout=out,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
    try:
        until = time.monotonic() + PATIENCE_S
        while "Booting worker" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.02)
        yield port, process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE_S) as reply:
        return str(reply.read().decode())


def called(port: int, threads: int, seconds: float) -> Came:
    """Make calls in OS threads of another process."""
    flags = ["--kind", "os", "--threads", str(threads), "--seconds", str(seconds)]
    done = run([sys.executable, CALLS, "requests", str(port), *flags], PYTHONPATH=str(PACKAGES))
    assert done.returncode == 0, done.stderr
    return Came(**json.loads(done.stdout))


def test_a_process_serves_200_requests_at_a_time(tmp_path: Path) -> None:
    with serving(tmp_path, OURS) as (port, _):
        came = called(port, 200, 3.0)
    assert (came.right, came.most) == (200, 200)


def test_gunicorns_own_worker_serves_one(tmp_path: Path) -> None:
    with serving(tmp_path, "sync", "--timeout", "60") as (port, _):
        came = called(port, 5, 0.2)
    assert (came.right, came.most) == (5, 1)


def test_the_setting_worker_connections_is_a_bound(tmp_path: Path) -> None:
    with serving(tmp_path, OURS, "--worker-connections", "3", "--keep-alive", "0") as (port, _):
        came = called(port, 12, 0.2)
    assert came.right == 12
    assert came.most == 3


def test_a_stop_lets_requests_end(tmp_path: Path) -> None:
    with serving(tmp_path, OURS) as (port, process):
        flags = ["--kind", "os", "--threads", "20", "--seconds", "2"]
        command = [sys.executable, CALLS, "requests", str(port), *flags]
        environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
        client = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        time.sleep(1.5)  # all have been sent by now, or will be refused
        process.send_signal(signal.SIGTERM)
        out, _ = client.communicate(timeout=PATIENCE_S)
        assert process.wait(PATIENCE_S) == 0
    assert json.loads(out)["right"] == 20


def test_a_process_that_stands_still_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path, OURS, "--timeout", "2") as (port, _):
        with pytest.raises(OSError, match=r"closed|reset"):
            get(port, "/stuck/30/computing")
        assert json.loads(get(port, "/0/x"))["token"] == "x"
    assert "WORKER TIMEOUT" in (tmp_path / "log").read_text()


def test_a_process_ends_after_max_requests_and_none_is_lost(tmp_path: Path) -> None:
    with serving(tmp_path, OURS, "--max-requests", "5") as (port, _):
        said = [json.loads(get(port, f"/0/{token}"))["token"] for token in range(20)]
        assert said == [str(token) for token in range(20)]
        time.sleep(1.5)
    assert (tmp_path / "log").read_text().count("Autorestarting worker") >= 1
