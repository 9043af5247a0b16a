# SPDX-License-Identifier: Apache-2.0
"""Programs of programs/ that run one case and print nothing if it holds, or else what is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
from tests.support.running import run

from wakeproof import locations

Compiled = Callable[..., list[str]]
IN_CHECKOUT = pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout")
COMPILES = [pytest.mark.slow, IN_CHECKOUT]
EACH_BUILD = pytest.mark.parametrize("build", ["plain", "address", "thread"])


def hold(
    command: list[str], cases: Iterable[str | Iterable[str]], *, cwd: Path | None = None
) -> None:
    """Run each case, one or several words, or a word and its claim: none may print anything."""
    for case in cases:
        ended = run(command, *([case] if isinstance(case, str) else case), cwd=cwd)
        claim = cases[case] if isinstance(cases, Mapping) else ""
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), f"{claim}: {ended}"


def fails(command: list[str], *case: str) -> None:
    """Run a case of a defect: it must fail, and print what is lost."""
    ended = run(command, *case)
    assert ended.returncode != 0, ended
    assert "lost" in ended.stdout, ended


def loses(command: list[str], *case: str, what: str = "") -> None:
    """Run a case of a defect: it must end by itself, and print first what is lost."""
    ended = run(command, *case)
    assert ended.returncode == 1, ended
    assert ended.stdout.startswith(f"lost {what}"), ended
