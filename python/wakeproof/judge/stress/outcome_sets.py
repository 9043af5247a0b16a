# SPDX-License-Identifier: Apache-2.0
"""The outcomes that each memory model allows, computed by the explorer once per set of sources.

The sets are kept in a file.  Its name has a hash of the compiler, the flags, every source that is
compiled into the explored program, and the bounds of the exploration.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import JudgeError, MissingToolError, UsageError
from wakeproof.judge.builds import Builder
from wakeproof.judge.explore import run as explore
from wakeproof.judge.explore.explored import NotModelledError
from wakeproof.judge.explore.options import MODELS, ExploreOptions, Model
from wakeproof.judge.explore.report import ScenarioReport, TwinReport
from wakeproof.judge.explore.results import Result
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.scenarios import Scenario, Twin
from wakeproof.judge.stress import allowed
from wakeproof.judge.stress.allowed import Computed

JOBS = 2
BOUNDS = ExploreOptions(seconds=20.0)  # of each scenario under each model
Key = tuple[str, str]  # file and name of a scenario or twin
Sets = Mapping[Key, tuple[Computed, ...]]
Progress = Callable[[str, int, int], None]


def of_report(report: ExploreReport) -> Sets:
    """Return the sets of all scenarios and twins that were explored for another purpose."""
    return {(one.file, one.name): _of_report(one) for one in _all_of(report)}


def compute(chosen: Iterable[Scenario | Twin], builder: Builder, progress: Progress) -> Sets:
    """Return the sets of `chosen`, kept ones or new ones.

    A file that the explorer cannot run has incomplete sets, which name the reason.

    Raises:
        JudgeError: a file cannot be explored, and WAKEPROOF_CI makes it mandatory.
    """
    files: dict[Path, list[Scenario | Twin]] = {}
    for one in chosen:
        files.setdefault(one.file, []).append(one)
    found: dict[Key, tuple[Computed, ...]] = {}
    for file, own in files.items():
        try:
            found |= _of_file(file, own, builder, progress)
        except (UsageError, MissingToolError, JudgeError) as error:
            why = f"not run: {str(error).splitlines()[0].rstrip(':')}"
            if os.environ.get("WAKEPROOF_CI") == "1" and not isinstance(error, NotModelledError):
                raise JudgeError(f"the explorer must run in CI: {error}") from error
            found |= {_key(s): not_run(why) for s in own}
    return found


def not_run(why: str) -> tuple[Computed, ...]:
    """Return sets that allow nothing and forbid nothing."""
    return tuple(Computed(model, (), whole=False, coverage=why) for model in MODELS)


def _of_file(
    file: Path, own: list[Scenario | Twin], builder: Builder, progress: Progress
) -> dict[Key, tuple[Computed, ...]]:
    if os.environ.get("WAKEPROOF_RUNNER"):
        return {_key(s): not_run("not run: what is compiled here runs in an emulator") for s in own}
    progress(f"allowed sets: compiling {file.name}", 0, 0)
    with ThreadPoolExecutor(4) as pool:
        places = pool.map(lambda one: _kept_in(file, one, builder), own)
        kept = {one.name: place for one, place in zip(own, places, strict=True)}
    found = {name: sets for name, at in kept.items() if (sets := _read(at))}
    missing = [name for name in kept if name not in found]
    if missing:
        names = "|".join(re.escape(name) for name in missing)

        def tell(what: str, done: int, total: int) -> None:
            progress(f"allowed sets: {what}", done, total)

        twins = any(isinstance(one, Twin) for one in own)
        explored = explore.explore(
            [file], f"^({names})$", BOUNDS, twins=twins, jobs=JOBS, progress=tell
        )
        for report in _all_of(explored):
            found[report.name] = sets = _of_report(report)
            if not any(_by_chance(judged.result) for judged in report.judged):
                _write(kept[report.name], sets)
    undeclared = not_run("not run: the explored build does not declare it")
    return {_key(one): found.get(one.name, undeclared) for one in own}


def _by_chance(result: Result) -> bool:
    """Return whether a new run could give another set, after a failure or on a slow machine."""
    return bool(result.error) or result.stopped == "max_seconds"


def _all_of(report: ExploreReport) -> list[ScenarioReport | TwinReport]:
    return [*report.scenarios, *report.twins]


def _key(one: Scenario | Twin) -> Key:
    return str(one.file), one.name


def _of_report(report: ScenarioReport | TwinReport) -> tuple[Computed, ...]:
    """Return a set per model; of two engines, one that saw all executions is enough.

    After a race or a crash under one model there is no set for any model, because C11 gives such a
    program no meaning.  A failed assertion is no outcome, because it ends the process.
    """
    found = []
    met = {verdict for judged in report.judged for verdict in judged.result.verdicts}
    undefined = allowed.RACE if "race" in met else allowed.CRASH if "crash" in met else ""
    for model in MODELS:
        results = [judged.result for judged in report.judged if judged.model is model]
        if not results:
            continue
        best = max(results, key=lambda result: result.exhaustive and not result.error)
        texts = sorted(
            {
                one.text
                for result in results
                for one in result.outcomes
                if one.verdict != "assertion"
            }
        )
        whole, why = best.exhaustive and not best.error, best.error or best.coverage
        if undefined:
            texts, whole, why = [], False, undefined
        found.append(Computed(model, tuple(texts), whole, why))
    return tuple(found)


def _kept_in(file: Path, one: Scenario | Twin, builder: Builder) -> Path:
    """Return the file that keeps the sets; the program is named by a hash of all in it."""
    program = builder.explorer(file, one.name if isinstance(one, Twin) else None)
    bounds = sha256(" ".join(BOUNDS.arguments()).encode()).hexdigest()[:12]
    return locations.cache() / "stress" / "sets" / f"{program.name}-{one.name}-{bounds}.json"


def _read(at: Path) -> tuple[Computed, ...]:
    """Return the kept sets; none if the file is missing or damaged."""
    try:
        entries = json.loads(at.read_text(encoding="utf-8"))
        found = tuple(
            Computed(Model(e["model"]), tuple(e["outcomes"]), e["whole"] is True, e["coverage"])
            for e in entries
        )
        os.utime(at)
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    return found


def _write(at: Path, sets: tuple[Computed, ...]) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    entries = [asdict(one) | {"model": one.model.value} for one in sets]
    locations.write_atomically(at, json.dumps(entries) + "\n")
