# SPDX-License-Identifier: Apache-2.0
"""The HTTP bench as it runs, beside toy servers: its measures, its failures, and its end.

Serves no spec: docs/inside/bench-http.md.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.virtual import PATIENCE_S

from wakeproof import locations
from wakeproof.bench import web
from wakeproof.bench.web import run, running, sample, servers
from wakeproof.bench.web.sample import FIXED, MOST
from wakeproof.bench.web.servers import GO, REACTIVE, UNIFIED, Setup
from wakeproof.cli.bench_http import show
from wakeproof.errors import JudgeError
from wakeproof.judge import report
from wakeproof.judge.process import Children

TOY = [sys.executable, str(Path(__file__).parents[1] / "programs" / "bench" / "toy_proxy.py")]
LOAD = sample.Load(0, 4, 4)
SHORT_RUN = run.Settings(None, 0.2, 1, 200, (LOAD,), (Setup(UNIFIED), Setup(REACTIVE), Setup(GO)))


@pytest.mark.slow
def test_a_server_that_does_not_listen_says_what_it_said() -> None:
    with Children() as children:
        broken = [sys.executable, "-c", "print('no such port')"]
        with (
            running.Running(children, broken, (0,)) as server,
            pytest.raises(JudgeError, match="does not listen: no such port"),
        ):
            server.address()
        silent = [sys.executable, "-c", "import time; time.sleep(600)"]
        with (
            running.Running(children, silent, (0,)) as server,
            pytest.raises(JudgeError, match=r"said nothing for 0\.2 seconds"),
        ):
            server.line(0.2)


def test_a_program_runs_on_its_cpus_only() -> None:
    cpu = max(os.sched_getaffinity(0))
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    with (
        Children() as children,
        running.Running(children, [sys.executable, "-c", code], (cpu,)) as started,
    ):
        assert started.rest() == [f"[{cpu}]"]
        assert started.code == 0


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let a toy stand in for every server and backend; results go to tmp_path."""

    def build(children: Children) -> servers.Programs:
        fails = [sys.executable, "-c", "print('out of order')"]
        backend = tmp_path / "backend"
        backend.write_text(f"#!/bin/sh\nexec {TOY[0]} {TOY[1]}\n")
        backend.chmod(0o755)
        return servers.Programs(servers.load(children), backend, {UNIFIED: TOY, REACTIVE: fails},
                                {GO: "not run: install Go"})  # fmt: skip

    monkeypatch.setattr(servers, "build", build)
    monkeypatch.setattr(locations, "write_atomically", lambda _, text: done.write_text(text))
    done = tmp_path / "http.json"
    return done


@pytest.mark.slow
def test_a_whole_run_tells_what_was_counted_what_failed_and_what_is_missing(
    toys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = web.bench_http(SHORT_RUN)
    unified, reactive, go = found.lines
    for phase in (FIXED, MOST, sample.TRACED):
        (one, *_) = unified.of(phase)
        assert (one.errors, one.unanswered, one.stats["wakeups"]) == (0, 0, 4)
        assert one.completed > 0
    assert unified.of(FIXED)[0].completed == pytest.approx(200 * 0.2, abs=30)
    assert reactive.has_failed
    assert reactive.not_run == f"failed: {Path(TOY[0]).name} does not listen: out of order"
    assert go.not_run == "not run: install Go"
    assert json.loads(toys.read_text())["lines"][0]["samples"]["most"][0]["stats"]["sleeps"] == 8
    show(report.console(), found)
    out = capsys.readouterr().out
    for said in ("4 connections; fixed rate 200/s", "reactive: failed:", "Go: not run: ",
                 "eventfd writes per sleep", "peers: none", "2 goals: 2 met"):  # fmt: skip
        assert said in out


CTRL_C = f"""
import sys
from pathlib import Path
from wakeproof.bench.web import run, sample, servers
from wakeproof.bench.web.servers import Setup
toy = {TOY!r}
backend = Path(sys.argv[1])
backend.write_text("#!/bin/sh\\nexec " + " ".join(toy) + " --backend\\n")
backend.chmod(0o755)
servers.build = lambda children: servers.Programs(
    servers.load(children), backend, {{"unified": [*toy, "--tag", sys.argv[1]]}})
run.locations.write_atomically = lambda path, text: print("written", flush=True)
setups, loads = (Setup("unified"),), (sample.Load(0, 4, 4),)
run.bench_http(run.Settings(None, 60, 1, 100, loads, setups), lambda what: print(what, flush=True))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_end_leaves_no_process_and_no_result(tmp_path: Path, how: signal.Signals) -> None:
    tag = str(tmp_path / "backend")
    job = subprocess.Popen([sys.executable, "-c", CTRL_C, tag], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)  # fmt: skip
    with job:
        assert job.stdout is not None
        while not commands_with(tag, "load-"):  # the load runs: all three do
            assert job.poll() is None
        job.send_signal(how)
        assert "written" not in job.stdout.read()
        assert job.wait(PATIENCE_S) != 0
    deadline = time.monotonic() + PATIENCE_S
    while commands_with(tag):  # after SIGKILL the system ends them a moment later
        assert time.monotonic() < deadline


def commands_with(tag: str, name: str = "") -> list[str]:
    """Return the command lines of this run: the server carries its name, the load its address."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append((int(file.parent.name), file.read_text().replace("\0", " ")))
        except (FileNotFoundError, ProcessLookupError):
            continue
    mine = [text for pid, text in found if tag in text and pid != os.getpid()]
    if not name:
        return [text for text in mine if "CTRL" not in text]
    return [text for _, text in found if name in text and mine]


@pytest.mark.slow
def test_the_command_is_there(wakeproof: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    ended = wakeproof("bench-http", "-t", "nginx")
    assert ended.returncode == 2
    assert "no server matches 'nginx'" in ended.stderr
