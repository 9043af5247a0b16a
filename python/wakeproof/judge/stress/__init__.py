# SPDX-License-Identifier: Apache-2.0
"""The judge `stress`: scenarios and twins on real cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.stress.run import stress as stress
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
