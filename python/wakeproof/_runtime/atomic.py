# SPDX-License-Identifier: Apache-2.0
"""Write a file completely or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_atomically(path: Path, text: str | bytes) -> None:
    """Write `text` to `path` by a temporary file beside it: readers see the old or new text."""
    part = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        part.write_bytes(text.encode() if isinstance(text, str) else text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
