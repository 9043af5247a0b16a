# SPDX-License-Identifier: Apache-2.0
"""What the judge `explore` reports: outcomes with grades, per model, per scenario, per twin."""

from __future__ import annotations

from dataclasses import dataclass, field

from wakeproof.judge.explore_options import Model
from wakeproof.judge.explore_results import Found, Result
from wakeproof.judge.grading import HELD, VIOLATED


@dataclass(frozen=True)
class Outcome:
    """One outcome with its grade; the grade is empty where the scenario declares none."""

    found: Found
    grade: str
    reason: str

    @property
    def is_bad(self) -> bool:
        """Say whether it breaks the claim."""
        return self.grade in ("FORBIDDEN", "")


@dataclass(frozen=True)
class Judged:
    """One scenario, program or twin under one model by one engine."""

    result: Result
    status: str
    outcomes: tuple[Outcome, ...]
    messages: tuple[str, ...]
    broken_at: str = ""  # a label, or file and line; empty where nothing is broken

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
    def short(self) -> str:
        """Return ``SC ok``, ``RC11 broken at [S3]``."""
        label = self.model.label
        if self.broken_at or self.worst:
            return f"{label} broken" + (f" at {self.broken_at}" if self.broken_at else "")
        if self.status == VIOLATED:
            return f"{label} violated"
        hint = "" if self.result.exhaustive else f" ({self.result.coverage})"
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
    """One twin under all models: which must kill it, and which did."""

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
    def first_killer(self) -> Model | None:
        """Return the model with the fewest behaviours that kills it already."""
        return next((model for model in Model if self.killed.get(model.value)), None)
