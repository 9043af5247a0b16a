# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: the command line as a user starts it, and the oracle that needs z3."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# A shell starts what it puts into the background with Ctrl-C ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def wakeproof() -> Command:
    """Run the installed `wakeproof`; variables given by name join the environment."""
    program = Path(sys.executable).with_name("wakeproof")

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(program), *arguments],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


@pytest.fixture(scope="session")
def smt() -> Any:
    """Return the oracle that needs z3: without z3 only its own tests fail."""
    return importlib.import_module("wakeproof.judge.oracle_smt")
