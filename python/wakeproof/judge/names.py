# SPDX-License-Identifier: Apache-2.0
"""The meaning of `-t` in every command: names in which a regular expression finds something."""

from __future__ import annotations

import re
from collections.abc import Callable

from wakeproof.errors import UsageError


def finder(regex: str | None) -> Callable[[str], bool]:
    """Return a test whether `regex`, in any case, finds something in a name; None finds all.

    Raises:
        UsageError: not a regular expression.
    """
    try:
        pattern = re.compile(regex or "", re.IGNORECASE)
    except re.error as error:
        raise UsageError(f"-t {regex!r} is not a regular expression: {error}") from None
    return lambda name: pattern.search(name) is not None
