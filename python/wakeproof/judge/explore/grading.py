# SPDX-License-Identifier: Apache-2.0
"""From outcomes to verdicts, per model.  Pure: no clock, no process, no file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from wakeproof.judge.explore.classes import FORBIDDEN, Class, classify
from wakeproof.judge.explore.options import Model
from wakeproof.judge.explore.report import Judged, Outcome, ScenarioReport, TwinReport
from wakeproof.judge.explore.results import BAD, Found, Result
from wakeproof.judge.explore.trace import broken_at
from wakeproof.judge.labels import Labels
from wakeproof.judge.scenarios import Scenario, Twin
from wakeproof.judge.stress.grading import HELD, NOT_JUDGED, VIOLATED, expectation

REACHES = (Model.TSO, Model.RC11)
"""The models that must reach a REQUIRED outcome: real cores show no more than these allow."""

ALWAYS_BAD = {"race": "conflicting accesses, one of them plain, that nothing orders",
              "assertion": "an assertion does not hold", "crash": "an actor crashes"}  # fmt: skip
NEVER_GRADED = {"asleep": "asleep for ever", "lost_wakeup": "asleep for ever",
                "stuck": "loops for ever, however fair the scheduling"}  # fmt: skip


def judge_scenario(scenario: Scenario, results: Sequence[Result], labels: Labels) -> ScenarioReport:
    """Grade every outcome under every model: violated before not judged before held."""
    judged = _with_races([_judge(scenario, result, labels) for result in results])
    split = disagreements(results)
    return ScenarioReport(
        scenario.name, str(scenario.file), scenario.claim, scenario.upholds,
        VIOLATED if split else _worst([j.status for j in judged]), judged, split,
    )  # fmt: skip


def judge_program(file: str, name: str, results: Sequence[Result]) -> ScenarioReport:
    """Judge a program as text, which declares no grades: every outcome that ends well is good."""
    judged = []
    for result in results:
        outcomes = tuple(_ungraded(found, result.outcomes) for found in result.outcomes)
        messages = _failures(result, outcomes, "")
        at = _broken_at(outcomes, Labels(), result.model)
        held = HELD if result.outcomes else NOT_JUDGED  # nothing was explored to its end
        judged.append(Judged(result, VIOLATED if messages else held, outcomes, tuple(messages), at))
    split = disagreements(results)
    of_all = _with_races(judged)
    status = VIOLATED if split else _worst([j.status for j in of_all])
    return ScenarioReport(name, file, "", "", status, of_all, split)


def judge_twin(twin: Twin, of: Scenario, results: Sequence[Result], labels: Labels) -> TwinReport:
    """Grade a twin: the models that kill it must be those that its declaration names."""
    failures: list[str] = []
    doubts: list[str] = []
    expected: dict[str, str] = {}
    killed: dict[str, bool] = {}
    judged = []
    for result in results:
        model = result.model
        # What ARMv8 shows of a twin is not declared: it is weaker than RC11 here, stronger there.
        is_declared = model is not Model.ARMV8
        expected[model.value] = expectation(twin, model.value) if is_declared else "may"
        is_undeclared = expected[model.value] == "must not"
        bad = tuple(
            Outcome(found, "FORBIDDEN", "betrays the defect", _class_of(of, found, result.outcomes))
            for found in result.outcomes
            if betrays(twin, of, found) or (is_undeclared and not of.allows(found.text))
        )
        killed[model.value] = killed.get(model.value, False) or bool(bad)
        failure, doubt = _twin_messages(twin, result, bad, expected[model.value])
        failures += failure
        doubts += doubt
        status = VIOLATED if failure else NOT_JUDGED if doubt else HELD
        at = _broken_at(bad, labels, model)
        judged.append(Judged(result, status, bad, tuple(failure + doubt), at))
    status = VIOLATED if failures else NOT_JUDGED if doubts else HELD
    return TwinReport(
        twin.name, str(twin.file), twin.of, twin.defect, twin.shows, status,
        tuple(failures + doubts), tuple(judged), expected, killed,
    )  # fmt: skip


def disagreements(results: Sequence[Result]) -> tuple[str, ...]:
    """Return the differences between the outcomes of two exhaustive engines: one is wrong."""
    found = []
    whole = [result for result in results if result.exhaustive and not result.error]
    for one, other in combinations(whole, 2):
        if one.model is other.model and "race" in one.verdicts | other.verdicts:
            found += _lonely_race(one, other)
            continue
        if one.model is other.model and one.texts != other.texts:
            only = [f"{a.engine} alone gives {', '.join(sorted(a.texts - b.texts))}"
                    for a, b in ((one, other), (other, one)) if a.texts - b.texts]  # fmt: skip
            found.append(f"{one.model.label}: the engines disagree: {'; '.join(only)}")
    return tuple(found)


def _lonely_race(one: Result, other: Result) -> list[str]:
    """Return a message if graphs miss a race that an interleaving has; "": they do not.

    The converse is no error: only graphs see races that C11 alone has.
    """
    by_engine = {result.engine: result for result in (one, other)}
    states, graphs = by_engine.get("states"), by_engine.get("graphs")
    if not states or not graphs or "race" not in states.verdicts - graphs.verdicts:
        return []
    return [f"{one.model.label}: the engines disagree: states alone gives race"]


def _with_races(judged: Sequence[Judged]) -> tuple[Judged, ...]:
    """Return the verdicts with the effect of a race, or of a partial search for races, on them.

    C11 gives a program with a race no meaning under any model.  SC and TSO see the races of their
    own executions.  RC11, if explored whole, also sees the races that a weak order allows.
    """
    racing = [j.model.label for j in judged if "race" in j.result.verdicts]
    weakest = [j.result for j in judged if j.model is Model.RC11]
    is_part = bool(weakest) and not any(r.exhaustive or r.error for r in weakest)
    sampled = any(r.stopped == "sample" for r in weakest)
    unknown = ("races sampled" if sampled else "races as far as explored") if is_part else ""
    found = []
    for one in judged:
        if racing and one.status != VIOLATED and not one.result.error:
            message = f"a race under {racing[0]}: C11 gives the program no meaning under any model"
            one = replace(one, status=VIOLATED, raced=racing[0], messages=(*one.messages, message))
        elif not racing and unknown:
            one = replace(one, races=unknown)
        found.append(one)
    return tuple(found)


def betrays(twin: Twin, of: Scenario, found: Found) -> bool:
    """Return whether the outcome shows the twin's defect; a race or failed assertion does."""
    return found.verdict in ALWAYS_BAD or twin.betrayed_by(found.text, of)


