# SPDX-License-Identifier: Apache-2.0
"""From histograms to verdicts.  Pure: no clock, no process, no file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from wakeproof.judge.scenarios import Scenario, Twin
from wakeproof.judge.stress.allowed import Allowed, Computed, Seen, compare

HELD, VIOLATED, NOT_JUDGED = "held", "violated", "not judged"
FORGOTTEN = ": an actor sleeps for ever; where one may sleep at all, declare .blocking = 1"
SPENT = "actors do not end, and the seconds that were asked for are over"
TWIN_SAMPLES, TWIN_SAMPLES_BLOCKING = 100_000, 2_000
"""The least samples before a twin counts as missed, if its scenario's minimum is smaller."""


@dataclass(frozen=True)
class Run:
    """One build of one scenario or twin: its samples over all places."""

    build: str
    judge: str
    samples: int
    seconds: float
    asleep: int
    asleep_changed: int
    cpus: tuple[int, ...]
    seeds: tuple[int, ...]
    watch: str
    histogram: dict[str, int]
    failure: str | None = None


@dataclass(frozen=True)
class Row:
    """One outcome of a scenario over all its runs; `grade` is empty if no pattern covers it."""

    outcome: str
    samples: int
    frequency: float
    grade: str
    reason: str
    builds: tuple[str, ...]


@dataclass(frozen=True)
class ScenarioReport:
    """One scenario: its verdict, the reasons, and the outcomes."""

    name: str
    file: str
    claim: str
    upholds: str
    status: str
    messages: tuple[str, ...]
    samples: int
    rows: tuple[Row, ...]
    runs: tuple[Run, ...]
    allowed: Allowed = field(default_factory=Allowed)

    @property
    def missing(self) -> bool:
        """Return whether a REQUIRED outcome was not seen."""
        return any(row.grade == "REQUIRED" and not row.samples for row in self.rows)


@dataclass(frozen=True)
class TwinReport:
    """One twin: the judges that had to see it, and the judges that did."""

    name: str
    file: str
    of: str
    defect: str
    shows: str
    status: str
    messages: tuple[str, ...]
    expected: dict[str, str] = field(default_factory=dict)
    shown: dict[str, int] = field(default_factory=dict)
    samples: dict[str, int] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
    seen_by: tuple[str, ...] = ()
    allowed: Allowed = field(default_factory=Allowed)


def judge_scenario(
    scenario: Scenario, runs: Sequence[Run], cpus_allowed: int, left_out: Sequence[str] = ()
) -> ScenarioReport:
    """Grade every outcome, then the scenario: violated before not judged before held.

    `left_out`: builds that were not run because actors do not end; their outcomes are unknown.
    """
    samples = sum(run.samples for run in runs)
    failures = [f"{run.build}: {run.failure}" for run in runs if run.failure]
    rows = _rows(scenario, runs, samples)
    for row in rows:
        where = f"{row.outcome}: {row.samples} of {samples} samples ({', '.join(row.builds)})"
        if row.grade == "FORBIDDEN" and row.samples:
            failures.append(f"forbidden outcome {where}: {row.reason}")
        elif not row.grade:
            known = ", ".join(outcome.pattern for outcome in scenario.outcomes)
            hint = "" if scenario.blocking or row.outcome != "asleep" else FORGOTTEN
            failures.append(f"outcome {where} is covered by no grade; declared are {known}{hint}")
    doubts: list[str] = []
    for row in rows:
        if row.grade != "REQUIRED" or row.samples or failures:
            continue
        doubt = _too_little(samples, scenario.min_samples, cpus_allowed)
        message = f"required outcome {row.outcome} was not seen in {samples} samples"
        (doubts if doubt else failures).append(f"{message}{doubt}")
    if left_out:
        doubts.append(f"not run: {', '.join(left_out)}: {SPENT}")
    status = VIOLATED if failures else NOT_JUDGED if doubts else HELD
    return ScenarioReport(
        scenario.name, str(scenario.file), scenario.claim, scenario.upholds, status,
        (*failures, *doubts), samples, tuple(rows), tuple(runs),
    )  # fmt: skip


_Report = TypeVar("_Report", ScenarioReport, TwinReport)


