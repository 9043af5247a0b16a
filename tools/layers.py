# SPDX-License-Identifier: Apache-2.0
"""Checks the `#include` lines of kernel/: none goes up the layers, and no header is in a cycle.

    tools/layers.py [ROOT]      ROOT has kernel/; prints a line for each broken rule, exit code 1

The rules:
- A file includes only files of its own layer or a lower one, in the order of `LAYERS`.
- An include of a kernel file has its path below kernel/ (`#include "wakeup/guard.h"`).
- Headers form no cycle.
- No two files of the kernel have the same stem, because labels, objects and messages have the stem
  in their names.  Only the header and the source of one concept in one folder share a stem.
- Every folder is a layer.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

LAYERS = ("base", "queue", "wakeup", "thread", "sched", "sync", "io", "scope", "pool", "inspect")
"""From the bottom up."""
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def broken(kernel: Path) -> Iterator[str]:
    """Yield a line for each broken rule of the folder, with the file and the include."""
    headers: dict[str, set[str]] = {}
    folders: dict[str, Path] = {}
    for path in sorted(kernel.rglob("*.[chS]")):
        name = path.relative_to(kernel)
        if name.parent == Path():
            continue
        first = folders.setdefault(path.stem, name.parent)
        if first != name.parent:
            yield f"{name}: {first}/ has a file {path.stem} as well: one stem, one concept"
        if name.parts[0] not in LAYERS:
            yield f"{name}: {name.parts[0]}/ is no layer; there are {', '.join(LAYERS)}"
            continue
        included = set(_INCLUDE.findall(path.read_text(encoding="utf-8")))
        for other in sorted(included):
            yield from _of_include(kernel, name, other)
        if path.suffix == ".h":
            headers[str(name)] = {other for other in included if (kernel / other).is_file()}
    try:
        TopologicalSorter(headers).prepare()
    except CycleError as error:
        yield f"headers form a cycle: {' -> '.join(reversed(error.args[1]))}"


def _of_include(kernel: Path, name: Path, other: str) -> Iterator[str]:
    if not (kernel / other).is_file():
        yield f'{name}: includes "{other}", which is not named from kernel/ on'
    elif (above := Path(other).parts[0]) in LAYERS[LAYERS.index(name.parts[0]) + 1 :]:
        yield f'{name}: includes "{other}": {above}/ is above {name.parts[0]}/'


def main(arguments: list[str]) -> int:
    """Print the broken rules."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    if len(arguments) > 1 or not (root / "kernel").is_dir():
        print(
            f"layers.py: {arguments}: want at most one folder that holds kernel/", file=sys.stderr
        )
        return 2
    found = list(broken(root / "kernel"))
    for line in found:
        print(f"layers.py: {line}", file=sys.stderr)
    if not found:
        files = len(list((root / "kernel").rglob("*.[chS]")))
        print(f"{files} files in {len(LAYERS)} layers, no include goes up, no header is in a cycle")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
