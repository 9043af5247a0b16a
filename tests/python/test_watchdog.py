# SPDX-License-Identifier: Apache-2.0
"""The watchdog reports what stands still, names what it waits in, and is silent about the rest.

Serves ``watchdog.py``, ``_runtime/standstill.py``, ``_runtime/advice.py``, ``pytest_plugin.py``.
"""

from __future__ import annotations

import queue
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.support.running import python, run
from tests.support.virtual import until

import wakeproof
from wakeproof import CarrierGroup, UsageError, VirtualThread, coroutine
from wakeproof._runtime import standstill
from wakeproof._runtime.advice import COMPUTES, GIL, OFFLOAD, PINNED
from wakeproof._runtime.here import ARE_OWN
from wakeproof._runtime.standstill import _Seen, _Usage

CARRIERS = 1  # of `group`
LIMIT_S = 0.1
LONG_S = 0.5  # certainly found
lock = threading.Lock()
simple, ordinary = queue.SimpleQueue[int](), queue.Queue[int]()


@pytest.fixture
def reports() -> Iterator[list[str]]:
    """What is reported, from here on."""
    found: list[str] = []
    wakeproof.watch(LIMIT_S, found.append)
    yield found
    wakeproof.unwatch()


def run_in(group: CarrierGroup, fn: Callable[[], object]) -> None:
    VirtualThread(fn, name="the-thread", group=group).start().result()


def sleeps() -> None:
    time.sleep(LONG_S)


def acquires() -> None:
    lock.acquire(timeout=LONG_S)


def enters() -> None:
    with lock:
        pass


def gets() -> None:
    with suppress(queue.Empty):
        ordinary.get(timeout=LONG_S)


def gets_simple() -> None:
    with suppress(queue.Empty):
        simple.get(timeout=LONG_S)


def selects() -> None:
    select.select([], [], [], LONG_S)


def receives() -> None:
    one, other = socket.socketpair()
    with one, other:
        one.settimeout(LONG_S)
        with suppress(TimeoutError):
            one.recv(1)


def waits_for_child() -> None:
    subprocess.run([sys.executable, "-c", f"import time; time.sleep({LONG_S})"], check=True)


class Unknown:
    """Nobody can tell what its call does."""

    def __init__(self) -> None:
        self.calls = [time.sleep]

    def wait(self) -> None:
        self.calls[0](LONG_S)


def computes() -> None:
    end = time.monotonic() + 2 * LONG_S
    while time.monotonic() < end:
        pass


def parks_pinned() -> None:
    with wakeproof.pinned():
        wakeproof.sleep(LONG_S)


async def does_not_await() -> None:
    wakeproof.sleep(LONG_S)


CASES: list[tuple[Callable[[], Any], str, str]] = [
    (sleeps, "time.sleep", "wakeproof.sleep"),
    (acquires, "_thread.lock.acquire", "wakeproof.Mutex"),
    (gets, "queue.Queue.get", "wakeproof.Channel"),
    (gets_simple, "_queue.SimpleQueue.get", "wakeproof.Channel"),
    (selects, "select.select", "wakeproof.install()"),
    (receives, "_socket.socket.recv", "wakeproof.io"),
    (waits_for_child, "subprocess.run", "wakeproof.install()"),
    (Unknown().wait, "a C function", OFFLOAD),
    (computes, "computes", COMPUTES),
    (parks_pinned, "is parked, but keeps its carrier", PINNED),
    (does_not_await, "is parked, but keeps its carrier", PINNED),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fn", "what", "instead"), CASES, ids=lambda at: getattr(at, "__name__", "")
)
def test_what_stands_still_is_reported_with_its_place_and_what_to_call(
    reports: list[str], group: CarrierGroup, fn: Callable[[], object], what: str, instead: str
) -> None:
    with lock:
        run_in(group, fn)
    # perhaps two on a busy machine, which may find one step in two instructions
    text = next(text for text in reports if what in text)
    name = getattr(fn, "__qualname__", "")
    assert "'the-thread'" in text
    assert "carrier-0" in text
    assert f"    {name} ({__file__}:" in text
    assert (
        f"  instead: {instead}" in text
        or f"  instead: use {instead}" in text
        or (instead in text.rpartition("  instead: ")[2])
    )


