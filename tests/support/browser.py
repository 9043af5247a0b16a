# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, for tests of pages."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

PHONE, DESKTOP = 390, 1280  # widths in pixels
HEIGHT = 844
_PROGRAMS = ("chromium", "chromedriver")


def needs_browser() -> None:
    """Skip the test, or fail it in CI, where there is no browser."""
    lacking = [name for name in _PROGRAMS if shutil.which(name) is None]
    if lacking:
        why = f"no {lacking[0]}: apt install chromium chromium-driver"
        (pytest.fail if os.environ.get("WAKEPROOF_CI") == "1" else pytest.skip)(why)


class Browser(webdriver.Chrome):
    """A browser that says what a page asked for and complained of."""

    def visit(self, page: Path, hash_: str = "") -> None:
        """Open a file, at an address within it."""
        self.get("about:blank")
        self.get(f"{page.as_uri()}{'#' * bool(hash_)}{hash_}")

    def resize(self, width: int, *, dark: bool = False) -> None:
        """Be as wide as this screen, which is light or dark."""
        screen = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": width < 600}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def complaints(self) -> list[str]:
        """Return the lines of the console since this was last called."""
        return [entry["message"] for entry in self.get_log("browser")]

    def requests(self) -> list[str]:
        """Return what was asked for since this was last called, but for the pages themselves."""
        entries = (json.loads(entry["message"]) for entry in self.get_log("performance"))
        sent = [
            entry["message"]["params"] for entry in entries
            if entry["message"]["method"] == "Network.requestWillBeSent"
        ]  # fmt: skip
        return [
            one["request"]["url"] for one in sent
            if one.get("type") != "Document" and not one["documentURL"].startswith("chrome:")
        ]  # fmt: skip


@contextmanager
def opened(folder: Path) -> Iterator[Browser]:
    """Start a browser that keeps its files in `folder`."""
    needs_browser()
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--user-data-dir={folder}"):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = Browser(options, Service(shutil.which("chromedriver")))
    try:
        browser.resize(DESKTOP)
        yield browser
    finally:
        browser.quit()
