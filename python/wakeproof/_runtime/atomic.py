# SPDX-License-Identifier: Apache-2.0
"""Write a file completely or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_atomically(path: Path, text: str | bytes) -> None:
    """Write `text` to `path` by a temporary file beside it: readers see the old or new text.

    The temporary file is a new one: a link that another user has put there is not followed. Its
    content is on the disk before it gets its name, so a loss of power leaves the old or new text.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    part.unlink(missing_ok=True)  # of an earlier process that had this number, and was killed
    try:
        with part.open("xb") as stream:
            stream.write(text.encode() if isinstance(text, str) else text)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        error.filename = str(path)  # a write does not name it
        raise
    finally:
        part.unlink(missing_ok=True)
