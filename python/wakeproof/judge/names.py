# SPDX-License-Identifier: Apache-2.0
"""The option `-t` of every command: it selects the names that a regular expression matches."""

from __future__ import annotations

import re
from collections.abc import Callable

from wakeproof.errors import UsageError


def finder(regex: str | None) -> Callable[[str], bool]:
    """Return a function that tells whether `regex` matches somewhere in a name, in any case.

    None matches every name.

    Raises:
        UsageError: not a regular expression.
    """
    try:
        pattern = re.compile(regex or "", re.IGNORECASE)
    except re.error as error:
        raise UsageError(f"-t {regex!r} is not a regular expression: {error}") from None
    return lambda name: pattern.search(name) is not None
