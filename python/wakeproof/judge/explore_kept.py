# SPDX-License-Identifier: Apache-2.0
"""The counterexamples of a job: the smallest that was found, its token, where it was saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from wakeproof.judge import explore_tokens
from wakeproof.judge.explore_options import ExploreOptions, Model
from wakeproof.judge.explore_reports import Judged, ScenarioReport, TwinReport
from wakeproof.judge.explore_results import Found, Result
from wakeproof.judge.explore_tokens import Token
from wakeproof.judge.scenarios import Twin

Again = Callable[[Path, str, str, ExploreOptions], list[Result]]
"""Explores once more: file and name of a scenario, or the text of a program, with options."""


@dataclass(frozen=True)
class Counterexample:
    """A bad execution, its token, and where it was saved (None: it was not)."""

    token: Token
    found: Found
    saved: Path | None = None


@dataclass
class Keeper:
    """Collects counterexamples, and saves them to the folder `save` unless it is None."""

    options: ExploreOptions
    save: Path | None
    again: Again
    found: list[Counterexample] = field(default_factory=list)

    def keep(
        self,
        file: Path,
        report: ScenarioReport | TwinReport,
        twin: Twin | None,
        sources: str,
        text: str = "",
    ) -> None:
        """Give a token to the worst execution under each model, and save it.

        A twin's is the shortest met, a scenario's the smallest there is: see `_smallest`.
        """
        for judged in report.judged:
            worst = judged.worst
            if worst is None or not worst.found.example:
                continue
            found, options = worst.found, self.options
            if twin is None and judged.result.engine == "graphs":
                found, options = self._smallest(file, report.name, text, judged, found)
            token = explore_tokens.make(
                file, twin.of if twin else report.name, twin.name if twin else "", judged.model,
                judged.result.engine, options, found, sources,
            )  # fmt: skip
            saved = explore_tokens.save(token, found, self.save) if self.save else None
            self.found.append(Counterexample(token, found, saved))

    def _smallest(
        self, file: Path, name: str, text: str, judged: Judged, found: Found
    ) -> tuple[Found, ExploreOptions]:
        """Return the execution with the fewest threads, steps, switches, and how it is found again.

        The explorer looks at every execution a second time: only that one outcome is worth it.
        """
        options = replace(self.options, minimal=found.text)
        model = (Model(judged.model),)
        results = self.again(file, name, text, replace(options, models=model, engine="graphs"))
        for outcome in (outcome for result in results for outcome in result.outcomes):
            if (outcome.text, outcome.verdict) == (found.text, found.verdict) and outcome.example:
                return outcome, options
        return found, self.options
