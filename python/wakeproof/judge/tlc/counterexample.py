# SPDX-License-Identifier: Apache-2.0
"""A counterexample as people read it: per step the thread, the action, and what changed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from wakeproof.judge.tlc import values
from wakeproof.judge.tlc.run import Step, TlcResult


@dataclass(frozen=True)
class Row:
    """One step.  `thread` is "" if the step does not show its thread."""

    number: int
    thread: str
    action: str
    changes: tuple[str, ...]  # "producer[p1]: push -> look"


def rows(result: TlcResult) -> list[Row]:
    """Return the steps of a counterexample; the initial state and the lasso's end are rows too."""
    steps = result.trace
    moves = [_changes(before, after) for before, after in pairwise(steps)]
    frequency = Counter(_variable(place) for move in moves for place, _, _ in move)
    table = [Row(1, "", "(initial state)", ())] if steps else []
    for number, (step, move) in enumerate(zip(steps[1:], moves, strict=True), start=2):
        text = tuple(f"{place}: {old} -> {new}" for place, old, new in move)
        table.append(Row(number, _thread(move, frequency), step.action, text))
    if result.stuttering:
        table.append(Row(len(steps) + 1, "", "(nothing moves any more)", ()))
    elif result.back_to:
        table.append(Row(len(steps) + 1, "", f"(back to step {result.back_to}, for ever)", ()))
    return table


def initial(result: TlcResult) -> dict[str, str]:
    """Return the first state, variable by variable, each on one line."""
    if not result.trace:
        return {}
    return {name: values.parse(text).text for name, text in result.trace[0].values.items()}


def _changes(before: Step, after: Step) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for name, text in after.values.items():
        old = before.values.get(name, text)
        if old != text:
            found += values.changes(values.parse(old), values.parse(text), name)
    return found


def _variable(place: str) -> str:
    return place.split("[", 1)[0]


def _thread(move: list[tuple[str, str, str]], frequency: Counter[str]) -> str:
    """Guess the thread of a step: the index in the variable that changes most often."""
    if not move:
        return ""
    place = max(move, key=lambda change: (frequency[_variable(change[0])], "[" in change[0]))[0]
    index = re.search(r"\[([^\[\]]*)\]", place)
    return index.group(1) if index else place
