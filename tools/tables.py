# SPDX-License-Identifier: Apache-2.0
"""Prints the bench tables of a page again: `build/venv/bin/python tools/tables.py docs/PAGE.md`.

A table is a block of code that starts with the bench's head line.  It has the output of the last
command `build/venv/bin/wakeproof bench ..` above it, from that line on, without the legend.  Run
this on a quiet machine, because the page is rewritten.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from wakeproof.locations import write_atomically

COMMAND = "build/venv/bin/wakeproof bench"
HEAD, LEGEND = "row  ", "ratio: ours/peer"  # where a table starts; what follows its rows
COLUMNS = "132"
BLOCK = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def tables(page: str) -> list[tuple[str, str]]:
    """Return each table of a page, after the command that prints it."""
    found, command = [], ""
    for block in BLOCK.findall(page):
        if block.startswith(HEAD):
            found.append((command, block))
        elif block.startswith(COMMAND):
            command = block.splitlines()[0]
    return found


def cut(printed: str) -> str:
    """Return the table in what a bench has printed, and the line that counts its goals."""
    lines = [line.rstrip() for line in printed.splitlines()]
    first = next(at for at, line in enumerate(lines) if line.startswith(HEAD))
    legend = next(at for at, line in enumerate(lines) if line.startswith(LEGEND))
    count = next(line for line in lines[legend:] if re.match(r"\d+ goals: ", line))
    return "\n".join([*lines[first:legend], count, ""])


def renewed(page: str, run: Callable[[str], str]) -> str:
    """Return the page with each table as its command prints it now."""
    for command, table in tables(page):
        page = page.replace(table, cut(run(command)), 1)
    return page


def _run(command: str) -> str:
    print(command, file=sys.stderr)
    return subprocess.run(shlex.split(command), env={**os.environ, "COLUMNS": COLUMNS}, check=True,
                          stdout=subprocess.PIPE, text=True).stdout  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in map(Path, sys.argv[1:]):
        write_atomically(name, renewed(name.read_text(), _run))
