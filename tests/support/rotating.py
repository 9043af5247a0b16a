# SPDX-License-Identifier: Apache-2.0
"""The tests that run in CI: a quarter of the rotating ones, by the commit hash, and all others."""

from __future__ import annotations

import functools
import os

import pytest

from wakeproof import locations
from wakeproof.judge import lock


@functools.cache
def due() -> tuple[int, str] | None:
    """Return the quarter of rotating tests that runs, and its commit; None: all run."""
    return lock.quarter_of(locations.sources()) if os.environ.get("WAKEPROOF_CI") == "1" else None


def is_due(item: pytest.Item, found: tuple[int, str] | None) -> bool:
    """Return true if a test runs in that quarter."""
    return found is None or not is_rotating(item) or found[0] == lock.quarter(item.nodeid)


def is_rotating(item: pytest.Item) -> bool:
    """Return true if a test is one case of several of a slow test, or is marked `rotates`."""
    is_case = hasattr(item, "callspec") and item.get_closest_marker("slow") is not None
    is_case = is_case and item.get_closest_marker("always") is None
    return is_case or item.get_closest_marker("rotates") is not None