@pytest.mark.slow
def test_the_lock_of_a_with_block_is_named(reports: list[str], group: CarrierGroup) -> None:
    lock.acquire()
    thread = VirtualThread(enters, group=group).start()
    until(lambda: reports)
    lock.release()
    thread.result()
    assert "_thread.lock" in reports[0]


@pytest.mark.slow
def test_a_call_that_keeps_the_gil_is_found_when_it_has_ended(
    reports: list[str], group: CarrierGroup
) -> None:
    def sums() -> int:
        return sum(range(60_000_000))

    run_in(group, lambda: None)  # its carrier is known from now on
    time.sleep(2 * LIMIT_S)
    end = time.monotonic() + 60
    while not reports and time.monotonic() < end:  # another thread may get the GIL first
        run_in(group, sums)
        time.sleep(2 * LIMIT_S)
    assert "sums" in reports[0]
    assert GIL in reports[0] or COMPUTES in reports[0]


@pytest.mark.slow
def test_a_task_is_reported_too_and_each_place_once(
    reports: list[str], group: CarrierGroup
) -> None:
    for _ in range(3):
        group.submit(sleeps).result()
    assert len(reports) == 1
    assert "the task sleeps waits in time.sleep" in reports[0]


@pytest.mark.slow
@pytest.mark.parametrize("twin", ["", "time.sleep"])
def test_what_parks_is_not_reported_however_long_it_waits(
    reports: list[str], group: CarrierGroup, twin: str
) -> None:
    """The twin sleeps where the program parks: the same check sees it."""
    pause = time.sleep if twin else wakeproof.sleep
    permits = wakeproof.Semaphore(0)

    async def awaits() -> None:
        await coroutine.sleep(LONG_S)

    threads = [
        VirtualThread(awaits, group=group).start(),
        VirtualThread(permits.acquire, group=group).start(),
        VirtualThread(lambda: pause(LONG_S), group=group).start(),
    ]
    time.sleep(2 * LONG_S)
    permits.release()
    for thread in threads:
        thread.result()
    assert bool(reports) == bool(twin)


@pytest.mark.slow
def test_what_is_announced_is_not_reported(reports: list[str], group: CarrierGroup) -> None:
    def announces() -> None:
        with wakeproof.blocking(), wakeproof.blocking():
            time.sleep(LONG_S)

    run_in(group, announces)
    group.submit(announces).result()
    assert reports == []
    run_in(group, sleeps)
    assert len(reports) == 1


@pytest.mark.slow
def test_under_install_the_call_parks_and_nothing_is_reported(
    reports: list[str], group: CarrierGroup
) -> None:
    wakeproof.install()
    try:
        run_in(group, sleeps)
    finally:
        wakeproof.uninstall()
    if ARE_OWN:
        assert reports == []


class Frame:
    """Stands in for a frame at one instruction."""

    f_code, f_lasti = computes.__code__, 0


@pytest.mark.parametrize("delay_s", [0.0, 0.3])
def test_time_in_which_the_system_runs_other_programs_does_not_count(delay_s: float) -> None:
    looks = standstill.Looks(LIMIT_S, lambda _: None)
    seen = _Seen(_Usage(at=10.0, cpu_s=1.0, delay_s=1.0))
    now = _Usage(at=10.35, cpu_s=1.0, delay_s=1.0 + delay_s)
    frame: Any = Frame
    assert looks._why(seen, frame, now, 0.35) == ("" if delay_s else "waits")
    looks.close()


@pytest.mark.parametrize(
    ("cpu_s", "delay_s", "why"), [(0.3, 0.0, "gil"), (0.05, 0.0, ""), (0.05, 0.25, "")]
)
def test_a_step_keeps_the_gil_only_if_it_has_computed_since_it_began(
    cpu_s: float, delay_s: float, why: str
) -> None:
    looks = standstill.Looks(LIMIT_S, lambda _: None)
    last, now = _Usage(10.0, 1.0, 1.0), _Usage(10.35, 1.0 + cpu_s, 1.0 + delay_s)
    assert looks._keeps_gil(last, now, 0.3) == why
    looks.close()


