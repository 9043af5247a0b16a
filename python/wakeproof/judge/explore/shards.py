# SPDX-License-Identifier: Apache-2.0
"""`explore` in shards: a scenario, a twin or a program, of samples one seed, of a search one part.

The models stay together, because what SC shows of a twin need not be explored under the others.
Only of a search in parts those that the engine of graphs explores are apart.
Shards run in a cluster, or one after the other in this process.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge import campaign, scenarios
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.campaign import Shard
from wakeproof.judge.explore import merging, tokens
from wakeproof.judge.explore import run as explore
from wakeproof.judge.explore.options import PARTS, ExploreOptions, Model
from wakeproof.judge.explore.results import LEARNED
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
    parts: int = 1,
) -> ExploreReport:
    """Explore scenario files (None: our own) and programs in the cluster at `address` (None: here).

    `seeds`: so many seeds, from that of `options` on, each with its samples.  `parts`: each search
    of graphs is cut into so many, but for those of twins of scenarios.

    Raises:
        UsageError: a text of programs, or an option that is checked over all scenarios.
    """
    if options.orders:
        raise UsageError("--order is for one process: leave out --dask, --seeds and --parts")
    texts = [file for file in files or () if file.suffix != ".c"]
    if texts:
        raise UsageError(
            f"{texts[0]}: programs as text take no cluster: leave out --dask, --seeds and --parts"
        )
    started = time.monotonic()
    cut = _cut(options, seeds, parts)
    works = [
        _Work(
            one.name, f"{__name__}:judge_program", (one, regex), (twins,), one.files, cut.programs
        )
        for one in programs
    ]
    grades: dict[str, Any] = {}
    with Children() as children:
        if seeds > 1 or parts > 1:
            grades |= merging.declared_by(programs, children)
        if files is None or files:
            every, defects = listed(files, children, Build(kind="explored"))
            selection = scenarios.select(every, defects, regex, twins)
            grades |= merging.declared(every, defects)
            works += [
                _Work(one.name, f"{__name__}:judge", (*place(one.file), one.name), (is_twin,),
                      () if files is None else (one.file,), hows)
                for is_twin, names, hows in (
                    (False, selection.scenarios, cut.scenarios),
                    (True, selection.twins, cut.twins),
                )
                for one in names
            ]  # fmt: skip
    found = _run(works, address, progress)
    whole = ExploreReport(
        tuple(one for report in found for one in report.scenarios),
        tuple(one for report in found for one in report.twins),
        options,
        tuple(one for report in found for one in report.counterexamples),
        time.monotonic() - started,
        tuple(dict.fromkeys(text for report in found for text in report.warnings)),
    )
    if seeds > 1 or parts > 1:
        whole = merging.merged(whole, grades, of_parts=parts > 1)
    if save is None:
        return whole
    kept = (replace(c, saved=tokens.save(c.token, c.found, save)) for c in whole.counterexamples)
    return replace(whole, counterexamples=tuple(kept))


@dataclass(frozen=True)
class _Cut:
    """The options of each shard of a program, of a scenario and of a twin."""

    programs: Sequence[ExploreOptions]
    scenarios: Sequence[ExploreOptions]
    twins: Sequence[ExploreOptions]


def _cut(options: ExploreOptions, seeds: int, parts: int) -> _Cut:
    """Return the options of all shards.

    Raises:
        UsageError: the options have no seeds or no parts, or a number is not allowed.
    """
    if parts < 1:
        raise UsageError(f"--parts is {parts}; allowed: 1 to {PARTS:,}")
    if parts == 1:
        drawn = merging.seeds(options, seeds)
        return _Cut(drawn, drawn, drawn)
    if seeds > 1 or options.engine not in ("auto", "graphs"):
        raise UsageError("--parts takes no --seeds, and no --engine but graphs, which has parts")
    graphs = [m for m in options.models if options.engine == "graphs" or m is Model.RC11]
    if not graphs:
        raise UsageError("--parts is of RC11 and of --engine graphs: states have no parts")
    own = merging.parts(replace(options, models=tuple(graphs)), parts)
    others = tuple(model for model in options.models if model not in graphs)
    by_states = [replace(options, models=others)] if others else []
    return _Cut(merging.parts(options, parts), [*by_states, *own], [options])


@dataclass(frozen=True)
class _Work:
    """What is judged of one name, in shards that differ by their options alone."""

    name: str
    function: str
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    files: tuple[Path, ...]
    hows: Sequence[ExploreOptions]

    def shards(self) -> list[Shard]:
        """Return a shard for each of the options."""
        return [
            Shard(self._shown(how), self.function, (*self.before, how, *self.after), self.files)
            for how in self.hows
        ]

    def _shown(self, how: ExploreOptions) -> str:
        if how.parts:
            return f"{self.name}, part {how.part + 1} of {how.parts}"
        return f"{self.name}, seed {how.seed}" if how.sample and len(self.hows) > 1 else self.name

    def whole(self) -> _Work:
        """Return the same, with its parts as one shard."""
        others = [how for how in self.hows if not how.parts]
        [part] = [how for how in self.hows if how.parts and how.part == 0]
        return replace(self, hows=[*others, replace(part, parts=1)])


def _run(
    works: Sequence[_Work], address: str | None, progress: Progress | None
) -> list[ExploreReport]:
    """Judge all.  If a part has changed its program, so that it is none, all are judged whole."""
    found = _results(works, address, progress)
    again = [
        at for at, reports in enumerate(found)
        if any(j.result.stopped == LEARNED for r in reports for one in r.every for j in one.judged)
    ]  # fmt: skip
    whole = _results([works[at].whole() for at in again], address, progress) if again else []
    for at, reports in zip(again, whole, strict=True):
        found[at] = reports
    return [report for reports in found for report in reports]


def _results(
    works: Sequence[_Work], address: str | None, progress: Progress | None
) -> list[list[ExploreReport]]:
    shards = [work.shards() for work in works]
    found = iter(campaign.run([one for own in shards for one in own], address, progress))
    return [[next(found) for _ in own] for own in shards]


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
