# SPDX-License-Identifier: Apache-2.0
"""The methods of public classes that are Python where C was not built, and C elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wakeproof import locations

PACKAGE = locations.sources() / "python" / "wakeproof"


def methods_of_c() -> Iterator[tuple[Path, str, str]]:
    """Yield file, class and name of each: a module deletes them, as ``del Channel.send`` does."""
    for file in sorted(PACKAGE.glob("*.py")):
        for line in re.findall(r"^    del ([A-Z][^#\n]+)", file.read_text("utf-8"), re.MULTILINE):
            for owner, name in re.findall(r"(\w+)\.(\w+)", line):
                yield file, owner, name
