# SPDX-License-Identifier: Apache-2.0
"""The tests that run in CI: a twelfth of the rotating ones, by the commit hash, and all others."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

import pytest

from wakeproof import locations
from wakeproof.judge import lock

PARTS = 12


def part(name: str) -> int:
    """Return the part of a test, or of a commit."""
    return int(sha256(name.encode()).hexdigest(), 16) % PARTS


@functools.cache
def due() -> tuple[int, str] | None:
    """Return the part of the rotating tests that runs, and its commit; None: all run."""
    found = lock.share_of(locations.sources()) if os.environ.get("WAKEPROOF_CI") == "1" else None
    return found and (part(found[1]), found[1])


def parts(items: Sequence[pytest.Item]) -> list[int | None]:
    """Return the part of which each test is; None: it runs with every part.

    The cases of a test take turns, so each part has as many of them as another. The hash of the
    test's name says with which part they begin.
    """
    before: Counter[str] = Counter()
    found: list[int | None] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        found.append((part(test) + before[test]) % PARTS if is_rotating(item) else None)
        before[test] += 1
    return found


def is_rotating(item: pytest.Item) -> bool:
    """Return true if a test is one case of several of a slow test, or is marked `rotates`."""
    is_case = hasattr(item, "callspec") and item.get_closest_marker("slow") is not None
    is_case = is_case and item.get_closest_marker("always") is None
    return is_case or item.get_closest_marker("rotates") is not None
