# SPDX-License-Identifier: Apache-2.0
"""A report as one HTML page that needs no other file: what the command prints, in its colours."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.report import WIDE

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>TITLE</title>
<style>
{stylesheet}
body {{ color: {foreground}; background-color: {background}; margin: 2em; }}
pre {{ font-family: Menlo, Consolas, monospace; line-height: 1.3; }}
</style>
</head>
<body>
<pre><code>{code}</code></pre>
</body>
</html>
"""


def check_folder(option: str, file: Path | None) -> None:
    """Check, before a long job starts, that its report can be written.

    Raises:
        UsageError: `file`, given with `option`, is a folder, or lies in none that exists.
    """
    if file is None:
        return
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{option} {file}: there is no folder {file.absolute().parent}; make it")
    if file.is_dir():
        raise UsageError(f"{option} {file}: this is a folder; name a file")


def write(file: Path, title: str, show: Callable[[Console], None]) -> None:
    """Write what `show` prints to `file`, completely or not at all."""
    screen = Console(record=True, file=io.StringIO(), width=WIDE, highlight=False)
    show(screen)
    locations.write_atomically(file, screen.export_html(code_format=_PAGE.replace("TITLE", title)))
