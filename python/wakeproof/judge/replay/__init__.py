# SPDX-License-Identifier: Apache-2.0
"""The command `replay`: a counterexample of `explore`, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.replay.run import replay as replay
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
