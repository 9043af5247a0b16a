# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of judges, each under a hash of everything that the result depends on.

A deterministic judge has the same result for the same inputs, so it need not run twice.  Its caller
names the inputs, each with its content: the texts of the modules, the bytes of the program, the
options, the tool and the judge's own code.  An entry is a file with the hashes of its inputs, the
time, the result, and a hash of all this.  An entry is ignored, and the judge runs again, if the
entry does not match its own hash or has other inputs.

The result of a run that a time limit ended, or that used real cores, is a sample: a kept one tells
what was seen at that time.

``WAKEPROOF_FRESH=1`` (``make audit FRESH=1``) judges everything again, and keeps the results.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from wakeproof import locations

_JUDGES = "wakeproof.judge"
FRESH = "WAKEPROOF_FRESH"
KEPT_S = 30 * 86400.0
"""An entry that was not used for these seconds depends on sources that have changed."""

Inputs = Mapping[str, str]
"""The inputs of a result: each content by its name, ``{"spec Guard": "---- MODULE ..."}``.

No name and no content may hold a path that differs between two checkouts of the same sources.
"""


@dataclass(frozen=True)
class Kept:
    """A result that was judged before, as plain data, and when: ``2026-01-31 12:59``, UTC."""

    value: Any
    date: str


def key(inputs: Inputs) -> str:
    """Return the hash that names the result of `inputs`, 64 hexadecimal digits."""
    return _key(_hashes(inputs))


def is_fresh() -> bool:
    """Return whether everything is judged again, also if a result is kept."""
    return os.environ.get(FRESH, "0") not in ("", "0")


def look(inputs: Inputs) -> Kept | None:
    """Return the kept result of these `inputs`; None: judge now."""
    if is_fresh():
        return None
    hashes = _hashes(inputs)
    place = _place(_key(hashes))
    try:
        text, _, own = place.read_text(encoding="utf-8").rstrip("\n").rpartition("\n")
        entry = json.loads(text)
        if own != _sha256(text) or entry["inputs"] != hashes:
            return None
        with contextlib.suppress(OSError):
            os.utime(place)
        return Kept(entry["value"], str(entry["date"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep(inputs: Inputs, value: object) -> None:
    """Keep `value`, which is plain data, as the result of these `inputs` at this time."""
    hashes = _hashes(inputs)
    place = _place(_key(hashes))
    place.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"inputs": hashes, "date": now(), "value": value})
    locations.write_atomically(place, f"{text}\n{_sha256(text)}\n")


def now() -> str:
    """Return the time as a date of results."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")


def code(*names: str) -> dict[str, str]:
    """Return the texts of a judge's own modules as inputs.

    Args:
        names: patterns of files below ``wakeproof/judge``: ``"tlc/*.py"``.
    """
    folder = Path(__file__).parent
    files = sorted({file for name in names for file in folder.glob(name)})
    return {f"python {file.relative_to(folder)}": file.read_text("utf-8") for file in files}


@cache
def code_hash(*names: str, without: tuple[str, ...] = ()) -> str:
    """Return a hash of a judge's own modules and of every other module of judges that they import.

    The imports are found in the texts of the modules.  An import of a judge by the name of its
    package (``lazy.py``) is not found, so judges import from the `run` of other judges.

    Args:
        names: files below ``wakeproof/judge``: ``"conform/run.py"``.
        without: files and folders there that are left out, and the modules that only they import.
    """
    folder = Path(__file__).parent
    left_out = {folder / name for name in without}
    texts: dict[Path, str] = {}
    todo = [folder / name for name in names]
    while todo:
        file = todo.pop()
        if file not in texts and left_out.isdisjoint((file, *file.parents)):
            texts[file] = file.read_text(encoding="utf-8")
            todo += _imported(folder, texts[file])
    return _key({str(f.relative_to(folder)): _sha256(texts[f]) for f in sorted(texts)})


def _imported(folder: Path, text: str) -> Iterator[Path]:
    """Return the files below `folder` that the module `text` imports, except for types only."""
    nodes = list(ast.walk(ast.parse(text)))
    for_types = {
        inner for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in node.body
    }  # fmt: skip
    for node in nodes:
        if node in for_types or not isinstance(node, ast.ImportFrom):
            continue
        if (node.module or "").startswith(_JUDGES):
            base = folder.joinpath(*(node.module or "").split(".")[2:])
            for one in (base, *(base / alias.name for alias in node.names)):
                yield from (f for f in (one.with_suffix(".py"), one / "__init__.py") if f.is_file())


def file_hash(file: Path) -> str:
    """Return the hash of a file's bytes, read again only when the file has changed."""
    status = file.stat()
    return _file_hash(file, status.st_mtime_ns, status.st_size)


@cache
def _file_hash(file: Path, _mtime_ns: int, _size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def prune() -> None:
    """Remove entries that were not used for `KEPT_S` seconds."""
    oldest = time.time() - KEPT_S
    for file in _folder().glob("*/*"):
        with contextlib.suppress(FileNotFoundError):  # another job prunes too
            if file.stat().st_mtime < oldest:
                file.unlink()


def oldest(dates: Iterable[str]) -> str:
    """Return the oldest of the dates on which parts of a row were judged; "": all in this job."""
    return min(filter(None, dates), default="")


def _folder() -> Path:
    return locations.cache() / "judged"


def _place(name: str) -> Path:
    return _folder() / name[:2] / f"{name[2:]}.json"


def _hashes(inputs: Inputs) -> dict[str, str]:
    return {name: _sha256(inputs[name]) for name in sorted(inputs)}


def _key(hashes: dict[str, str]) -> str:
    return _sha256(json.dumps(hashes))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
