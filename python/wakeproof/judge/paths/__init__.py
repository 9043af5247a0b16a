# SPDX-License-Identifier: Apache-2.0
"""The judge of `conform --paths`: the code follows paths over every edge of its spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.paths.run import paths as paths
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
