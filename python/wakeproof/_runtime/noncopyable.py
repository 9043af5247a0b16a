# SPDX-License-Identifier: Apache-2.0
"""Objects that stand for one object of the kernel: a copy would free it twice, or lock it alone.

Source: this file.
"""

from __future__ import annotations

from typing import NoReturn


class Unique:
    """Refuses to be copied or pickled."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied or pickled: there is one")
