# SPDX-License-Identifier: Apache-2.0
"""The counterexamples of a job: the smallest that was found, its token, and its file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from wakeproof.judge.explore import tokens
from wakeproof.judge.explore.classes import Class
from wakeproof.judge.explore.options import ExploreOptions
from wakeproof.judge.explore.report import ScenarioReport, TwinReport
from wakeproof.judge.explore.results import Found, Result
from wakeproof.judge.explore.tokens import Token
from wakeproof.judge.scenarios import Twin

Again = Callable[[Path, str, str, ExploreOptions], list[Result]]
"""Explores once more: file and name of a scenario, or the text of a program, with options."""


@dataclass(frozen=True)
class Counterexample:
    """A bad execution, its token, and where it was saved (None: it was not)."""

    token: Token
    found: Found
    saved: Path | None = None
    broken: Class | None = None


@dataclass
class Keeper:
    """Collects counterexamples, and saves them to the folder `save` unless it is None."""

    options: ExploreOptions
    save: Path | None
    again: Again
    found: list[Counterexample] = field(default_factory=list)
    _options: dict[tuple[str, str, str, str], ExploreOptions] = field(default_factory=dict)

    def smallest(
        self, file: Path, name: str, text: str, result: Result, worst: Found
    ) -> tuple[Found, ExploreOptions]:
        """Return the execution with the fewest threads, steps and switches, and its options.

        The explorer tries every execution a second time, so this is done for one outcome only,
        and not for a part of a search.
        """
        if result.engine != "graphs" or not worst.example or self.options.parts:
            return worst, self.options
        options = replace(self.options, minimal=worst.text)
        models = (result.model,)
        results = self.again(file, name, text, replace(options, models=models, engine="graphs"))
        for outcome in (outcome for again in results for outcome in again.outcomes):
            if (outcome.text, outcome.verdict) == (worst.text, worst.verdict) and outcome.example:
                self._options[id_of(result, outcome)] = options
                return outcome, options
        return worst, self.options

    def keep(
        self,
        file: Path,
        report: ScenarioReport | TwinReport,
        twin: Twin | None,
        sources: str,
        program: str = "",
    ) -> None:
        """Give a token to the worst execution under each model, and save it.

        For a twin it is the shortest one that was found, for a scenario the smallest of all
        (`smallest`).  `program`: of a program with a `main` of its own, how it was compiled.
        """
        for judged in report.judged:
            worst = judged.worst
            if worst is None or not worst.found.example:
                continue
            found = worst.found
            options = self._options.get(id_of(judged.result, found), self.options)
            token = tokens.make(
                file, twin.of if twin else report.name, twin.name if twin else "", judged.model,
                judged.result.engine, options, found, sources, program,
            )  # fmt: skip
            saved = tokens.save(token, found, self.save) if self.save else None
            self.found.append(Counterexample(token, found, saved, worst.broken))


def id_of(result: Result, found: Found) -> tuple[str, str, str, str]:
    """Return the name of an execution of a job."""
    return result.program, result.model.value, result.engine, found.digest
