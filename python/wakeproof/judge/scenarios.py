# SPDX-License-Identifier: Apache-2.0
"""What the scenario files declare: tests, graded outcomes, twins.  Source: ``stress/stress.h``."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wakeproof import paths
from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.builds import Build, Builder
from wakeproof.judge.names import finder
from wakeproof.judge.process import Children

LIST_TIMEOUT_S = 60.0
ENDLESS = ("asleep", "stuck")  # an actor slept, or looped, for ever: never covered by "*"
_PATTERN = re.compile(r"asleep|stuck|\*|(-?\d+|\*)(,(-?\d+|\*))*")


@dataclass(frozen=True)
class Outcome:
    """A graded pattern: ``0,1``, ``0,*``, ``asleep``, ``stuck`` or ``*``."""

    pattern: str
    grade: str
    reason: str

    def matches(self, outcome: str) -> bool:
        """Say whether the pattern covers `outcome`; ``*`` covers numbers only."""
        if self.pattern in ENDLESS or outcome in ENDLESS:
            return self.pattern == outcome
        if self.pattern == "*":
            return True
        places, numbers = self.pattern.split(","), outcome.split(",")
        return len(places) == len(numbers) and all(
            place in ("*", number) for place, number in zip(places, numbers, strict=True)
        )


@dataclass(frozen=True)
class Scenario:
    """One STRESS_TEST of one file."""

    file: Path
    name: str
    claim: str
    upholds: str
    actors: int
    results: int
    blocking: bool
    min_samples: int
    outcomes: tuple[Outcome, ...]

    @property
    def has_required(self) -> bool:
        """Say whether some outcome must be seen."""
        return any(outcome.grade == "REQUIRED" for outcome in self.outcomes)

    def graded(self, outcome: str) -> Outcome | None:
        """Return the declared outcome that covers `outcome`; ``*`` alone only if none else does."""
        covering = [declared for declared in self.outcomes if declared.matches(outcome)]
        return min(covering, key=lambda declared: declared.pattern == "*", default=None)


@dataclass(frozen=True)
class Twin:
    """One STRESS_TWIN: the defect `name` of scenario `of` shows outcome `shows`."""

    file: Path
    name: str
    of: str
    defect: str
    shows: str
    seen_by: frozenset[str]
    chance: frozenset[str]

    def betrayed_by(self, outcome: str, of: Scenario) -> bool:
        """Say whether `outcome` of scenario `of` shows the defect.

        It does if `shows` matches it and no other pattern of the scenario allows it.  A loop for
        ever does too, unless the scenario grades it: one defect may both break and hang.
        """
        graded = of.graded(outcome)
        if outcome == "stuck" and graded is None:
            return True
        is_allowed = graded and graded.grade != "FORBIDDEN" and graded.pattern != self.shows
        return Outcome(self.shows, "", "").matches(outcome) and not is_allowed


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
        return sorted((paths.sources() / "stress").glob("*.c"))
    found = []
    for file in files:
        if not file.is_file():
            raise UsageError(f"no scenario file {file}: give a C file that declares STRESS_TEST")
        found.append(file.resolve())
    return found


def runner(sanitizer: str | None) -> list[str]:
    """Return what goes before a program: $WAKEPROOF_RUNNER (an emulator), setarch for TSan."""
    command = shlex.split(os.environ.get("WAKEPROOF_RUNNER", ""))
    if sanitizer == "thread" and shutil.which("setarch"):
        command = ["setarch", "-R", *command]  # TSan cannot place its shadow with high-entropy ASLR
    return command


def declared(
    file: Path, builder: Builder, children: Children, build: Build
) -> tuple[list[Scenario], list[Twin]]:
    """Compile `file` and return what it declares.

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
    scenarios = [_scenario(file, entry) for entry in listing["tests"]]
    twins = [_twin(file, entry) for entry in listing["twins"]]
    names = [scenario.name for scenario in scenarios]
    if not names:
        raise UsageError(f"{file} declares no scenario: use STRESS_TEST(name, ...) of stress.h")
    for twin in twins:
        if twin.of not in names:
            raise UsageError(
                f"{file}: twin {twin.name} is of {twin.of!r}, which this file does not declare; "
                f"it declares {', '.join(names)}"
            )
    return scenarios, twins


def select(
    scenarios: list[Scenario], twins: list[Twin], regex: str | None, with_twins: bool
) -> Selection:
    """Keep what `regex` finds: a scenario by its name brings its twins, a twin only itself.

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


def _scenario(file: Path, entry: dict[str, object]) -> Scenario:
    name, results = str(entry["name"]), int(str(entry["results"]))
    raw = entry["outcomes"]
    assert isinstance(raw, list)
    outcomes = tuple(Outcome(o["pattern"], o["grade"], o["reason"]) for o in raw)
    for outcome in outcomes:
        places = outcome.pattern.count(",") + 1
        is_alone = outcome.pattern in (*ENDLESS, "*")
        if not _PATTERN.fullmatch(outcome.pattern) or (places != results and not is_alone):
            raise UsageError(
                f"{file}: {name}: outcome {outcome.pattern!r} needs {results} numbers or '*' "
                "joined by commas, or 'asleep', 'stuck' or '*' alone"
            )
        if not outcome.grade:
            raise UsageError(
                f"{file}: {name}: outcome {outcome.pattern!r} has no grade: "
                "ACCEPTABLE, INTERESTING, FORBIDDEN or REQUIRED"
            )
    return Scenario(
        file=file, name=name, claim=str(entry["claim"]), upholds=str(entry["upholds"]),
        actors=int(str(entry["actors"])), results=results, blocking=bool(entry["blocking"]),
        min_samples=int(str(entry["min_samples"])), outcomes=outcomes,
    )  # fmt: skip


def _twin(file: Path, entry: dict[str, object]) -> Twin:
    seen_by, chance = entry["seen_by"], entry["chance"]
    assert isinstance(seen_by, list)
    assert isinstance(chance, list)
    return Twin(
        file=file, name=str(entry["name"]), of=str(entry["of"]), defect=str(entry["defect"]),
        shows=str(entry["shows"]), seen_by=frozenset(seen_by), chance=frozenset(chance),
    )  # fmt: skip
