# SPDX-License-Identifier: Apache-2.0
"""Runs a program, and returns its output and its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def run(
    command: Sequence[str | Path],
    *more: str | Path,
    timeout_s: float = 300,
    cwd: Path | None = None,
    text: str | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command, with `text` as its input and variables added to those of the environment."""
    return subprocess.run(
        [*command, *more], input=text, env={**os.environ, **variables}, cwd=cwd,
        capture_output=True, text=True, check=False, timeout=timeout_s,
    )  # fmt: skip


def python(code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program in Python."""
    return run([sys.executable, "-c", code], *arguments, **variables)
