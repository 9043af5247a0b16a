# SPDX-License-Identifier: Apache-2.0
"""The declarations of a scenario file: tests, graded outcomes, twins.  Pure: reads no file.

Source: ``stress/stress.h``.  A declaration that can have no effect is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wakeproof.errors import UsageError

ENDLESS = ("asleep", "stuck")  # an actor slept, or looped, for ever: never covered by "*"
_PATTERN = re.compile(r"asleep|stuck|\*|(-?\d+|\*)(,(-?\d+|\*))*")
GRADES = ("ACCEPTABLE", "INTERESTING", "FORBIDDEN", "REQUIRED")


@dataclass(frozen=True)
class Outcome:
    """A graded pattern: ``0,1``, ``0,*``, ``asleep``, ``stuck`` or ``*``."""

    pattern: str
    grade: str
    reason: str
    lost_work: bool = False  # declared LOST_WORK: FORBIDDEN, and the class of what broke

    def matches(self, outcome: str) -> bool:
        """Return whether the pattern covers `outcome`; ``*`` covers numbers only."""
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
    preemptions: int = 0  # of the explorer, at most; 0: no bound
    whole: frozenset[str] = frozenset()  # models under which it is explored without that bound
    failing_heavy: int = 0  # heavy fences of each actor that fail, at most

    @property
    def has_required(self) -> bool:
        """Return whether some outcome must be seen."""
        return any(outcome.grade == "REQUIRED" for outcome in self.outcomes)

    def graded(self, outcome: str) -> Outcome | None:
        """Return the declared outcome that covers `outcome`; ``*`` only if no other one does."""
        covering = [declared for declared in self.outcomes if declared.matches(outcome)]
        return min(covering, key=lambda declared: declared.pattern == "*", default=None)

    def allows(self, outcome: str) -> bool:
        """Return whether `outcome` has a grade, and a good one."""
        graded = self.graded(outcome)
        return graded is not None and graded.grade != "FORBIDDEN"


@dataclass(frozen=True)
class Twin:
    """A defect of code, `name`.  The scenario `of` must show it by the outcome `shows`."""

    file: Path
    name: str
    of: str
    defect: str
    shows: str
    seen_by: frozenset[str]
    chance: frozenset[str]

    def betrayed_by(self, outcome: str, of: Scenario) -> bool:
        """Return whether `outcome` of scenario `of` shows the defect.

        It does if `shows` matches it and no other pattern of the scenario allows it.  A loop for
        ever does too, unless the scenario grades it: one defect may both break and hang.
        """
        graded = of.graded(outcome)
        if outcome == "stuck" and graded is None:
            return True
        is_allowed = graded and graded.grade != "FORBIDDEN" and graded.pattern != self.shows
        return Outcome(self.shows, "", "").matches(outcome) and not is_allowed


def check(scenarios: Sequence[Scenario], twins: Sequence[Twin]) -> None:
    """Check the declarations of one file.

    Raises:
        UsageError: one of them is wrong; the message names it and says what is allowed.
    """
    for scenario in scenarios:
        wrong = _wrong_scenario(scenario)
        if wrong:
            raise UsageError(f"{scenario.file}: {scenario.name}: {wrong}")
    by_name = {scenario.name: scenario for scenario in scenarios}
    for twin in twins:
        if twin.of not in by_name:
            raise UsageError(
                f"{twin.file}: twin {twin.name} is of {twin.of!r}, which this file does not "
                f"declare; it declares {', '.join(by_name)}"
            )
        wrong = _wrong_twin(twin, by_name[twin.of])
        if wrong:
            raise UsageError(f"{twin.file}: twin {twin.name}: {wrong}")


def _wrong_scenario(scenario: Scenario) -> str:
    if scenario.upholds and not re.fullmatch(r"\w+!\w+", scenario.upholds):
        return f'upholds is {scenario.upholds!r}: give "Module!Claim" of specs/, or leave it out'
    earlier: list[Outcome] = []
    for outcome in scenario.outcomes:
        wrong = _wrong_pattern(f"outcome {outcome.pattern!r}", outcome.pattern, scenario.results)
        if wrong:
            return wrong
        if outcome.grade not in GRADES:
            return f"outcome {outcome.pattern!r} has no grade: {', '.join(GRADES)}"
        hiding = next((e for e in earlier if _covers(e.pattern, outcome.pattern)), None)
        if hiding:
            return (f"outcome {outcome.pattern!r} never grades: {hiding.pattern!r} before it "
                    "covers it, and the first that matches counts")  # fmt: skip
        earlier.append(outcome)
    return ""


def _wrong_twin(twin: Twin, of: Scenario) -> str:
    wrong = _wrong_pattern(f"shows {twin.shows!r}", twin.shows, of.results)
    if wrong:
        return wrong
    if not twin.seen_by | twin.chance:
        return "no judge is in seen_by or chance: nobody would look for it"
    both = sorted(twin.seen_by & twin.chance)
    if both:
        return f"{', '.join(both)} in seen_by and in chance: must see it, or may"
    if "*" not in twin.shows and not twin.betrayed_by(twin.shows, of):
        return f"shows {twin.shows!r}, which {of.name} allows: it can never betray the defect"
    return ""


def _wrong_pattern(what: str, pattern: str, results: int) -> str:
    is_alone = pattern in (*ENDLESS, "*")
    if _PATTERN.fullmatch(pattern) and (is_alone or pattern.count(",") + 1 == results):
        return ""
    return (f"{what} needs {results} numbers or '*' joined by commas, or 'asleep', 'stuck' or '*' "
            "alone")  # fmt: skip


def _covers(pattern: str, other: str) -> bool:
    """Return whether an earlier `pattern` takes all that `other` matches; ``*`` comes last."""
    if pattern == other:
        return True
    if {pattern, other} & {*ENDLESS, "*"}:
        return False
    pairs = zip(pattern.split(","), other.split(","), strict=True)
    return all(place in ("*", number) for place, number in pairs)
