# SPDX-License-Identifier: Apache-2.0
"""The judge `orders`: every memory order one step weaker is seen, or explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.orders.run import orders as orders
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
