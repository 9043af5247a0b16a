# SPDX-License-Identifier: Apache-2.0
"""An actor that crashes on real cores is named, with its address and its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeproof.judge.stress.run import StressOptions, stress

FILE = Path(__file__).parents[1] / "scenarios" / "shown.c"


@pytest.mark.slow
def test_a_crash_on_real_cores_says_who_where_and_why_and_forbids_no_outcome() -> None:
    options = StressOptions(seconds=0.2, opt=("O0",), delayed=False, seed=7)
    [report] = stress([FILE], "^shown_stray$", options).scenarios
    [at] = [n for n, line in enumerate(FILE.read_text().splitlines(), 1) if "shown: stray" in line]
    said = f"actor 1 of shown_stray: touches memory that is not there, at 0x8, in shown.c:{at}"
    assert any(said in message for message in report.messages)
    assert "an actor crashes, and C11 gives what it did no meaning" in report.allowed.not_whole
    assert not report.allowed.is_judged
