# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: the command line as a user starts it, C programs, carriers, z3.

`make test` runs them in two processes; a test that is marked `alone` runs while the other waits.
With WAKEPROOF_CI=1 the commit's hash chooses a twelfth of the tests that rotate: the cases of slow
tests that have several, and tests that are marked `rotates`.
"""

from __future__ import annotations

import fcntl
import importlib
import io
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from tests.support import compiling, rotating
from tests.support.cases import Compiled
from tests.support.polling import Eventfd, Make, One, Pair
from tests.support.running import run
from tests.support.virtual import PATIENCE_S, Owner

from wakeproof import CarrierGroup, VirtualThread, dump, install, locations, uninstall
from wakeproof._native.ffi import lib
from wakeproof._runtime.jobs import threads

# A shell starts background jobs with Ctrl-C ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A test of a judge needs a new verdict, not a stored one.
os.environ["WAKEPROOF_FRESH"] = "1"

# Many tests let a carrier stand still, or make a deadlock, on purpose.
os.environ.setdefault("WAKEPROOF_DEBUG", "0")

# A slow machine is no defect.
SLOW = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile("slow", deadline=None, suppress_health_check=SLOW)
hypothesis.settings.load_profile("slow")

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_configure() -> None:
    importlib.import_module("tests.support.soaking")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Refuse a run on free-threaded Python in which an extension module brought the GIL back."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") and sys._is_gil_enabled():
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        raise RuntimeError(
            "the GIL is on again: an extension module has not said that it needs none"
        )


def is_alone(item: pytest.Item) -> bool:
    return item.get_closest_marker("alone") is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=is_alone)  # last, so that no other test waits for them
    if found := rotating.due():
        parts = dict(zip(items, rotating.parts(items), strict=True))
        left_out = [item for item in items if parts[item] not in (None, found[0])]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if parts[item] in (None, found[0])]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if found := rotating.due():
        terminalreporter.line(
            f"Of the tests that rotate, part {found[0] + 1} of {rotating.PARTS} ran, chosen by "
            f"commit {found[1][:8]}; make test runs all."
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with (locations.cache() / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if is_alone(item) else fcntl.LOCK_SH)
        try:
            return (yield)
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # releases it for a forked child that is left as well


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure where the virtual threads are that have not ended."""
    report = yield
    if report.failed and threads:
        where = io.StringIO()
        dump(where)
        report.sections.append(("virtual threads", where.getvalue()))
    return report


@pytest.fixture(scope="session")
def wakeproof() -> Command:
    """Run the installed `wakeproof`; the given variables are added to the environment."""
    program = Path(sys.executable).with_name("wakeproof")

    def ended(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return run([program, *arguments], **variables)

    return ended


@pytest.fixture
def compiled(tmp_path: Path) -> Compiled:
    """Compile programs/**/NAME.c with the kernel, in a build, with flags; return the command."""

    def compiled(name: str, build: str, *more: str) -> list[str]:
        return compiling.build(tmp_path, name, build, *more)

    return compiled


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[CarrierGroup]:
    """Two carriers, or the module's CARRIERS, on which nothing may be left in the end."""
    group = CarrierGroup(getattr(request.module, "CARRIERS", 2))
    yield group
    assert group.close(10) == []


@pytest.fixture
def installed() -> Iterator[None]:
    """Let the standard library park."""
    install()
    yield
    uninstall()


@pytest.fixture
def without_looks() -> Iterator[None]:
    """Let a wait for a descriptor end by what it is told alone (``_native/watch.h``)."""
    before = lib.wp__watch_first_look(1 << 60)
    yield
    lib.wp__watch_first_look(before)


@pytest.fixture(params=["main", "virtual"])
def owner(request: pytest.FixtureRequest, group: CarrierGroup) -> Owner:
    """Run the test's body in the main thread, or in a virtual one."""
    if request.param == "main":
        return lambda body: body()
    return lambda body: VirtualThread(body, group=group[0]).start().result(PATIENCE_S)


@pytest.fixture(scope="session")
def smt() -> Any:
    """Return the oracle that needs z3, so that only its own tests fail without z3."""
    return importlib.import_module("wakeproof.judge.oracle.smt")


@pytest.fixture(params=[(1, False), (2, True)], ids=["one carrier", "two that steal"])
def either_group(request: pytest.FixtureRequest) -> Iterator[CarrierGroup]:
    """One carrier, and two that steal from one another."""
    carriers, stealing = request.param
    with CarrierGroup(carriers, work_stealing=stealing) as made:
        yield made


@pytest.fixture
def make() -> Iterator[Make]:
    """Make pollers that are closed after the fixture behind this one in a test, its group."""
    made: list[One] = []

    def make(*at: Eventfd | Pair, **how: object) -> One:
        made.append(One(*at, **how))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(params=[Eventfd, Pair], ids=["eventfd", "socketpair"])
def one(request: pytest.FixtureRequest, make: Make) -> One:
    """Make a poller that is woken in one of two ways."""
    return make(request.param())
