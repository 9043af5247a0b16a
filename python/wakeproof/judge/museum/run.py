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
from wakeproof.judge.stress.grading import NOT_JUDGED

TOOL_S: Final = 60.0
NOT_EXPLORED: Final = "-"
TOO_LARGE: Final = (
    "it was not explored to its end in time: make the program smaller, or give more --seconds"
)
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Judged:
    """One exhibit: the verdicts and counts of the bug and of the fix, by model."""

    exhibit: Exhibit
    shipped: ScenarioReport
    fixed: ScenarioReport
    counterexamples: tuple[Counterexample, ...]
    seconds: float
    error: str = ""  # why one of them could not be explored

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Return what the bug shows, by model; ``-``: it was not explored."""
        explored = {judged.model for judged in self.shipped.judged}
        return tuple(
            worst(self.shipped, model) if model in explored else NOT_EXPLORED for model in MODELS
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what is not as it must be."""
        if self.error:
            return (self.error,)
        found = []
        if NOT_EXPLORED in self.verdicts:
            found.append(TOO_LARGE)
        elif self.verdicts != self.exhibit.shows:
            found.append(f"it shows {' '.join(self.verdicts)}, and says that it shows "
                         f"{' '.join(self.exhibit.shows)}")  # fmt: skip
        for judged in self.fixed.judged:
            seen = worst(self.fixed, judged.model)
            if seen == NOT_EXPLORED or not judged.result.exhaustive:
                found.append(f"{judged.model.label}: with -DFIXED, {TOO_LARGE}")
            elif seen != "ended":
                found.append(f"{judged.model.label}: with -DFIXED it shows {seen}")
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
    return ExploreOptions(models=MODELS, seconds=seconds, loop_bound=0).checked()


def worst(report: ScenarioReport, model: Model) -> str:
    """Return the worst verdict under a model; a lost wakeup is a sleep for ever.

    ``-``: nothing bad was found, and not all executions were explored.
    """
    of = [judged.result for judged in report.judged if judged.model is model]
    found = {
        "asleep" if verdict == "lost_wakeup" else verdict
        for result in of for verdict in result.verdicts
    }  # fmt: skip
    is_whole = all(result.exhaustive for result in of)
    if not is_whole:
        found -= {"ended"}
    return min(found, key=VERDICTS.index, default=NOT_EXPLORED)


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

        reports: list[ExploreReport] = []
        error = ""
        for name, program in (("shipped", one.shipped), ("fixed", one.fixed)):
            try:
                reports.append(own.report([program], chosen, progress=tick))
            except UsageError as refused:
                error = f"as {name}: {refused}"
                break
        of = [report.scenarios[0] for report in reports]
        of += [_nothing(one)] * (2 - len(of))
        judged.append(Judged(
            one, of[0], of[1], reports[0].counterexamples if reports else (),
            time.monotonic() - started, error,
        ))  # fmt: skip
    return judged


def _nothing(one: Exhibit) -> ScenarioReport:
    """Return the report of a program that was not explored."""
    return ScenarioReport(one.name, str(one.file), "", "", NOT_JUDGED, ())


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
