# SPDX-License-Identifier: Apache-2.0
"""``time.sleep`` parks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from wakeproof._runtime.stdlib.replacement import Function, Replacement
from wakeproof.parking import sleep

_LONGEST_S = 2**63 / 1e9  # the standard library refuses more


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    yield Function(time, "sleep", _made)


def _made(original: Callable[[Any], None]) -> Callable[[Any], None]:
    def parks(seconds: Any, /) -> None:
        if isinstance(seconds, (int, float)) and 0 <= seconds < _LONGEST_S:
            sleep(float(seconds))
        else:
            original(seconds)  # which takes other kinds of numbers, or refuses it

    return parks
