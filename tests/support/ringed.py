# SPDX-License-Identifier: Apache-2.0
"""The tests that need io_uring; in CI liburing must be there."""

from __future__ import annotations

import os

import pytest

from wakeproof import doctor
from wakeproof._native import build as _build

needs_uring = pytest.mark.skipif(
    not doctor.has_io_uring()
    or not (_build.has_uring(*_build.compiler()) or os.environ.get("WAKEPROOF_CI") == "1"),
    reason="not run: needs io_uring, and liburing-dev to build with",
)
