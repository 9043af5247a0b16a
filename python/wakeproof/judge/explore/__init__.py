# SPDX-License-Identifier: Apache-2.0
"""The judge `explore`: every interleaving and reordering of compiled code and small programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.explore.run import explore as explore
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
