# SPDX-License-Identifier: Apache-2.0
"""The report of the judge `explore`: graded outcomes by model, by scenario and by twin."""

from __future__ import annotations

from dataclasses import dataclass, field

from wakeproof.judge.explore.classes import Class
from wakeproof.judge.explore.options import Model
from wakeproof.judge.explore.results import Found, Result
from wakeproof.judge.stress.grading import HELD, VIOLATED

RACE = "race"
AS_FAR = "held as far as explored"


@dataclass(frozen=True)
class Outcome:
    """One outcome with its grade; the grade is empty if the scenario declares none."""

    found: Found
    grade: str
    reason: str
    broken: Class | None = None  # how the claim broke; None: it did not

    @property
    def is_bad(self) -> bool:
        """Return whether the outcome breaks the claim."""
        return self.grade in ("FORBIDDEN", "")


@dataclass(frozen=True)
class Judged:
    """One scenario, program or twin under one model by one engine."""

    result: Result
    status: str
    outcomes: tuple[Outcome, ...]
    messages: tuple[str, ...]
    broken_at: str = ""  # a label, or file and line; empty where nothing is broken
    races: str = ""  # how races were explored, if not whole: "races sampled"
    raced: str = ""  # the model under which the program has a race, where it is another one

    @property
    def model(self) -> Model:
        """Return the model."""
        return self.result.model

    @property
    def worst(self) -> Outcome | None:
        """Return the bad outcome with the shortest execution."""
        bad = [outcome for outcome in self.outcomes if outcome.is_bad]
        return min(bad, key=lambda o: len(o.found.example) or 1 << 30, default=None)

    @property
    def is_racy(self) -> bool:
        """Return whether the program has a race, under this model or another."""
        return bool(self.raced) or RACE in self.result.verdicts

    @property
    def is_part(self) -> bool:
        """Return whether it holds, and only a part was explored."""
        return self.status == HELD and not self.result.exhaustive

    @property
    def verdict(self) -> str:
        """Return the verdict as it is printed: the status and its limits."""
        if self.is_racy:
            return RACE
        return f"{AS_FAR}: {self.result.share}" if self.is_part else self.status

    @property
    def coverage(self) -> str:
        """Return how much was explored, of the executions and of the races."""
        return "; ".join(filter(None, (self.result.coverage, self.races)))

    @property
    def short(self) -> str:
        """Return ``SC ok``, ``RC11 broken at [S3]``."""
        label = self.model.label
        if self.is_racy:
            where = f" at {self.broken_at}" if self.broken_at else ""
            return f"{label} {RACE}{where}" + (f" (under {self.raced})" if self.raced else "")
        if self.broken_at or self.worst:
            return f"{label} broken" + (f" at {self.broken_at}" if self.broken_at else "")
        if self.status == VIOLATED:
            return f"{label} violated"
        if self.is_part:
            return f"{label} {self.verdict}"
        unknown = self.races if self.result.exhaustive else self.coverage
        hint = f" ({unknown})" if unknown else ""
        return f"{label} {'ok' if self.status == HELD else self.status}{hint}"


@dataclass(frozen=True)
class ScenarioReport:
    """One scenario, or one program as text, under all models."""

    name: str
    file: str
    claim: str
    upholds: str
    status: str
    judged: tuple[Judged, ...]
    disagreements: tuple[str, ...] = ()  # between the engines

    @property
    def is_part(self) -> bool:
        """Return whether it holds, and only a part was explored under some model."""
        return self.status == HELD and any(judged.is_part for judged in self.judged)

    @property
    def verdict(self) -> str:
        """Return the verdict as it is printed."""
        if any(judged.is_racy for judged in self.judged):
            return RACE
        return AS_FAR if self.is_part else self.status

    @property
    def line(self) -> str:
        """Return ``SC ok, TSO ok, RC11 broken at [S3]``."""
        return ", ".join(judged.short for judged in self.judged)

    @property
    def messages(self) -> tuple[str, ...]:
        """Return every message, with its model and engine."""
        found = tuple(
            f"{judged.model.label} ({judged.result.engine}): {message}"
            for judged in self.judged
            for message in judged.messages
        )
        return found + self.disagreements


@dataclass(frozen=True)
class TwinReport:
    """One twin under all models: the models that must kill it, and the models that did."""

    name: str
    file: str
    of: str
    defect: str
    shows: str
    status: str
    messages: tuple[str, ...]
    judged: tuple[Judged, ...]
    expected: dict[str, str] = field(default_factory=dict)
    killed: dict[str, bool] = field(default_factory=dict)

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the classes of the broken claim, from the executions that are shown."""
        outcomes = [outcome for judged in self.judged for outcome in judged.outcomes]
        return tuple(dict.fromkeys(o.broken.name for o in outcomes if o.broken))

    @property
    def first_killer(self) -> Model | None:
        """Return the model with the fewest behaviours among those that kill the twin."""
        return next((model for model in Model if self.killed.get(model.value)), None)
