# SPDX-License-Identifier: Apache-2.0
"""Why a running process does not go on: where each of its threads sleeps, and what for."""

from __future__ import annotations
