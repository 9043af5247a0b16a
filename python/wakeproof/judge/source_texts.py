# SPDX-License-Identifier: Apache-2.0
"""The texts that go into one compilation, and a hash of them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def closure(source: Path, dirs: tuple[Path, ...]) -> dict[str, str]:
    """Return the text of `source` and of every file it includes in quotes, by path."""
    texts: dict[str, str] = {}
    pending = [source]
    while pending:
        path = pending.pop()
        if str(path) in texts:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        texts[str(path)] = text
        for name in _INCLUDE.findall(text):
            candidates = (folder / name for folder in (path.parent, *dirs))
            included = next((file for file in candidates if file.is_file()), None)
            if included:
                pending.append(included.resolve())
    return texts


def uses_twin(text: str, twin: str) -> bool:
    """Say whether the code of `text` depends on the twin."""
    return bool(re.search(rf"\bwp_twin\(\s*{twin}\s*\)|\bWP_TWIN_{twin}\b", text))


def digest(*parts: str) -> str:
    """Return a hash of the parts and of where each ends."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode() + b"\0")
    return whole.hexdigest()[:20]
