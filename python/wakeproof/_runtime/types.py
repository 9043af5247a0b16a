# SPDX-License-Identifier: Apache-2.0
"""Type variables: of arguments, and of what a callable gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)  # so that `VirtualThread` alone means any
else:
    from typing import TypeVar

    T = TypeVar("T")
P = ParamSpec("P")
