# SPDX-License-Identifier: Apache-2.0
"""Scopes in C: specs/scope/Scope.tla and Nesting.tla; the cases that specs/README.md lists.

scope.c runs one case, most with an OS thread and with a virtual one as the owner, and
prints what is lost.
"""

from __future__ import annotations

import contextlib
import subprocess

import pytest
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold
from tests.support.running import run

pytestmark = COMPILES
CASES = {
    "ends": "ChildrenWithinScope",
    "failure": "FirstFailureWins",
    "any": "FirstFailureWins",
    "cancel": "NoForkRunsAfterCancel",
    "deadline": "TimerCancelled",
    "close": "ChildrenWithinScope",
    "interrupt": "JoinWakes",
    "owner": "OwnerConfinement",
    "nested": "LifoClose",
    "reuse": "UntouchedAfterEnd",
    "meets": "CancelReachesAll",
    "group": "JoinWakes",
}
TWINS = {"scope_close_as_join": "close", "scope_leaves_silent": "ends"}


@EACH_BUILD
def test_what_the_design_asks_of_scopes(compiled: Compiled, build: str) -> None:
    hold(compiled("scope", build), CASES)


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(compiled: Compiled, twin: str) -> None:
    command = compiled("scope", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    # It never ends, which is an accepted failure, too.
    with contextlib.suppress(subprocess.TimeoutExpired):
        assert run(command, TWINS[twin], timeout_s=5).returncode != 0
