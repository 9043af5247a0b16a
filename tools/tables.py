# SPDX-License-Identifier: Apache-2.0
"""Runs the bench tables of a page again: `build/venv/bin/python tools/tables.py docs/PAGE.md`.

A table is a Markdown table that starts with the bench's head; it has the rows of the last
`wakeproof bench -t 'REGEX'` that the page names above it, and the line below it counts the goals.
Run it on a quiet machine: the page is rewritten.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from wakeproof.bench import SHOWN, BenchReport, bench
from wakeproof.cli.bench import COLUMNS, cells, summary
from wakeproof.locations import write_atomically

HEAD = "".join(f"| {name.strip('>')} " for name in COLUMNS[:-1]) + "|"
RULE = "".join("|---:" if name.startswith(">") else "|---" for name in COLUMNS[:-1]) + "|"
TABLE = re.compile(
    r"`wakeproof bench -t '?(?P<regex>[^`']+)'?`|"
    rf"^{re.escape(HEAD)}\n(?:\|.*\n)*(?:\n\d+ goals: .*\n)?",
    re.MULTILINE,
)


def tables(page: str) -> Iterator[tuple[str, str]]:
    """Yield each table of a page, after the regular expression that selects its rows."""
    regex = ""
    for found in TABLE.finditer(page):
        if found["regex"]:
            regex = found["regex"]
        else:
            yield regex, found[0]


def table(report: BenchReport) -> str:
    """Return the rows as Markdown, and the line that counts the goals."""
    rows = [HEAD, RULE]
    for result in report.results:
        *values, goal, verdict = map(str, cells(result))
        row = "".join(f"| {cell} " for cell in (*values, f"{goal} {verdict}".strip()))
        rows.append(f"{row}|".replace("|  |", "| |"))
    judged = any(result.verdict != SHOWN for result in report.results)
    return "\n".join([*rows, *["", f"{summary(report)}."] * judged, ""])


def renewed(page: str, run: Callable[[str], BenchReport]) -> str:
    """Return the page with the rows of each table as they are measured now."""
    for regex, last in tables(page):
        page = page.replace(last, table(run(regex)), 1)
    return page


def _run(regex: str) -> BenchReport:
    print(f"wakeproof bench -t {regex}", file=sys.stderr)
    return bench(regex)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in map(Path, sys.argv[1:]):
        write_atomically(name, renewed(name.read_text(encoding="utf-8"), _run))
