# SPDX-License-Identifier: Apache-2.0
"""The table: rows of all concepts, in the order in which they are printed."""

from __future__ import annotations

from wakeproof.bench import placement, python, rows, virtual

ROWS = (*rows.ROWS, *virtual.ROWS, *placement.ROWS, *python.ROWS)