def judge_allowed(report: _Report, sets: Sequence[Computed], is_x86: bool) -> _Report:
    """Return `report` compared with the computed sets; an outcome beyond RC11 violates it."""
    samples: Counter[str] = Counter()
    for run in report.runs:
        samples.update(run.histogram)
    seen = {
        text: Seen(count, tuple(run.build for run in report.runs if run.histogram.get(text)))
        for text, count in samples.items()
    }
    found: Allowed = compare(sets, seen, [run.build for run in report.runs], is_x86)
    status = VIOLATED if found.failures else report.status
    messages = (*found.failures, *report.messages)
    return replace(report, status=status, messages=messages, allowed=found)


def judge_twin(
    twin: Twin, of: Scenario, runs: Sequence[Run], cpus_allowed: int, is_x86: bool
) -> TwinReport:
    """Grade a twin: the judges that see it must be those that its declaration names."""
    failures = [f"{run.build}: {run.failure}" for run in runs if run.failure]
    doubts: list[str] = []
    expected, shown, samples = {}, Counter[str](), Counter[str]()
    for run in runs:
        shown[run.judge] += shown_in(twin, of, run)
        samples[run.judge] += run.samples
    for judge in samples:
        expected[judge] = expectation(twin, judge)
        message = f"{judge} did not see {twin.shows} in {samples[judge]} samples"
        if expected[judge] == "must" and not shown[judge]:
            least = max(of.min_samples, TWIN_SAMPLES_BLOCKING if of.blocking else TWIN_SAMPLES)
            doubt = _too_little(samples[judge], least, cpus_allowed)
            if judge == "stress" and not is_x86:
                doubt = ": declared for x86-64, this machine is another"
            (doubts if doubt else failures).append(f"{message}{doubt}")
        elif expected[judge] == "must not" and (killing := _killing(twin, of, runs, judge)):
            failures += [
                f"{judge} saw {outcome} {count} times and is neither in seen_by nor in chance"
                for outcome, count in killing.items()
            ]
    status = VIOLATED if failures else NOT_JUDGED if doubts else HELD
    return TwinReport(
        twin.name, str(twin.file), twin.of, twin.defect, twin.shows, status,
        tuple(failures + doubts), expected, dict(shown), dict(samples), tuple(runs),
        tuple(sorted(twin.seen_by)),
    )  # fmt: skip


def expectation(twin: Twin, judge: str) -> str:
    """Return whether `judge` ``must``, ``may`` or ``must not`` see the twin."""
    if judge in twin.seen_by:
        return "must"
    return "may" if judge in twin.chance else "must not"


def shown_in(twin: Twin, of: Scenario, run: Run) -> int:
    """Return how many samples of `run` betray the twin."""
    seen = run.histogram.items()
    return sum(count for outcome, count in seen if twin.betrayed_by(outcome, of))


def _killing(twin: Twin, of: Scenario, runs: Sequence[Run], judge: str) -> Counter[str]:
    """Return the outcomes in runs of `judge` that show the twin, or that have no good grade."""
    found: Counter[str] = Counter()
    for run in runs:
        if run.judge == judge:
            found.update({
                outcome: count for outcome, count in run.histogram.items()
                if twin.betrayed_by(outcome, of) or not of.allows(outcome)
            })  # fmt: skip
    return found


def _too_little(samples: int, min_samples: int, cpus_allowed: int) -> str:
    """Return why a missing outcome proves nothing here, or an empty text."""
    if cpus_allowed < 2:
        return ": not judged on one allowed CPU, at least 2 are needed"
    if samples < min_samples:
        return f": not judged below {min_samples}"
    return ""


def _rows(scenario: Scenario, runs: Sequence[Run], samples: int) -> list[Row]:
    """Return a row per outcome that was seen, most common first, then the missing REQUIRED ones."""
    total: Counter[str] = Counter()
    for run in runs:
        total.update(run.histogram)
    rows = []
    seen_patterns = set()
    for outcome, count in total.most_common():
        graded = scenario.graded(outcome)
        builds = tuple(run.build for run in runs if run.histogram.get(outcome))
        grade, reason = (graded.grade, graded.reason) if graded else ("", "no grade covers it")
        rows.append(Row(outcome, count, count / samples, grade, reason, builds))
        if graded:
            seen_patterns.add(graded.pattern)
    rows += [
        Row(declared.pattern, 0, 0.0, declared.grade, declared.reason, ())
        for declared in scenario.outcomes
        if declared.pattern not in seen_patterns and declared.grade in ("REQUIRED", "FORBIDDEN")
    ]
    return rows
