# SPDX-License-Identifier: Apache-2.0
"""Events of virtual threads in C: names, numbers, reasons, the switch; specs/sched/Trace.tla."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from wakeproof import locations

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout"),
]


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_events_are_their_threads_and_say_what_was_waited_for(
    compiled: Callable[..., list[str]], build: str
) -> None:
    # NameIsItsOwn, NumberIsItsOwn, SpansHaveBegun; "switch": RingsAreThere, under the sanitizers.
    command = compiled("waits", build)
    for case in ("names", "reasons", "switch"):
        ended = subprocess.run([*command, case], capture_output=True, text=True, timeout=180)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case
