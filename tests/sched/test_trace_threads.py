# SPDX-License-Identifier: Apache-2.0
"""Events of virtual threads in C: names, numbers, reasons, the switch; specs/sched/Trace.tla."""

from __future__ import annotations

from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold

pytestmark = COMPILES


@EACH_BUILD
def test_events_are_their_threads_and_say_what_was_waited_for(
    compiled: Compiled, build: str
) -> None:
    # NameIsItsOwn, NumberIsItsOwn, SpansHaveBegun; "switch": RingsAreThere, under the sanitizers.
    hold(compiled("waits", build), ("names", "reasons", "switch"))
