# SPDX-License-Identifier: Apache-2.0
"""The judge `linear`: operations of the compiled code take effect between call and return."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.linear.run import linear as linear
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
