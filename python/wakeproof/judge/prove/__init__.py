# SPDX-License-Identifier: Apache-2.0
"""The judge `prove`: safety for any number of threads, by inductive invariants of the specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeproof.judge.prove.run import prove as prove
else:
    from wakeproof.judge.lazy import function_of

    __getattr__ = function_of(__name__)
