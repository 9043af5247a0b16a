# SPDX-License-Identifier: Apache-2.0
"""Objects of Python that own an object of the C kernel, and so must not be copied.

A copy would free the kernel's object twice, or have a state of its own.

Source: this file.
"""

from __future__ import annotations

from typing import NoReturn


class Unique:
    """Refuses to be copied or pickled."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied or pickled: there is one")
