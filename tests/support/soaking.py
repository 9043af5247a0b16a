# SPDX-License-Identifier: Apache-2.0
"""The duration of soaks, and their seed."""

from __future__ import annotations

import os
import secrets

import pytest


def number(name: str, most: int, default: int) -> int:
    """Return the value of that variable, `default` if it is empty or not set.

    Raises:
        UsageError: it is no number of that range; conftest.py checks it before anything runs.
    """
    text = os.environ.get(name) or str(default)
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most))
            and 1 <= int(text) <= most):  # fmt: skip
        raise pytest.UsageError(f"{name} is {text!r}; allowed: 1 to {most:,}")
    return int(text)


SHORT_S = 5 if "WAKEPROOF_CI" in os.environ else 3
SECONDS = number("WAKEPROOF_SOAK_S", 86_400, SHORT_S)
SEED = str(number("WAKEPROOF_SOAK_SEED", (1 << 64) - 1, 1 + secrets.randbelow(1 << 32)))
PATIENCE_S = 60  # for one round, which takes a fraction of a second
