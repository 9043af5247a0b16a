# SPDX-License-Identifier: Apache-2.0
"""Scopes in C: specs/scope/Scope.tla and Nesting.tla; the cases that specs/README.md lists.

scope.c runs one case, most with an OS thread and with a virtual one as the owner, and
prints what is lost.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable

import pytest

from wakeproof import locations

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout"),
]
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


def run(command: list[str], case: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, case], capture_output=True, text=True, timeout=timeout_s, check=False
    )


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_what_the_design_asks_of_scopes(compiled: Callable[..., list[str]], build: str) -> None:
    command = compiled("scope", build)
    for case, claim in CASES.items():
        ended = run(command, case, 120)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), (case, claim)


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(compiled: Callable[..., list[str]], twin: str) -> None:
    command = compiled("scope", "plain", f"-DWP_TWIN_{twin}=1", "-DPATIENCE_S=2")
    with contextlib.suppress(subprocess.TimeoutExpired):  # it never ends: that is seen, too
        assert run(command, TWINS[twin], 5).returncode != 0
