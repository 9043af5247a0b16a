# SPDX-License-Identifier: Apache-2.0
"""How long the groups of test_group_soak and test_group_help live, and from which seed."""

from __future__ import annotations

import os
import secrets

SHORT_S = 10 if "WAKEPROOF_CI" in os.environ else 3
SECONDS = int(os.environ.get("WAKEPROOF_SOAK_S", SHORT_S))
SEED = os.environ.get("WAKEPROOF_SOAK_SEED") or str(secrets.randbelow(1 << 32))
PATIENCE_S = 60  # for one round, which takes a fraction of a second
