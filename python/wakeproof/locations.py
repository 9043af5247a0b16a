# SPDX-License-Identifier: Apache-2.0
"""Find the sources (a checkout, or the archive in an installed wheel) and the build folder."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from wakeproof._runtime.atomic import write_atomically as write_atomically
from wakeproof.errors import MissingToolError

_PACKAGE = Path(__file__).resolve().parent
ARCHIVE = _PACKAGE / "_sources.zip"
"""A wheel's archive of ``kernel/``, ``specs/`` and ``stress/``: a tenth of their size."""


def _is_complete(folder: Path) -> bool:
    return (folder / "kernel" / "base" / "order.h").is_file()


def is_checkout() -> bool:
    """Return whether the sources are a checkout that may be written to (`--update`)."""
    return not ARCHIVE.is_file() and _is_complete(_PACKAGE.parents[1])


@functools.cache
def sources() -> Path:
    """Return the folder that holds ``kernel/``, ``specs/`` and ``stress/``.

    The sources of an installed wheel are unpacked into `cache` on the first call, in a folder that
    is named by the archive's hash.

    Raises:
        MissingToolError: there is neither a checkout nor a wheel that carries the sources.
    """
    if is_checkout():
        return _PACKAGE.parents[1]
    if ARCHIVE.is_file():
        return _unpacked(ARCHIVE, cache())
    raise MissingToolError(
        f"no kernel sources beside {_PACKAGE}: install wakeproof's wheel, "
        "or run `make test` in a checkout"
    )


def _unpacked(archive: Path, into: Path) -> Path:
    """Unpack the archive completely or not at all, also if several processes try at once."""
    name = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    folder = into / f"sources-{name}"
    if not folder.is_dir():
        part = Path(tempfile.mkdtemp(prefix=".sources-", dir=into))
        try:
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(part)
            part.rename(folder)
        except OSError:
            if not folder.is_dir():  # no other process was faster, so it is an error
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder


def kernel_files(suffixes: str = "ch", root: Path | None = None) -> list[Path]:
    """Return the files in all folders of ``kernel/``, sorted.

    Args:
        suffixes: letters: ``"ch"`` gives C sources and headers, ``"cS"`` what is compiled.
        root: the folder that holds ``kernel/``; None: `sources`.
    """
    return sorted(((root or sources()) / "kernel").rglob(f"*.[{suffixes}]"))


def cache() -> Path:
    """Return the folder for files that are built at run time; make it if it is absent.

    It is ``build/`` in a checkout, and ``$XDG_CACHE_HOME/wakeproof`` for an installed wheel.
    """
    if is_checkout():
        folder = _PACKAGE.parents[1] / "build"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        folder = Path(home) / "wakeproof"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
