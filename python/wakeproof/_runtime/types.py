# SPDX-License-Identifier: Apache-2.0
"""Type variables of arguments, and of the result of a callable."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)  # a plain `VirtualThread` means VirtualThread[Any]
else:
    from typing import TypeVar

    T = TypeVar("T")
P = ParamSpec("P")
