# SPDX-License-Identifier: Apache-2.0
"""What `wakeproof.install` replaces in the standard library: one file for each area.

Each file has ``replacements()``, which yields a `Replacement` for each name.  A new file in this
folder is found by itself.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType


def areas() -> Iterator[ModuleType]:
    """Yield the modules that replace something."""
    for found in pkgutil.iter_modules(__path__, f"{__name__}."):
        area = import_module(found.name)
        if hasattr(area, "replacements"):
            yield area
