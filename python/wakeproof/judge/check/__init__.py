# SPDX-License-Identifier: Apache-2.0
"""The judge `check`: TLC on the configurations of specs/."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.check.run import check as check
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
