# SPDX-License-Identifier: Apache-2.0
"""The judge of `conform --traces`: recorded runs of real threads are behaviours of the spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.traces.run import traces as traces
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
