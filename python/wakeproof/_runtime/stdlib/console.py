# SPDX-License-Identifier: Apache-2.0
"""``input`` parks until there is a line."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from wakeproof._runtime import console, watch
from wakeproof._runtime.stdlib.replacement import Function, Replacement


def replacements() -> Iterator[Replacement]:
    """Yield what this area replaces."""
    yield Function(builtins, "input", _input)


def _input(original: Callable[..., str]) -> Callable[..., str]:
    def input_(*prompt: Any) -> str:
        fd = console.descriptor(sys.stdin)
        if fd is None or len(prompt) > 1 or not os.isatty(fd) or not watch.caller():
            return original(*prompt)  # which reads of sys.stdin, and that parks
        return console.read_line(*prompt)

    return input_
