# SPDX-License-Identifier: Apache-2.0
"""Builds programs/across/every_call.c, in which each call to the system fails in turn."""

from __future__ import annotations

import re

from tests.support import compiling

from wakeproof._native import build as _build

NAME = "every_call"
BUILDS = ("plain", "address")
CASES = {
    "threads": "virtual threads with a mutex, a channel and sleeps, on two carriers",
    "whole": "the same, with stealing, spares, a monitor, placement and events",
    "sockets": "four pairs of sockets",
    "files": "four files that are written, synced and read",
    "pool": "a pool of OS threads",
}


def flags() -> list[str]:
    """Return what the program is compiled and linked with: each call that it wraps."""
    uring = _build.has_uring(*_build.compiler())
    text = compiling.program_file(NAME).read_text()
    if not uring:
        text = re.sub(r"#ifdef WP_URING\n.*?#endif\n", "", text, flags=re.DOTALL)
    found = re.findall(r"^WRAPPED\([\w ]+, (\w+),|__real_(\w+)\(", text, re.MULTILINE)
    names = sorted({one or other for one, other in found})
    return [*(_build.URING_COMPILED if uring else ()), *(f"-Wl,--wrap={name}" for name in names)]
