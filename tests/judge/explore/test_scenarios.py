# SPDX-License-Identifier: Apache-2.0
"""Scenarios in C under SC, x86-TSO and RC11: verdicts, twins, counterexamples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from wakeproof import locations
from wakeproof.judge import labels as explore_labels
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.run import ExploreReport, explore
from wakeproof.judge.stress.grading import HELD

if TYPE_CHECKING:
    import subprocess

Command = Callable[..., "subprocess.CompletedProcess[str]"]
SCENARIOS = Path(__file__).parents[1] / "scenarios"

pytestmark = pytest.mark.slow


def run(file: str, regex: str | None = None, options: ExploreOptions | None = None,
        save: Path | None = None) -> ExploreReport:  # fmt: skip
    return explore([SCENARIOS / file], regex, options, save=save)


def test_store_buffering_is_required_beyond_sc_and_its_twin_is_killed_there() -> None:
    report = run("buffering.c")
    assert report.statuses == {
        "buffering_bare": HELD,
        "buffering_fenced": HELD,
        "buffering_no_fence": HELD,
    }
    assert report.twins[0].killed == {"sc": False, "tso": True, "rc11": True}
    assert report.twins[0].first_killer is Model.TSO
    assert report.scenarios[1].line == "SC ok, TSO ok, RC11 ok"


def test_both_engines_agree_on_a_scenario() -> None:
    options = ExploreOptions(engine="both")
    report = run("buffering.c", "fenced|bare", options)
    engines = [judged.result.engine for judged in report.scenarios[0].judged]
    assert engines == ["graphs", "states", "graphs", "states", "graphs"]
    assert not report.violated


def test_a_twins_counterexample_is_saved_and_found_again(
    wakeproof: Command, tmp_path: Path
) -> None:
    report = run("buffering.c", "no_fence", save=tmp_path)
    assert [one.token.model for one in report.counterexamples] == ["tso", "rc11"]
    for one in report.counterexamples:
        ended = wakeproof("replay", str(one.saved))
        assert ended.returncode == 0
        assert "buffering_no_fence" in ended.stdout


@pytest.mark.rotates
def test_a_weaker_order_is_put_in_by_label_and_breaks_the_claim() -> None:
    labels = explore_labels.read(locations.sources())
    orders = tuple((file, line, "relaxed") for file, line in labels.lines("parker.1"))
    options = ExploreOptions(models=(Model.RC11,), orders=orders)
    report = explore(None, "^parker_data$", options, twins=False)
    assert report.violated
    assert "RC11 broken" in report.scenarios[0].line
