# SPDX-License-Identifier: Apache-2.0
"""The museum: real lost wakeups of other systems, as ordinary programs, as shipped and fixed."""

from __future__ import annotations
