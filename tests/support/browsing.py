# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by ChromeDriver's own protocol: JSON over HTTP (W3C WebDriver)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

LACKING = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
BROWSES = pytest.mark.skipif(
    bool(LACKING) and os.environ.get("WAKEPROOF_CI") != "1",
    reason=f"not run: install {', '.join(LACKING)} (Debian: apt install chromium chromium-driver)",
)
QUIET = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--force-color-profile=srgb",
]  # fmt: skip
PATIENCE_S = 120
KEYS = {"left": "\ue012", "right": "\ue014", "home": "\ue011", "end": "\ue010",
        "escape": "\ue00c"}  # fmt: skip


class Browser:
    """One window.  `errors` and `requests` return what has come since the last call."""

    def __init__(self, session: str, width: int) -> None:
        self.session, self.width = session, width

    def open(self, page: Path, place: str = "") -> None:
        """Open a file, perhaps at a place in it, and wait until it has loaded."""
        _post(f"{self.session}/url", url=f"{page.as_uri()}{'#' * bool(place)}{place}")

    def run(self, script: str) -> Any:
        """Return what a function body in JavaScript returns."""
        return _post(f"{self.session}/execute/sync", script=script, args=[])

    def press(self, *keys: str) -> None:
        """Press keys, one after another; ``KEYS`` has those without a letter."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        board = {"type": "key", "id": "keyboard", "actions": strokes}
        _post(f"{self.session}/actions", actions=[board])

    def prefer(self, scheme: str) -> None:
        """Be the screen of a reader who prefers this colour scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        _post(f"{self.session}/goog/cdp/execute", cmd="Emulation.setEmulatedMedia",
              params={"features": features})  # fmt: skip

    def photograph(self, file: Path) -> None:
        """Write what the window shows."""
        with urllib.request.urlopen(f"{self.session}/screenshot", timeout=PATIENCE_S) as reply:
            shown = json.load(reply)["value"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(shown))

    def errors(self) -> list[str]:
        """Return what the console said of errors and warnings."""
        return [entry["message"] for entry in _post(f"{self.session}/se/log", type="browser")]

    def requests(self) -> list[str]:
        """Return the addresses that the page asked for."""
        entries = _post(f"{self.session}/se/log", type="performance")
        events = [json.loads(entry["message"])["message"] for entry in entries]
        return [event["params"]["request"]["url"] for event in events
                if event["method"] == "Network.requestWillBeSent"]  # fmt: skip


@contextmanager
def window(width: int, height: int, profile: Path) -> Iterator[Browser]:
    """Start a browser whose pages are so many pixels wide, as a phone's or a desktop's are."""
    options = {
        "binary": shutil.which("chromium"),
        "args": [*QUIET, f"--user-data-dir={profile}"],
        "mobileEmulation": {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 1}},
    }
    logs = {"browser": "WARNING", "performance": "ALL"}
    wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": logs}
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        said = next(line for line in driver.stdout if "started successfully on port" in line)
        server = f"http://127.0.0.1:{int(said.split()[-1].strip('.'))}"
        opened = _post(f"{server}/session", capabilities={"alwaysMatch": wanted})
        session = f"{server}/session/{opened['sessionId']}"
        try:
            yield Browser(session, width)
        finally:
            closes = urllib.request.Request(session, method="DELETE")
            urllib.request.urlopen(closes, timeout=PATIENCE_S).close()
    finally:
        driver.terminate()
        driver.communicate()


def _post(address: str, /, **body: object) -> Any:
    asks = urllib.request.Request(address, json.dumps(body).encode())
    with urllib.request.urlopen(asks, timeout=PATIENCE_S) as reply:
        return json.load(reply)["value"]
