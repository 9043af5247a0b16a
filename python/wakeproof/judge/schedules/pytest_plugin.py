# SPDX-License-Identifier: Apache-2.0
"""``pytest --wakeproof-schedules`` runs each test function under every schedule of its threads.

A test that starts no thread runs once.  ``--wakeproof-replay TOKEN`` runs the one schedule that a
failure has printed, of the tests that are chosen or have the decorator `schedules`.
"""

from __future__ import annotations

import functools
import inspect
import os
from typing import Any

import pytest

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


def pytest_configure(config: pytest.Config) -> None:
    """Hand the token on, also to tests with the decorator."""
    if token := config.getoption("--wakeproof-replay"):
        os.environ[_REPLAY] = token


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run the test under every schedule, if the option is given and it does not do so itself."""
    test = pyfuncitem.obj
    if (
        not pyfuncitem.config.getoption("--wakeproof-schedules")
        or hasattr(test, "under_every_schedule")
        or inspect.iscoroutinefunction(test)
    ):
        return None
    from wakeproof.judge.schedules import Options, judge

    names = pyfuncitem._fixtureinfo.argnames
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in names}
    judge(functools.partial(test, **arguments), Options())
    return True
