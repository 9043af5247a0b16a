# SPDX-License-Identifier: Apache-2.0
"""The places where a task may wait, and the order of a carrier's poll: run_queues.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import compiling
from tests.support.cases import IN_CHECKOUT, Compiled, hold, loses

pytestmark = IN_CHECKOUT
CASES = {
    "asked": "each question says yes to the places that it is about, and to no other",
    "private": "without siblings: what its poller stole; then its own, queue and inbox in turn",
    "ring": "with a ring: what its poller stole, the next slot; then ring, queue and inbox in turn",
    "left": "a close finds all that is left",
}
TWINS = {  # case, the old text, and the new text
    "private": (
        "\tif (task != NULL) {\n\t\tcarrier->next = NULL;",
        "\tif (task != NULL && false) {",
    ),
    "ring": ("\ttask = wp__local_queue_carrier_next(carrier);\n", "\ttask = NULL;\n"),
    "left": ("\tif (task == NULL && carrier->bounded != NULL)\n", "\tif (false)\n"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_place_is_asked_and_polled_in_its_order(case: str, compiled: Compiled) -> None:
    hold(compiled("run_queues", "plain"), {case: CASES[case]})


@pytest.mark.slow
@pytest.mark.parametrize("case", TWINS)
def test_a_place_that_is_forgotten_is_seen(case: str, tmp_path: Path) -> None:
    loses(compiling.broken(tmp_path, "run_queues", "plain", "run_queues.c", *TWINS[case]), case)