def grade(scenario: Scenario, found: Found, others: Sequence[Found] = ()) -> Outcome:
    """Return the outcome with the grade that the scenario gives it."""
    broken = _class_of(scenario, found, others)
    if found.verdict in ALWAYS_BAD:
        return Outcome(found, "FORBIDDEN", ALWAYS_BAD[found.verdict], broken)
    graded = scenario.graded(found.text)
    if graded is None:
        return Outcome(found, "", NEVER_GRADED.get(found.verdict, "no grade covers it"), broken)
    is_bad = graded.grade == "FORBIDDEN"
    return Outcome(found, graded.grade, graded.reason, broken if is_bad else None)


def is_bad(scenario: Scenario | None, found: Found) -> bool:
    """Return whether an outcome breaks the scenario's claim; None: a program as text."""
    return (grade(scenario, found) if scenario else _ungraded(found)).is_bad


def _class_of(scenario: Scenario, found: Found, others: Sequence[Found]) -> Class:
    graded = scenario.graded(found.text)
    return classify(found, others, lost_work=graded is not None and graded.lost_work)


def _judge(scenario: Scenario, result: Result, labels: Labels) -> Judged:
    outcomes = tuple(grade(scenario, found, result.outcomes) for found in result.outcomes)
    known = ", ".join(outcome.pattern for outcome in scenario.outcomes)
    failures = _failures(result, outcomes, known)
    doubts = []
    for declared in scenario.outcomes:
        seen = any(scenario.graded(outcome.found.text) == declared for outcome in outcomes)
        if declared.grade != "REQUIRED" or seen or failures or result.model not in REACHES:
            continue
        message = f"required outcome {declared.pattern} is not reachable"
        if result.exhaustive:
            failures.append(message)
        else:
            doubts.append(f"required outcome {declared.pattern} was not met: {result.coverage}")
    if not result.outcomes and not failures:
        message = f"no execution came to its end: {result.coverage}"
        (failures if result.exhaustive else doubts).append(message)
    status = VIOLATED if failures else NOT_JUDGED if doubts else HELD
    at = _broken_at(outcomes, labels, result.model)
    return Judged(result, status, outcomes, tuple(failures + doubts), at)


def _failures(result: Result, outcomes: Sequence[Outcome], known: str) -> list[str]:
    if result.error:
        return [result.error]
    failures = []
    for outcome in outcomes:
        found = outcome.found
        where = f"{found.text} ({result.how_often(found)})"
        name = outcome.broken.name if outcome.broken else FORBIDDEN
        kind = "" if name in (FORBIDDEN, found.text) else f"{name}: "
        shown = "".join(f"; {sentence}" for sentence in _evidence(outcome))
        if outcome.grade == "FORBIDDEN":
            failures.append(f"{kind}forbidden outcome {where}: {outcome.reason}{shown}")
        elif not outcome.grade:
            declared = f"; declared are {known}" if known else ""
            failures.append(
                f"{kind}outcome {where} is covered by no grade: {outcome.reason}{shown}{declared}"
            )
    if result.duplicates:
        failures.append(f"{result.duplicates:,} executions came twice: the explorer is broken")
    return failures


def _evidence(outcome: Outcome) -> tuple[str, ...]:
    return outcome.broken.evidence if outcome.broken else ()


def _twin_messages(
    twin: Twin, result: Result, bad: Sequence[Outcome], expected: str
) -> tuple[list[str], list[str]]:
    """Return the messages about failures, and those about doubts."""
    where = f"{result.model.label} ({result.engine})"
    if result.error:
        return [f"{where}: {result.error}"], []
    if bad and expected == "must not":
        text = bad[0].found.text
        return [f"{where} shows {text} and {result.model.value} is neither in seen_by nor "
                "in chance"], []  # fmt: skip
    if not bad and expected == "must":
        message = f"{where} does not show {twin.shows}"
        if result.exhaustive:
            return [f"{message}, though {result.model.value} is in seen_by"], []
        return [], [f"{message}: {result.coverage}"]
    if not bad and expected == "must not" and not result.exhaustive:
        return [], [f"{where} has not shown {twin.shows}, as it should: {result.coverage}"]
    return [], []


def _ungraded(found: Found, others: Sequence[Found] = ()) -> Outcome:
    if found.verdict in BAD:
        reason = {**ALWAYS_BAD, **NEVER_GRADED}[found.verdict]
        return Outcome(found, "FORBIDDEN", reason, classify(found, others))
    return Outcome(found, "ACCEPTABLE", "")


def _broken_at(outcomes: Sequence[Outcome], labels: Labels, model: Model) -> str:
    bad = [o.found for o in outcomes if o.is_bad and o.found.example]
    if not bad:
        return ""
    return broken_at(min(bad, key=lambda found: len(found.example)), labels, model)


def _worst(statuses: Sequence[str]) -> str:
    return next((s for s in (VIOLATED, NOT_JUDGED) if s in statuses), HELD)
