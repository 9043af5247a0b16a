# SPDX-License-Identifier: Apache-2.0
"""The judge `conform`: the state graph of the compiled code is that of its spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.conform.run import conform as conform
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
