# SPDX-License-Identifier: Apache-2.0
"""The bodies of subtasks in tests of scopes."""

from __future__ import annotations

from tests.support.virtual import PATIENCE_S

import wakeproof
from wakeproof import ThreadInterruptedError


def fails(what: str) -> None:
    raise KeyError(what)


def ends_when_interrupted(log: list[str]) -> None:
    try:
        wakeproof.park(PATIENCE_S)
    except ThreadInterruptedError:
        log.append("interrupted")
        raise
