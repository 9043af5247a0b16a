# SPDX-License-Identifier: Apache-2.0
"""Under pytest the watchdog is on: carriers that stand still are listed after the tests.

Without tests that use wakeproof it does nothing, because only a `wakeproof.CarrierGroup` starts the
watchdog.  WAKEPROOF_DEBUG=0 switches it off, and WAKEPROOF_DEBUG=1 makes it print at once.  The
reports never make a test fail.

Source: ``watchdog.py``.
"""

from __future__ import annotations

from typing import Any

from wakeproof import watchdog

_reports: list[str] = []


def _keep(text: str) -> None:
    """Keep a report for the summary; the output of the test has it as well."""
    _reports.append(text)
    watchdog.to_stderr(text)


def pytest_configure() -> None:
    """Switch the watchdog on, for the first group."""
    watchdog.by_default(_keep)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the reports."""
    if _reports:
        terminalreporter.section("wakeproof: what stood still, or could not end")
        for text in _reports:
            terminalreporter.write(text)
