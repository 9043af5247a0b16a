# SPDX-License-Identifier: Apache-2.0
"""Writes the outcome of each test to a file, a line of JSON each; a plugin of pytest.

``--record FILE`` is that file, and ``--only FILE`` has the names of the tests to run.  The outcome
of a test is the worst of its three parts: what is set up, called and torn down.
"""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path
from typing import Any

import pytest

WORST = ("failed", "skipped", "passed")


class Recorder:
    """Sees each test of a session."""

    def __init__(self, record: str, only: str | None) -> None:
        self._lines = Path(record).open("a", encoding="utf-8")  # noqa: SIM115 - until the exit
        self._owner = os.getpid()
        self._only = only and set(Path(only).read_text(encoding="utf-8").splitlines())
        self._said: dict[str, str] = {}

    def write(self, **fields: object) -> None:
        """Write one line; a test's forked child writes none."""
        if os.getpid() == self._owner:
            self._lines.write(json.dumps(fields) + "\n")
            self._lines.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that are wanted."""
        if self._only is not None:
            items[:] = [item for item in items if item.nodeid in self._only]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write the names, if nothing else is wanted; else let no collection see what is there.

        Each loop of a test of aiohttp collects garbage, among the objects of 5,600 tests.
        """
        if session.config.option.collectonly:
            for item in session.items:
                self.write(name=item.nodeid)
        else:
            gc.collect()
            gc.freeze()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be read, or that is skipped as a whole."""
        if report.outcome != "passed":
            self.write(test=report.nodeid, outcome=report.outcome, why=_why(report))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note which test runs, for a process that ends in it."""
        self._said = {}
        self.write(begins=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a part of a test; one that was expected to fail has passed."""
        outcome = "passed" if hasattr(report, "wasxfail") else report.outcome
        self._said.setdefault(outcome, _why(report))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write the outcome."""
        worst = next((one for one in WORST if one in self._said), "failed")
        self.write(test=nodeid, outcome=worst, why=self._said.get(worst, ""))

    def pytest_sessionfinish(self) -> None:
        """Note that all tests have ended."""
        self.write(ended=True)


def _why(report: Any) -> str:
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(report.longrepr or "")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Know both options."""
    parser.addoption("--record")
    parser.addoption("--only")


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    if record := config.getoption("--record"):
        config.pluginmanager.register(Recorder(record, config.getoption("--only")), "recording")
