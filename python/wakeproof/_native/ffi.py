# SPDX-License-Identifier: Apache-2.0
"""Load the kernel: the extension (API mode), else libwakeproof.so beside it (ABI mode, slower).

The environment variable WAKEPROOF_LIBRARY names a folder with another libwakeproof.so and its
libwakeproof.cdef, which are then bound in ABI mode: a sanitized or otherwise compiled kernel.
Both modes offer the same functions and release the GIL around each call.  Types: ``ffi.pyi``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cffi import FFI

from wakeproof.errors import MissingToolError


def _bind_library(folder: Path) -> tuple[Any, Any]:
    """Bind libwakeproof.so through the declarations that were written beside it."""
    try:
        declarations = (folder / "libwakeproof.cdef").read_text(encoding="utf-8")
        abi = FFI()
        abi.cdef(declarations)
        return abi, abi.dlopen(str(folder / "libwakeproof.so"))
    except OSError as error:
        raise MissingToolError(
            f"the native part of wakeproof is not usable ({error}): run `make test` in the "
            "checkout, or install the package again"
        ) from error


def _load() -> tuple[Any, Any, str]:
    chosen = os.environ.get("WAKEPROOF_LIBRARY")
    if chosen:
        return *_bind_library(Path(chosen)), "abi"
    try:
        from wakeproof._native import kernel
    except ImportError:
        return *_bind_library(Path(__file__).resolve().parent), "abi"
    return kernel.ffi, kernel.lib, "api"


ffi, lib, MODE = _load()
