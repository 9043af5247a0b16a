# SPDX-License-Identifier: Apache-2.0
"""`stress` in shards: a scenario or a twin, with one seed.

All runs of a scenario, of each seed, are graded together: so a twin that must be seen may be seen
with any of them, and an outcome that is forbidden with none.  What real cores show is a matter of
luck, so only verdicts and seeds are the same as in one process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from wakeproof.errors import UsageError
from wakeproof.judge import campaign, scenarios
from wakeproof.judge.campaign import Shard
from wakeproof.judge.explore.shards import at, exactly, listed, place
from wakeproof.judge.process import Children
from wakeproof.judge.scenarios import Scenario, Twin
from wakeproof.judge.stress import grading
from wakeproof.judge.stress import run as native
from wakeproof.judge.stress.grading import Run, ScenarioReport, TwinReport
from wakeproof.judge.stress.options import StressOptions
from wakeproof.judge.stress.run import Progress, StressReport


def run(
    files: Sequence[Path] | None,
    regex: str | None,
    options: StressOptions,
    address: str | None,
    progress: Progress | None = None,
    *,
    seeds: int = 1,
) -> StressReport:
    """Run scenario files (None: our own) in the cluster at `address` (None: here).

    `seeds`: so many seeds, from that of `options` on, each for as long as one alone.  A worker
    should have a machine for itself: scenarios that share cores show less.

    Raises:
        UsageError: `seeds` is not allowed, and what `native.stress` raises.
    """
    if seeds < 1:
        raise UsageError(f"--seeds is {seeds}; allowed: 1 or more")
    chosen = options.checked()
    if chosen.seed is None:
        chosen = replace(chosen, seed=int.from_bytes(os.urandom(4), "little"))
    started = time.monotonic()
    with Children() as children:
        every, defects = listed(files, children, chosen.builds()[0])
    selection = scenarios.select(every, defects, regex, chosen.twins)
    drawn = [replace(chosen, seed=(chosen.seed or 0) + at).checked() for at in range(seeds)]
    shards = [
        Shard(f"{one.name}, seed {how.seed}" if seeds > 1 else one.name, f"{__name__}:judge",
              (*place(one.file), one.name, replace(how, twins=twin)),
              () if files is None else (one.file,))
        for twin, names in ((False, selection.scenarios), (True, selection.twins))
        for one in names for how in drawn
    ]  # fmt: skip
    found: list[StressReport] = campaign.run(shards, address, progress)
    cpus = min(report.cpus_allowed for report in found)
    is_x86 = all(report.machine == "x86_64" for report in found)
    scenario_reports = _by_name([one for report in found for one in report.scenarios])
    twin_reports = _by_name([one for report in found for one in report.twins])
    owners = {(one.file, one.name): one for one in every}
    return replace(
        found[0],
        cpus_allowed=cpus,
        scenarios=tuple(
            _scenario(one, scenario_reports[one.name], chosen, cpus, is_x86)
            for one in selection.scenarios
        ),
        twins=tuple(
            _twin(one, owners[one.file, one.of], twin_reports[one.name], cpus, is_x86)
            for one in selection.twins
        ),
        machine=", ".join(sorted({report.machine for report in found})),
        compiler=", ".join(sorted({report.compiler for report in found})),
        seconds=time.monotonic() - started,
        warnings=tuple(dict.fromkeys(text for report in found for text in report.warnings)),
    )


_Report = TypeVar("_Report", ScenarioReport, TwinReport)


def _by_name(reports: Sequence[_Report]) -> dict[str, list[_Report]]:
    found: dict[str, list[_Report]] = {}
    for one in reports:
        found.setdefault(one.name, []).append(one)
    return found


def _runs(reports: Sequence[_Report]) -> list[Run]:
    return [run for report in reports for run in report.runs]


def _scenario(
    of: Scenario, reports: list[ScenarioReport], options: StressOptions, cpus: int, is_x86: bool
) -> ScenarioReport:
    """Grade what all seeds have shown of a scenario."""
    if len(reports) == 1:
        return reports[0]
    left_out = [
        build.name for build in options.builds()
        if any(build.name not in {run.build for run in report.runs} for report in reports)
    ]  # fmt: skip
    graded = grading.judge_scenario(of, _runs(reports), cpus, left_out)
    return grading.judge_allowed(graded, reports[0].allowed.sets, is_x86)


def _twin(
    twin: Twin, of: Scenario, reports: list[TwinReport], cpus: int, is_x86: bool
) -> TwinReport:
    """Grade what all seeds have shown of a twin."""
    if len(reports) == 1:
        return reports[0]
    graded = grading.judge_twin(twin, of, _runs(reports), cpus, is_x86)
    return grading.judge_allowed(graded, reports[0].allowed.sets, is_x86)


def judge(ours: bool, file: Path, name: str, options: StressOptions) -> StressReport:
    """Run one scenario or twin."""
    return native.stress([at(ours, file)], exactly(name), options)
