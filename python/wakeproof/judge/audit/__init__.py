# SPDX-License-Identifier: Apache-2.0
"""The audit: every claim against every judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.audit.run import audit as audit
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
