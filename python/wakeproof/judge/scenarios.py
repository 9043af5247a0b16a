# SPDX-License-Identifier: Apache-2.0
"""The tests, graded outcomes and twins in scenario files.  Source: ``stress/stress.h``."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import declarations, schema
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.declarations import Outcome as Outcome
from wakeproof.judge.declarations import Scenario as Scenario
from wakeproof.judge.declarations import Twin as Twin
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children

LIST_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Selection:
    """The scenarios and twins to run."""

    scenarios: tuple[Scenario, ...]
    twins: tuple[Twin, ...]

    def scenario_of(self, twin: Twin, among: Iterable[Scenario]) -> Scenario:
        """Return the scenario that must show `twin`."""
        return next(s for s in among if (s.file, s.name) == (twin.file, twin.of))


def find(files: Iterable[Path] | None = None) -> list[Path]:
    """Return the given files, else the project's own, as absolute paths.

    Raises:
        UsageError: a given file does not exist.
    """
    if files is None:
        return sorted((locations.sources() / "stress" / "scenarios").rglob("*.c"))
    found = []
    for file in files:
        if not file.is_file():
            raise UsageError(f"no scenario file {file}: give a C file that declares STRESS_TEST")
        found.append(file.resolve())
    return found


def of_concept(judge: str, name: str, sources: Path | None = None) -> Path:
    """Return the scenario that a judge has for a concept: ``stress/conform/**/conform_mutex.c``.

    Raises:
        UsageError: the judge has no such scenario.
    """
    folder = (sources or locations.sources()) / "stress" / judge
    found = next(folder.rglob(f"{judge}_{name}.c"), None)
    if found is None:
        raise UsageError(f"{folder} has no {judge}_{name}.c")
    return found


def runner(sanitizer: str | None) -> list[str]:
    """Return the command prefix of a program: $WAKEPROOF_RUNNER (an emulator), setarch for TSan."""
    command = shlex.split(os.environ.get("WAKEPROOF_RUNNER", ""))
    if sanitizer == "thread" and shutil.which("setarch"):
        command = ["setarch", "-R", *command]  # TSan cannot place its shadow with high-entropy ASLR
    return command


def declared(
    file: Path, builder: Builder, children: Children, build: Build
) -> tuple[list[Scenario], list[Twin]]:
    """Compile `file` and return its scenarios, and the twins that they must show.

    A twin is declared by the file, or by the table in ``stress/twins/`` that has its edit.

    Raises:
        UsageError: it does not compile, or a declaration is wrong.
    """
    program = builder.program(file, build)
    command = [*runner(build.sanitizer), str(program), "--list"]
    ended = children.run(command, timeout_s=LIST_TIMEOUT_S)
    if ended.code == 2:
        raise UsageError(f"{file}: {ended.output.strip()}")
    if ended.code != 0:
        raise JudgeError(f"{file}: listing failed ({ended.code}): {ended.output.strip()}")
    listing = json.loads(ended.output)
    scenarios = [schema.from_values(Scenario, {"file": file, **one}) for one in listing["tests"]]
    twins = [schema.from_values(Twin, {"file": file, **one}) for one in listing["twins"]]
    if file.is_relative_to(locations.sources() / "stress" / "scenarios"):
        twins += _of_tables(file, builder, {scenario.name for scenario in scenarios})
    if not scenarios:
        raise UsageError(f"{file} declares no scenario: use STRESS_TEST(name, ...) of stress.h")
    declarations.check(scenarios, twins)
    return scenarios, twins


def select(
    scenarios: list[Scenario], twins: list[Twin], regex: str | None, with_twins: bool
) -> Selection:
    """Keep what `regex` matches: a scenario's name keeps its twins too, a twin's name itself only.

    Raises:
        UsageError: not a regular expression, or nothing has such a name.
    """
    is_named = finder(regex)
    kept = tuple(s for s in scenarios if is_named(s.name))
    names = {(s.file, s.name) for s in kept}
    kept_twins = tuple(
        t for t in twins if with_twins and ((t.file, t.of) in names or is_named(t.name))
    )
    if not kept and not kept_twins:
        known = ", ".join([s.name for s in scenarios] + [t.name for t in twins if with_twins])
        raise UsageError(f"no scenario or twin matches {regex!r}; there are {known}")
    return Selection(kept, kept_twins)


def _of_tables(file: Path, builder: Builder, names: set[str]) -> list[Twin]:
    """Return the twins with edits and declarations in ``stress/twins/``."""
    return [
        Twin(file, twin.name, twin.scenario, twin.about, twin.shows, twin.seen_by, twin.chance)
        for twin in builder.twins.values()
        if twin.scenario in names
    ]