def test_long_steps_are_counted_also_without_the_watchdog(group: CarrierGroup) -> None:
    assert group[0].counts.long_steps == 0
    run_in(group, lambda: wakeproof.sleep(0.2))
    run_in(group, lambda: None)
    assert group[0].counts.long_steps == 0
    run_in(group, lambda: time.sleep(0.2))
    # it is counted after the step has woken whoever waits for the result
    until(lambda: group[0].counts.long_steps == (1 if ARE_OWN else 0))
    group.submit(time.sleep, 0.2).result()
    until(lambda: group[0].counts.long_steps == (2 if ARE_OWN else 1))


@pytest.mark.skipif(not ARE_OWN, reason="only own.c has the time of one step for the next")
def test_what_lies_between_two_steps_counts_as_none_of_them(group: CarrierGroup) -> None:
    for _ in range(3):
        VirtualThread(int, group=group).start().join()
        time.sleep(2 * LIMIT_S)
    assert group[0].counts.long_steps == 0


@pytest.mark.parametrize("limit_s", [0, -1, True, "1", float("nan")])
def test_a_bad_limit_is_refused(limit_s: Any) -> None:
    with pytest.raises(UsageError, match=r"limit_s is .*; allowed: seconds, more than 0"):
        wakeproof.watch(limit_s)


def test_a_bad_receiver_is_refused() -> None:
    with pytest.raises(UsageError, match="report is 1; allowed: a callable"):
        wakeproof.watch(1, 1)  # type: ignore[arg-type]


PROGRAM = """
import threading, time, wakeproof
def place():
    time.sleep(0.6)
with wakeproof.CarrierGroup(1) as group:
    wakeproof.VirtualThread(place, group=group).start().result()
    print([one.name for one in threading.enumerate() if "watchdog" in one.name])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "is_seen"),
    [
        ({"WAKEPROOF_DEBUG": "1"}, True),
        ({"WAKEPROOF_DEBUG": "0"}, False),
        ({"WAKEPROOF_DEBUG": ""}, False),
        ({"WAKEPROOF_DEBUG": "1", "WAKEPROOF_DEBUG_LIMIT_MS": "60000"}, False),
    ],
)
def test_the_environment_switches_it_on(variables: dict[str, str], is_seen: bool) -> None:
    ended = python(PROGRAM, **variables)
    assert ended.returncode == 0, ended.stderr
    assert ("waits in time.sleep" in ended.stderr) == is_seen
    is_on = variables["WAKEPROOF_DEBUG"] == "1"
    assert ended.stdout == (f"{['wakeproof-watchdog'] if is_on else []}\n")


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"WAKEPROOF_DEBUG": "yes"}, "WAKEPROOF_DEBUG is 'yes'; allowed: 0, 1, false, true"),
        (
            {"WAKEPROOF_DEBUG": "1", "WAKEPROOF_DEBUG_LIMIT_MS": "0"},
            "WAKEPROOF_DEBUG_LIMIT_MS is '0'; allowed: 1 to 3,600,000",
        ),
    ],
)
def test_a_bad_variable_is_named(variables: dict[str, str], said: str) -> None:
    ended = python(PROGRAM, **variables)
    assert said in ended.stderr
    assert ended.returncode == 1


FORKS = """
import os, time, wakeproof
def place():
    time.sleep(0.6)
def use():
    with wakeproof.CarrierGroup(1) as group:
        wakeproof.VirtualThread(place, group=group).start().result()
with wakeproof.CarrierGroup(1) as group:
    wakeproof.VirtualThread(wakeproof.sleep, 0, group=group).start().result()
    child = os.fork()
    if child == 0:
        use()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_a_watchdog_of_its_own() -> None:
    ended = python(FORKS, WAKEPROOF_DEBUG="1")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("waits in time.sleep") == 1


TESTS = dedent("""
    import time, wakeproof
    def test_blocks():
        with wakeproof.CarrierGroup(1) as group:
            wakeproof.VirtualThread(time.sleep, 0.6, group=group).start().result()
    def test_does_not():
        pass
""")


@pytest.mark.slow
@pytest.mark.parametrize("debug", ["", "0"])
def test_under_pytest_the_reports_are_listed_after_the_tests(tmp_path: Path, debug: str) -> None:
    (tmp_path / "test_it.py").write_text(TESTS, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    ended = run(command, cwd=tmp_path, WAKEPROOF_DEBUG=debug)
    assert "2 passed" in ended.stdout, ended.stdout
    assert ("wakeproof: what stood still" in ended.stdout) == (debug == "")
    assert ("waits in time.sleep" in ended.stdout) == (debug == "")
