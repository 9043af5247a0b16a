# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of judges: compiled scenarios, and the explorer of programs as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wakeproof.judge.builds import Builder
from wakeproof.judge.explore import litmus
from wakeproof.judge.process import Children


@pytest.fixture(scope="module")
def builder() -> Iterator[Builder]:
    """Read the sources once."""
    with Children() as children:
        yield Builder(children)


@pytest.fixture(scope="module")
def program(builder: Builder) -> Path:
    """Return the explorer of programs as text."""
    return builder.explorer()


@pytest.fixture(scope="module")
def explorer() -> litmus.Explorer:
    """Compile the explorer of programs as text once."""
    return litmus.Explorer()
