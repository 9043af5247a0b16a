# SPDX-License-Identifier: Apache-2.0
"""`stress` in a cluster: a shard is a scenario or a twin, with the seed of the campaign.

What real cores show is a matter of luck, so only verdicts and seeds are the same as in one process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wakeproof.judge import campaign, scenarios
from wakeproof.judge.campaign import Shard
from wakeproof.judge.explore.shards import at, exactly, listed, place
from wakeproof.judge.process import Children
from wakeproof.judge.stress import run as native
from wakeproof.judge.stress.options import StressOptions
from wakeproof.judge.stress.run import Progress, StressReport


def run(
    files: Sequence[Path] | None,
    regex: str | None,
    options: StressOptions,
    address: str,
    progress: Progress | None = None,
) -> StressReport:
    """Run scenario files (None: our own) in the cluster at `address`.

    A worker should have a machine for itself: scenarios that share cores show less.
    """
    chosen = options.checked()
    if chosen.seed is None:
        chosen = replace(chosen, seed=int.from_bytes(os.urandom(4), "little"))
    started = time.monotonic()
    with Children() as children:
        every, defects = listed(files, children, chosen.builds()[0])
    selection = scenarios.select(every, defects, regex, chosen.twins)
    shards = [
        Shard(one.name, f"{__name__}:judge",
              (*place(one.file), one.name, replace(chosen, twins=twin)),
              () if files is None else (one.file,))
        for twin, names in ((False, selection.scenarios), (True, selection.twins)) for one in names
    ]  # fmt: skip
    found: list[StressReport] = campaign.run(shards, address, progress)
    return replace(
        found[0],
        scenarios=tuple(one for report in found for one in report.scenarios),
        twins=tuple(one for report in found for one in report.twins),
        machine=", ".join(sorted({report.machine for report in found})),
        compiler=", ".join(sorted({report.compiler for report in found})),
        seconds=time.monotonic() - started,
        warnings=tuple(dict.fromkeys(text for report in found for text in report.warnings)),
    )


def judge(ours: bool, file: Path, name: str, options: StressOptions) -> StressReport:
    """Run one scenario or twin."""
    return native.stress([at(ours, file)], exactly(name), options)
