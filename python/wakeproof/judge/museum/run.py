# SPDX-License-Identifier: Apache-2.0
"""Judges exhibits: each must show its bug as shipped, and hold as fixed."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from wakeproof.errors import UsageError
from wakeproof.judge.explore.kept import Counterexample
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.report import ScenarioReport
from wakeproof.judge.explore.run import ExploreReport
from wakeproof.judge.museum.exhibits import FIXED, MODELS, VERDICTS, Exhibit
from wakeproof.judge.own import run as own

TOOL_S: Final = 60.0
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Judged:
    """One exhibit: the verdicts and counts of the bug and of the fix, by model."""

    exhibit: Exhibit
    shipped: ScenarioReport
    fixed: ScenarioReport
    counterexamples: tuple[Counterexample, ...]
    seconds: float

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Return what the bug shows, by model."""
        return tuple(worst(self.shipped, model) for model in MODELS)

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what is not as it must be."""
        found = []
        if self.verdicts != self.exhibit.shows:
            found.append(f"it shows {' '.join(self.verdicts)}, and says that it shows "
                         f"{' '.join(self.exhibit.shows)}")  # fmt: skip
        found += [
            f"{judged.model.label}: its fix {judged.verdict} "
            f"({', '.join(sorted(judged.result.verdicts))})"
            for judged in self.fixed.judged
            if set(judged.result.verdicts) != {"ended"} or not judged.result.exhaustive
        ]
        return tuple(found)


@dataclass(frozen=True)
class ByTool:
    """One exhibit under another tool: its exit codes; None: it took too long."""

    exhibit: Exhibit
    shipped: int | None
    fixed: int | None

    @property
    def is_caught(self) -> bool:
        """Return whether the tool tells the bug from the fix."""
        return self.shipped not in (0, None) and self.fixed == 0


def options(seconds: float = TOOL_S) -> ExploreOptions:
    """Return how exhibits are explored: whole, without a bound on loops."""
    return ExploreOptions(models=MODELS, seconds=seconds, loop_bound=0)


def worst(report: ScenarioReport, model: Model) -> str:
    """Return the worst verdict under a model; a lost wakeup is a sleep for ever."""
    found = {
        "asleep" if verdict == "lost_wakeup" else verdict
        for judged in report.judged if judged.model is model for verdict in judged.result.verdicts
    }  # fmt: skip
    return min(found, key=VERDICTS.index, default="ended")


def run(
    exhibits: Sequence[Exhibit], chosen: ExploreOptions, progress: Progress | None = None
) -> list[Judged]:
    """Explore each exhibit, as shipped and as fixed."""
    shows = progress or (lambda _next, _done, _total: None)
    judged = []
    for at, one in enumerate(exhibits):
        started = time.monotonic()

        def tick(next_: str, _done: int, _total: int, at: int = at) -> None:
            shows(next_, at, len(exhibits))

        reports: list[ExploreReport] = [
            own.report([program], chosen, progress=tick) for program in (one.shipped, one.fixed)
        ]
        judged.append(Judged(
            one, reports[0].scenarios[0], reports[1].scenarios[0], reports[0].counterexamples,
            time.monotonic() - started,
        ))  # fmt: skip
    return judged


def by_tool(exhibits: Sequence[Exhibit], tool: str, seconds: float = TOOL_S) -> list[ByTool]:
    """Let another tool judge each exhibit: it must fail on the bug, and not on the fix.

    `tool` is a command, in which ``{file}`` and ``{flags}`` are replaced.

    Raises:
        UsageError: it has no ``{file}``, or cannot be started.
    """
    if "{file}" not in tool:
        raise UsageError(f"--tool {tool!r} has no {{file}}, as in: 'genmc -- {{flags}} {{file}}'")

    def code(one: Exhibit, flags: tuple[str, ...]) -> int | None:
        command = []
        for word in shlex.split(tool):
            command += list(flags) if word == "{flags}" else [
                word.replace("{file}", str(one.file)).replace("{flags}", " ".join(flags))
            ]  # fmt: skip
        try:
            return subprocess.run(
                command, capture_output=True, timeout=seconds, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            return None
        except OSError as error:
            raise UsageError(f"--tool {tool!r}: {error.strerror}") from error

    return [ByTool(one, code(one, ()), code(one, FIXED)) for one in exhibits]
