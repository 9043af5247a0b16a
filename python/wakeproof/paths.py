# SPDX-License-Identifier: Apache-2.0
"""Where the sources are (a checkout, or the copy inside an installed wheel) and where to build."""

from __future__ import annotations

import os
from pathlib import Path

from wakeproof.errors import MissingToolError

_PACKAGE = Path(__file__).resolve().parent


def sources() -> Path:
    """Return the folder that holds ``kernel/``, ``specs/`` and ``stress/``.

    Raises:
        MissingToolError: neither a checkout nor a wheel that carries them.
    """
    for folder in (_PACKAGE / "_sources", _PACKAGE.parents[1]):
        if (folder / "kernel" / "base" / "order.h").is_file():
            return folder
    raise MissingToolError(
        f"no kernel sources beside {_PACKAGE}: install wakeproof's wheel, "
        "or run `make test` in a checkout"
    )


def kernel_files(suffixes: str = "ch", root: Path | None = None) -> list[Path]:
    """Return the files of ``kernel/`` in all its folders, sorted.

    Args:
        suffixes: letters: ``"ch"`` gives C sources and headers, ``"cS"`` what is compiled.
        root: the folder that holds ``kernel/``; None: `sources`.
    """
    return sorted(((root or sources()) / "kernel").rglob(f"*.[{suffixes}]"))


def is_checkout() -> bool:
    """Say whether the sources are a checkout that may be written to (`--update`)."""
    return sources() == _PACKAGE.parents[1]


def cache() -> Path:
    """Return the folder for what is built at run time, made if absent.

    In a checkout ``build/``; for an installed wheel ``$XDG_CACHE_HOME/wakeproof``.
    """
    if is_checkout():
        folder = sources() / "build"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        folder = Path(home) / "wakeproof"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path` through a temporary file beside it: readers see old or new."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
