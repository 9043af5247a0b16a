# SPDX-License-Identifier: Apache-2.0
"""`explore` in a cluster: a shard is a scenario, a twin or a program, under all models.

The models stay together, because what SC shows of a twin need not be explored under the others.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import campaign, scenarios
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.campaign import Shard
from wakeproof.judge.explore import run as explore
from wakeproof.judge.explore import tokens
from wakeproof.judge.explore.options import ExploreOptions
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.explore.tasks import Progress
from wakeproof.judge.own import run as own
from wakeproof.judge.own.program import Program
from wakeproof.judge.process import Children
from wakeproof.judge.scenarios import Selection


def run(
    files: Sequence[Path] | None,
    programs: Sequence[Program],
    regex: str | None,
    options: ExploreOptions,
    address: str,
    *,
    twins: bool = True,
    save: Path | None = None,
    progress: Progress | None = None,
) -> ExploreReport:
    """Explore scenario files (None: our own) and programs in the cluster at `address`.

    Raises:
        UsageError: a text of programs, or an option that is checked over all scenarios.
    """
    if options.orders:
        raise UsageError("--order is for one process: leave out --dask")
    texts = [file for file in files or () if file.suffix != ".c"]
    if texts:
        raise UsageError(f"{texts[0]}: programs as text take no cluster: leave out --dask")
    started = time.monotonic()
    shards = [
        Shard(one.name, f"{__name__}:judge_program", (one, regex, options, twins), one.files)
        for one in programs
    ]
    if files is None or files:
        with Children() as children:
            selection = selected(files, regex, twins, children, Build(kind="explored"))
        shards += [
            Shard(one.name, f"{__name__}:judge", (*place(one.file), one.name, options, twin),
                  () if files is None else (one.file,))
            for twin, names in ((False, selection.scenarios), (True, selection.twins))
            for one in names
        ]  # fmt: skip
    found: list[ExploreReport] = campaign.run(shards, address, progress)
    kept = [one for report in found for one in report.counterexamples]
    return ExploreReport(
        tuple(one for report in found for one in report.scenarios),
        tuple(one for report in found for one in report.twins),
        options,
        tuple(replace(c, saved=tokens.save(c.token, c.found, save)) if save else c for c in kept),
        time.monotonic() - started,
        tuple(dict.fromkeys(text for report in found for text in report.warnings)),
    )


def selected(
    files: Iterable[Path] | None, regex: str | None, twins: bool, children: Children, build: Build
) -> Selection:
    """Return the scenarios and twins of the files (None: our own) that the expression matches."""
    builder = Builder(children)
    with ThreadPoolExecutor(2) as pool:
        listings = list(pool.map(
            lambda file: scenarios.declared(file, builder, children, build), scenarios.find(files)
        ))  # fmt: skip
    return scenarios.select(
        [one for found, _ in listings for one in found],
        [one for _, found in listings for one in found], regex, twins,
    )  # fmt: skip


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
