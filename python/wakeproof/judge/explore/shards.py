# SPDX-License-Identifier: Apache-2.0
"""`explore` in shards: a scenario, a twin or a program, under all models, and of samples one seed.

The models stay together, because what SC shows of a twin need not be explored under the others.
Shards run in a cluster, or one after the other in this process.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import campaign, scenarios
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.campaign import Shard
from wakeproof.judge.explore import run as explore
from wakeproof.judge.explore import seeds as seeding
from wakeproof.judge.explore import tokens
from wakeproof.judge.explore.options import ExploreOptions
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.explore.tasks import Progress
from wakeproof.judge.own import run as own
from wakeproof.judge.own.program import Program
from wakeproof.judge.process import Children
from wakeproof.judge.scenarios import Scenario, Twin


def run(
    files: Sequence[Path] | None,
    programs: Sequence[Program],
    regex: str | None,
    options: ExploreOptions,
    address: str | None,
    *,
    twins: bool = True,
    save: Path | None = None,
    progress: Progress | None = None,
    seeds: int = 1,
) -> ExploreReport:
    """Explore scenario files (None: our own) and programs in the cluster at `address` (None: here).

    `seeds`: so many seeds, from that of `options` on, each with its samples.

    Raises:
        UsageError: a text of programs, or an option that is checked over all scenarios.
    """
    if options.orders:
        raise UsageError("--order is for one process and one seed: leave out --dask and --seeds")
    texts = [file for file in files or () if file.suffix != ".c"]
    if texts:
        raise UsageError(
            f"{texts[0]}: programs as text take no cluster and one seed: leave out --dask, --seeds"
        )
    started = time.monotonic()
    drawn = seeding.options(options, seeds)
    shards = [
        Shard(_shown(one.name, how, seeds), f"{__name__}:judge_program",
              (one, regex, how, twins), one.files)
        for one in programs for how in drawn
    ]  # fmt: skip
    grades: dict[str, Any] = {}
    with Children() as children:
        if seeds > 1:
            grades |= seeding.declared_by(programs, children)
        if files is None or files:
            every, defects = listed(files, children, Build(kind="explored"))
            selection = scenarios.select(every, defects, regex, twins)
            grades |= seeding.declared(every, defects)
            shards += [
                Shard(_shown(one.name, how, seeds), f"{__name__}:judge",
                      (*place(one.file), one.name, how, twin), () if files is None else (one.file,))
                for twin, names in ((False, selection.scenarios), (True, selection.twins))
                for one in names for how in drawn
            ]  # fmt: skip
    found: list[ExploreReport] = campaign.run(shards, address, progress)
    whole = ExploreReport(
        tuple(one for report in found for one in report.scenarios),
        tuple(one for report in found for one in report.twins),
        options,
        tuple(one for report in found for one in report.counterexamples),
        time.monotonic() - started,
        tuple(dict.fromkeys(text for report in found for text in report.warnings)),
    )
    if seeds > 1:
        whole = seeding.merged(whole, grades)
    if save is None:
        return whole
    kept = (replace(c, saved=tokens.save(c.token, c.found, save)) for c in whole.counterexamples)
    return replace(whole, counterexamples=tuple(kept))


def _shown(name: str, options: ExploreOptions, seeds: int) -> str:
    return f"{name}, seed {options.seed}" if seeds > 1 else name


def listed(
    files: Iterable[Path] | None, children: Children, build: Build
) -> tuple[list[Scenario], list[Twin]]:
    """Return all scenarios and twins of the files (None: our own)."""
    builder = Builder(children)
    with ThreadPoolExecutor(2) as pool:
        listings = list(pool.map(
            lambda file: scenarios.declared(file, builder, children, build), scenarios.find(files)
        ))  # fmt: skip
    return (
        [one for found, _ in listings for one in found],
        [one for _, found in listings for one in found],
    )


def place(file: Path) -> tuple[bool, Path]:
    """Return whether a file is ours, and where it is: each machine has ours elsewhere."""
    ours = file.is_relative_to(locations.sources())
    return ours, file.relative_to(locations.sources()) if ours else file


def at(ours: bool, file: Path) -> Path:
    """Return the file of `place` on this machine."""
    return locations.sources() / file if ours else file


def exactly(name: str) -> str:
    """Return an expression that matches this name alone."""
    return f"^{re.escape(name)}$"


def judge(
    ours: bool, file: Path, name: str, options: ExploreOptions, is_twin: bool
) -> ExploreReport:
    """Explore one scenario or twin."""
    return explore.explore([at(ours, file)], exactly(name), options, twins=is_twin)


def judge_program(
    program: Program, regex: str | None, options: ExploreOptions, twins: bool
) -> ExploreReport:
    """Explore one program with a main, or what its first file declares."""
    return own.report([program], options, regex=regex, twins=twins)
