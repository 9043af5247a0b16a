# SPDX-License-Identifier: Apache-2.0
"""`wakeproof.dump` of unusual trees of scopes.  Dump.tla."""

from __future__ import annotations

import io
import json
from contextlib import ExitStack

import wakeproof
from wakeproof import CarrierGroup, Scope


def test_scopes_that_nest_without_end_are_shown(group: CarrierGroup) -> None:
    # A runaway recursion is a reason for a dump. A dump of it was itself a runaway recursion.
    with ExitStack() as opened:
        scopes = [opened.enter_context(Scope(group=group)) for _ in range(2000)]
        scopes[-1].fork(wakeproof.park)
        out = io.StringIO()
        wakeproof.dump(out, format="json")
        scopes[-1].cancel()
        scopes[-1].join()
    assert len(json.loads(out.getvalue())["threadDump"]["threadContainers"]) == 2001
