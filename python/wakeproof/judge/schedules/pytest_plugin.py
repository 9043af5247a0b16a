# SPDX-License-Identifier: Apache-2.0
"""``pytest --wakeproof-schedules`` runs each test function under every schedule of its threads.

A test that starts no thread runs once.  ``--wakeproof-replay TOKEN`` runs the one schedule that a
failure has printed, of the tests that are chosen or have the decorator `schedules`.
``--wakeproof-html FILE`` writes the schedules that fail as a page with a viewer.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from wakeproof.errors import ScheduleError, UsageError

_FAILURES: pytest.StashKey[list[tuple[str, Any]]] = pytest.StashKey()
_REPLAY = "WAKEPROOF_REPLAY"  # as `wakeproof.judge.schedules` has it; not imported by every pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("wakeproof")
    group.addoption(
        "--wakeproof-schedules", action="store_true",
        help="Run each test function under every schedule of the threads that it starts.",
    )  # fmt: skip
    group.addoption(
        "--wakeproof-replay", metavar="TOKEN", default="",
        help="Run the one schedule that a failure of wakeproof.schedules has printed.",
    )  # fmt: skip
    group.addoption(
        "--wakeproof-html", metavar="FILE", default="",
        help="Write the schedules that wakeproof.schedules finds as a page with a viewer.",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Hand the token on, also to tests with the decorator."""
    if token := config.getoption("--wakeproof-replay"):
        os.environ[_REPLAY] = token
    if file := config.getoption("--wakeproof-html"):
        try:
            from wakeproof.judge.page.render import check_folder

            check_folder("--wakeproof-html", Path(file))
        except ModuleNotFoundError as error:
            raise pytest.UsageError(
                f"--wakeproof-html needs {error.name}: pip install 'wakeproof[judge]'"
            ) from error
        except UsageError as error:
            raise pytest.UsageError(str(error)) from error


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Keep the schedule by which a test has failed."""
    if call.excinfo is not None and isinstance(call.excinfo.value, ScheduleError):
        failures = item.config.stash.setdefault(_FAILURES, [])
        failures.append((item.nodeid, call.excinfo.value.failure))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the page, if it is wanted and a schedule has failed."""
    file = session.config.getoption("--wakeproof-html")
    failures = session.config.stash.get(_FAILURES, [])
    if file and failures:
        from wakeproof.judge.page import of_schedules

        of_schedules.write(Path(file), failures)


def _show_stalls(config: pytest.Config) -> None:
    """Let a line on a test that never ends be seen: output of tests is shown when they end."""
    stall = sys.modules.get("wakeproof.judge.schedules.stall")  # not imported by every pytest
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if stall is not None and capture is not None:
        vars(stall)["aside"] = capture.global_and_fixture_disabled


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run the test under every schedule, if the option is given and it does not do so itself."""
    test = pyfuncitem.obj
    _show_stalls(pyfuncitem.config)
    if (
        not pyfuncitem.config.getoption("--wakeproof-schedules")
        or hasattr(test, "under_every_schedule")
        or inspect.iscoroutinefunction(test)
    ):
        return None
    from wakeproof.judge.schedules.explore import Options
    from wakeproof.judge.schedules.run import judge

    _show_stalls(pyfuncitem.config)
    names = pyfuncitem._fixtureinfo.argnames
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in names}
    judge(functools.partial(test, **arguments), Options())
    return True
